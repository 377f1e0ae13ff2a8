//! SSH to instances: `ssh <instance>@<host>`. Nothing runs in the instance's image but its shell: a session is a
//! command of the cluster's `exec`, a forwarded port its `portforward`, and `sftp` is translated to shell commands.
//!
//! - `server`: the listener, which reads `ahead` of `russh`; `connection`: one client's connection and its requests; `ends`: when a connection ends.
//! - `session`, `forward`, `sftp`: what a connection carries, over a `channel`.
//! - `access`: who may open an instance with which key. `key`, `user_keys`, `instance_keys`: public keys.
//! - `host_key`: the key of the endpoint; `endpoint`: what users need to know of it.
//! - `sessions`: the record of connections.

mod access;
mod admitted;
mod ahead;
mod channel;
mod connection;
mod endpoint;
mod ends;
mod forward;
mod host_key;
mod instance_keys;
mod key;
mod limit;
mod metrics;
mod server;
mod session;
mod sessions;
mod sftp;
pub(crate) mod store;
mod user_keys;

pub(crate) use access::KeyOwner;
pub(crate) use instance_keys::{check_new_keys, insert_new_keys};
pub(crate) use metrics::SshMetrics;
pub(crate) use server::Server;
pub(crate) use store::notify;

use crate::state::AppState;
use api::openapi::OpenApiRouter;

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .merge(endpoint::routes())
        .merge(user_keys::routes())
        .merge(instance_keys::routes())
        .merge(sessions::routes())
}

//! SSH to instances: `ssh <instance>@<host>`. Nothing runs in the instance's image but its shell: a session is a
//! command of the cluster's `exec`, a forwarded port its `portforward`, and `sftp` is translated to shell commands.
//!
//! - `server`: the endpoint and who is let in; `listener`: accepts clients, and reads `ahead` of `russh`; `connection`: one client's
//!   connection and its requests; `ends`: when a connection ends, and `end`: why.
//! - `session`, `forward`, `sftp`: what a connection carries, over a `channel`, each with its `context`; `exec`: commands.
//! - `access`: who may open an instance with which key, and `right`: what that is.
//! - `host_key`: the key of the endpoint; `endpoint`: what users need to know of it.
//! - `sessions`: the record of connections.

mod access;
mod admitted;
mod ahead;
mod channel;
mod config;
mod connection;
mod context;
mod end;
mod endpoint;
mod ends;
mod exec;
mod forward;
mod host_key;
mod limit;
mod listener;
mod metrics;
mod right;
mod server;
mod session;
mod sessions;
mod sftp;
pub mod store;

use std::sync::Arc;

use activity::Tracker;
use api::openapi::OpenApiRouter;
use auth::{HasAuth, Verifier};
use axum::extract::FromRef;
use db::Db;
use tokio_util::sync::CancellationToken;

use clusters::Clusters;

pub use config::SshConfig;
pub use metrics::SshMetrics;
pub(crate) use right::KeyOwner;
pub use server::Server;

/// What requests need.
#[derive(Clone)]
pub struct Parts {
    pub db: Db,
    pub clusters: Clusters,
    pub activity: Tracker,
    pub verifier: Verifier,
    pub server: Option<Arc<Server>>,
    pub shutdown: CancellationToken,
}

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
    endpoint::routes().merge(sessions::routes())
}

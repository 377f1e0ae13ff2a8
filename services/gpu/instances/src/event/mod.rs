//! What happened to instances and budgets: the ordered log of each tenant, and the feed of all tenants for other services.
//!
//! - `store`: the log. Events are written by `instance/store.rs` and `budget`, in the transaction of the change.
//! - `http`: lists and the internal feed; `stream` follows a log as server-sent events.
//! - `hub`: one reader of new events per replica, whatever the number of streams.
//!
//! `docs/EVENTS.md` states names, order and guarantees.

mod config;
mod http;
mod hub;
pub mod store;
mod stream;

use db::Db;
use tokio_util::sync::CancellationToken;

use crate::streams::TenantStreams;

pub use config::EventsConfig;
pub(crate) use http::routes;
pub use hub::Hub;

/// What requests need.
#[derive(Clone)]
pub struct Parts {
    pub db: Db,
    pub hub: Hub,
    pub streams: TenantStreams,
    pub shutdown: CancellationToken,
}

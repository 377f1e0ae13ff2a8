//! Events of jobs, as lists and as streams of server-sent events, and as a feed for other services. The rows
//! are written by a trigger, see `migrations/jobs/0007_events.sql`.
//!
//! - `watch`: one reader of changes per replica, whatever the number of streams of jobs; `stream` is one stream.
//! - `hub`: the same for streams of tenants, and for the feed; `tenant_stream` is one stream.

mod config;
mod feed_http;
mod http;
mod hub;
mod store;
mod stream;
mod tenant_stream;
mod watch;

use auth::Verifier;
use db::Db;
use ids::TenantId;
use jiff::Timestamp;
use service::Streams;
use tokio_util::sync::CancellationToken;

pub use config::StreamsConfig;
pub(crate) use feed_http::routes as feed_routes;
pub(crate) use http::routes;
pub use hub::Hub;
pub use watch::Watches;

/// What requests need.
#[derive(Clone)]
pub struct Parts {
    pub db: Db,
    /// Tenants whose events are followed, and the feed of all events.
    pub hub: Hub,
    /// Jobs whose events are followed.
    pub watches: Watches,
    /// Streams of events.
    pub streams: Streams<TenantId>,
    pub config: StreamsConfig,
    pub verifier: Verifier,
    pub clock: fn() -> Timestamp,
    /// Ends open requests: the shutdown of the process.
    pub stop: CancellationToken,
}

//! What happened to jobs, as lists and as streams of server-sent events, and as a feed for other services. The rows are
//! written by a trigger, see `migrations/jobs/0004_events.sql`.
//!
//! - `watch`: one reader of changes per replica, whatever the number of streams of jobs; `stream` is one stream.
//! - `hub`: the same for streams of tenants, and for the feed; `tenant_stream` is one stream.

mod feed_http;
mod http;
mod hub;
mod model;
mod store;
mod stream;
mod tenant_stream;
mod watch;

pub(crate) use feed_http::routes as feed_routes;
pub(crate) use http::routes;
pub(crate) use hub::Hub;
pub(crate) use model::{Advance, EventType, JobEvent};
pub(crate) use watch::Watches;

//! What happened to jobs, as lists and as streams of server-sent events. The rows are written by a trigger, see
//! `migrations/jobs/0004_events.sql`.
//!
//! - `watch`: one reader of changes per replica, whatever the number of streams; `stream` is one stream.

mod http;
mod model;
mod store;
mod stream;
mod watch;

pub(crate) use http::routes;
pub(crate) use model::EventType;
pub(crate) use watch::Watches;

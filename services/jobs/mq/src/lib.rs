//! The message queue: jobs over RabbitMQ, and events of jobs to it. The broker is an entry point, never the queue:
//! messages are taken in at once, and end in the same function as `POST /v1/jobs`.
//!
//! - `message` and `model`: what a message says. Pure;
//! - `broker`: the connection, and who runs on it: `intake` (messages in) and `publisher` (events out); `broker_state`: what
//!   handlers know of it;
//! - `repair`: replaces a queue that a crash of the broker has broken;
//! - `lanes`: in which order messages are taken in, and `take`: what that does;
//! - `topology`: exchanges and queues; `wire`: what of the broker's frames the client library gets;
//! - `credential`: with which tenants sign in at the broker, which asks `authorize` what they may; by its `management`
//!   API, `users` limits what they have open, and `connections` closes those of credentials that have ended.
//!
//! The only crate that knows lapin. Nothing may enter that decides about a job: that is `submission`.

mod allowance;
mod app;
mod authorize;
mod broker;
mod broker_state;
mod config;
mod connections;
mod credential;
mod dead;
mod intake;
mod lanes;
mod management;
mod message;
mod metrics;
mod model;
mod publisher;
mod repair;
mod store;
mod take;
mod topology;
mod users;
mod wire;

use std::sync::Arc;

use db::Db;
use jiff::Timestamp;
use records::rest::Rest;
use results::artifact;
use submission::OpenJobs;
use tokio::sync::watch;

pub use app::{State, broker_routes, routes};
pub use broker::tasks;
pub use broker_state::BrokerState;
pub use config::MqConfig;
pub use metrics::MqMetrics;
pub use store::end_credentials;

/// What requests need.
#[derive(Clone)]
pub struct Parts {
    pub db: Db,
    /// None without a message broker.
    pub config: Option<Arc<MqConfig>>,
    pub broker: Arc<BrokerState>,
    pub artifact: artifact::Parts,
    pub open_jobs: Arc<OpenJobs>,
    pub metrics: MqMetrics,
    pub rest: Arc<Rest>,
    pub clock: fn() -> Timestamp,
    /// Wakes the schedulers of this process before they look by themselves.
    pub submitted: watch::Sender<()>,
}

//! The message queue: jobs over RabbitMQ, and events of jobs to it. The broker is an entry point, never the queue:
//! messages are taken in at once, and end in the same function as `POST /v1/jobs`.
//!
//! Slices, each of which imports only those before it:
//! - `config`, `metrics`; `allowance`: how often something may happen; `management`: the broker's management API;
//! - `topology`: exchanges and queues; `wire`: what of the broker's frames the client library gets;
//! - `message`, `model`: what a message says. Pure; `store`: credentials and refused messages;
//! - `broker_state`: what handlers know of the connection to the broker;
//! - `credential`: with which tenants sign in at the broker; `authorize`: what they may, which the broker asks; `users`: limits what
//!   they have open; `connections`: closes those of credentials that have ended;
//! - `lanes`: in which order messages are taken in; `take`: submits the jobs of a batch of them; `dead`: refused messages, over HTTP;
//! - `repair`: replaces a queue that a crash of the broker has broken;
//! - `intake`: messages in; `publisher`: events out; `broker`: the connection, and all that runs on it;
//! - `app`: what the routes need.
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

//! The message queue door: jobs by RabbitMQ, and events of jobs to it. The broker is a door, never the queue: messages are
//! taken in at once, and end in the same function as `POST /v1/jobs`.
//!
//! - [`message`] and [`model`]: what a message says. Pure;
//! - [`door`]: the connection, and who runs on it: [`intake`] (messages in) and [`publisher`] (events out);
//! - [`topology`]: exchanges and queues;
//! - [`credential`]: with which tenants sign in at the broker, which asks [`authorize`] what they may.

mod authorize;
mod credential;
mod dead;
mod door;
mod intake;
mod message;
mod model;
mod outbox;
mod publisher;
mod store;
mod topology;

pub(crate) use authorize::routes as broker_routes;
pub(crate) use door::{Door, start};
pub(crate) use model::Code;
pub(crate) use outbox::tell_progress;

use utoipa_axum::router::OpenApiRouter;

use crate::state::AppState;

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    credential::routes().merge(dead::routes())
}

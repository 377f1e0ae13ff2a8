//! The message queue door: jobs by RabbitMQ, and events of jobs to it. The broker is a door, never the queue: messages are
//! taken in at once, and end in the same function as `POST /v1/jobs`.
//!
//! - [`message`] and [`model`]: what a message says. Pure;
//! - [`door`]: the connection, and who runs on it: [`intake`] (messages in) and [`publisher`] (events out);
//! - [`repair`]: replaces a queue that a crash of the broker has broken;
//! - [`lanes`]: in which order messages are taken in, and [`take`]: what that does;
//! - [`topology`]: exchanges and queues; [`wire`]: what of the broker's frames the client library gets;
//! - [`credential`]: with which tenants sign in at the broker, which asks [`authorize`] what they may; by its [`management`]
//!   API, [`users`] limits what they have open, and [`connections`] closes those of credentials that have ended.

mod allowance;
mod authorize;
mod connections;
mod credential;
mod dead;
mod door;
mod intake;
mod lanes;
mod management;
mod message;
mod model;
mod outbox;
mod publisher;
mod repair;
mod store;
mod take;
mod topology;
mod users;
mod wire;

pub(crate) use authorize::routes as broker_routes;
pub(crate) use door::{Door, start};
pub(crate) use model::Code;
pub(crate) use outbox::tell_progress;
pub(crate) use store::end_credentials;

use crate::state::AppState;
use api::openapi::OpenApiRouter;

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    credential::routes().merge(dead::routes())
}

//! How the gateway finds an instance and learns who may open it: addresses by host label, one-time tickets.

mod changes;
mod http;
mod model;
pub(crate) mod store;

pub(crate) use changes::{OUTBOX, RETENTION};
pub(crate) use http::routes;
pub(crate) use model::{Secret, TICKET_LIFETIME, hash};

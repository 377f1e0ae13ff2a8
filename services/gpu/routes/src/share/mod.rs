//! Share links: whoever has one may use one port of an instance until the link ends; a link for one person
//! works only for this user.
//!
//! The gateway exchanges the secret of a link for a cookie, as that of a ticket; a link can be exchanged any
//! number of times. A link for one person is opened at the platform's address, where the user is signed in:
//! the gateway gets a ticket for the user, and redeems it at the address of the instance. The person's access
//! ends with the session, too. A link ends when it expires or is deleted, or when its creator loses the
//! rights. The gateway knows the links of a route that are valid, and is notified when that changes.

mod ends;
mod http;
mod internal;
mod model;
pub mod personal_store;
mod recipient;
pub mod store;

use std::sync::Arc;

use api::openapi::OpenApiRouter;
use auth::{HasAuth, Verifier};
use axum::extract::FromRef;
use db::Db;
use jiff::Timestamp;

use instances::instance::Apps;

pub use ends::task;

/// What requests need.
#[derive(Clone)]
pub struct Parts {
    pub db: Db,
    pub apps: Arc<Apps>,
    pub identity: Option<identity_api::Client>,
    pub verifier: Verifier,
    pub clock: fn() -> Timestamp,
}

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
    http::routes().merge(internal::routes())
}

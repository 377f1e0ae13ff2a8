//! The wiring: what the routes of this crate need.

use axum::{Router, extract::FromRef};
use db::Db;

use crate::{Parts, http, register};

/// What the routes need.
#[derive(Clone, FromRef)]
pub struct State {
    /// The database.
    pub db: Db,
    /// What calls need.
    pub listener: Parts,
}

/// Returns the routes of the listener.
pub fn routes() -> Router<State> {
    register::routes().merge(http::routes())
}

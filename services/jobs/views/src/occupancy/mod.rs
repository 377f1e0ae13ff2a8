//! How pools are occupied: what a pool has and how soon it has room, and what a tenant uses of its share.

mod capacity;
mod http;

use db::Db;

use crate::view::Views;

pub(crate) use http::routes;

/// What requests need.
#[derive(Clone)]
pub struct Parts {
    pub db: Db,
    pub views: Views,
}

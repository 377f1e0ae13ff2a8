//! The occupancy of pools: the capacity of a pool and when it has idle workers, and a tenant's use of its
//! share.

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

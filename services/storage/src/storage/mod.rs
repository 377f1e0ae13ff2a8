//! Storages: volumes and buckets of tenants.

mod bucket;
mod follow;
mod http;
mod model;
mod reconcile;
mod store;
mod volume;

pub(crate) use follow::{follow_cluster, listen};
pub(crate) use http::routes;
pub(crate) use model::Storage;
pub(crate) use reconcile::reconcile;
pub(crate) use store::{find, lock, wake};

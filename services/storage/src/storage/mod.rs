//! Storages: volumes and buckets of tenants.

mod admin;
mod change;
mod error;
mod http;
mod list;
mod list_store;
mod model;
mod place;
mod reason;
mod store;
mod view;

use std::sync::Arc;

use api::openapi::OpenApiRouter;
use auth::HasAuth;
use axum::extract::FromRef;
use db::Db;

use crate::{
    budget::Budgets,
    config::{Config, ObjectStoreConfig},
};

pub(crate) use change::{create_output_bucket, delete_unused, output_bucket_id};
pub(crate) use error::Error;
#[cfg(test)]
pub(crate) use model::tests;
pub(crate) use model::{Phase, Storage};
pub(crate) use place::Place;
pub(crate) use reason::{Reason, ReasonCode};
pub(crate) use store::{
    Finding, Order, QUEUE, count, delete_row, exist, find, find_any, has_other_buckets, insert, lock, record,
};

/// The parts that requests about storages need.
#[derive(Clone)]
pub(crate) struct Storages {
    pub(crate) db: Db,
    pub(crate) config: Arc<Config>,
    pub(crate) budgets: Budgets,
}

impl Storages {
    fn objects(&self) -> Option<&ObjectStoreConfig> {
        self.config.object_store.as_ref()
    }
}

/// The routes of tenants and of administrators.
pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Storages: FromRef<S>,
{
    http::routes().merge(admin::routes())
}

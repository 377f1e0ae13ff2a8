//! Storages: volumes and buckets of tenants.

mod admin;
mod change;
mod http;
mod list;
mod list_store;
mod model;
mod place;
mod reason;
mod store;
mod view;

use crate::state::AppState;
use api::openapi::OpenApiRouter;

pub(crate) use change::{create_output_bucket, delete_unused, output_bucket_id};
#[cfg(test)]
pub(crate) use model::tests;
pub(crate) use model::{AttachmentMode, Phase, Storage, StorageState};
pub(crate) use place::Place;
pub(crate) use reason::{Reason, ReasonCode};
pub(crate) use store::{
    Finding, Order, QUEUE, count, delete_row, exist, find, find_any, has_other_buckets, insert, lock, record,
};

/// The routes of tenants and of administrators.
pub(crate) fn routes() -> OpenApiRouter<AppState> {
    http::routes().merge(admin::routes())
}

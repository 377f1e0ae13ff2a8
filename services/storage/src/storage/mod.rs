//! Storages: volumes and buckets of tenants.

mod change;
mod http;
mod model;
mod place;
mod quota;
mod reason;
mod store;
mod view;

pub(crate) use http::routes;
#[cfg(test)]
pub(crate) use model::tests;
pub(crate) use model::{AttachmentMode, Phase, Storage, StorageState};
pub(crate) use quota::Exceeded;
pub(crate) use reason::{Reason, ReasonCode};
pub(crate) use store::{Finding, QUEUE, delete_row, exist, find, find_any, has_other_buckets, lock, record};

//! Downloads: files of buckets that other services copy onto volumes of the same tenant. The reconcile of a volume
//! carries them out (`reconcile/download.rs`).

mod http;
mod model;
mod store;
mod view;

pub(crate) use http::routes;
pub(crate) use model::{Download, DownloadReason, Next, after_failure};
pub(crate) use store::{delete_row, fail, finish, open, repeat, sign, wait};

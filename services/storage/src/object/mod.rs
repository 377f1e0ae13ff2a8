//! Objects in buckets of tenants, for services that read and write there for them: signed URLs, lists,
//! deletions. The contents are transferred between the object store and the holder of the URL, not through
//! this service.

mod bucket;
mod delivery;
mod error;
mod http;
mod staging;
mod store;

use api::openapi::OpenApiRouter;
use auth::HasAuth;
use axum::extract::FromRef;
use db::Db;

use crate::{object_store::OptionalObjectStore, storage::Storages};

pub(crate) use error::Error;
pub(crate) use http::{check_name, download_url};

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Db: FromRef<S>,
    OptionalObjectStore: FromRef<S>,
    Storages: FromRef<S>,
{
    http::routes().merge(delivery::routes())
}

//! Objects in buckets of tenants, for services that read and write there for them: signed URLs, lists, deletions. The bytes
//! go between the object store and whoever has the URL, not through this service.

mod bucket;
mod delivery;
mod http;
mod staging;
mod store;

use crate::state::AppState;
use api::openapi::OpenApiRouter;

pub(crate) use http::{check_name, download_url};

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    http::routes().merge(delivery::routes())
}

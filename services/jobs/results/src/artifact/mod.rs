//! Results of jobs: their contents are in a bucket of the tenant, below `jobs/<job>/<attempt>/`. Workers
//! upload and users download them by signed URLs; the storage service signs those. Results are staged where
//! the tenant cannot access them, and delivered when their attempt completes. Checkpoints are outputs of
//! attempt 0, and are uploaded into the bucket directly.

mod checkpoint;
mod deliver;
mod error;
mod file;
mod http;
mod model;
mod store;
mod sweep;
mod upload;

use axum::{Router, extract::FromRef};
use db::Db;

pub use checkpoint::{Checkpoint, newest as newest_checkpoints, see as see_checkpoints};
pub use deliver::deliver;
pub use error::Error;
pub use file::{File, download, object, sign};
pub(crate) use http::routes;
pub use model::{Artifact, Report, check as check_file, read};
pub use store::{CHECKPOINTS, Stored, checkpointed_at, discard, discard_staged, find_all, insert, results};
pub use sweep::{delete as delete_folder, round as sweep};
pub use upload::bucket;

/// The files of tenants: their rows, and the storage service, which has their buckets.
#[derive(Clone)]
pub struct Parts {
    pub db: Db,
    pub storage: storage_api::Client,
}

/// Routes of the listener for workers.
pub(crate) fn worker_routes<S: Clone + Send + Sync + 'static>() -> Router<S>
where
    Parts: FromRef<S>,
    Db: FromRef<S>,
{
    upload::routes().merge(checkpoint::routes())
}

//! Results of jobs: their bytes are in a bucket of the tenant, below `jobs/<job>/<attempt>/`. Workers upload and users
//! download them by signed URLs; the storage service signs those. Results are staged out of the tenant's reach, and delivered when
//! their attempt completes. Checkpoints are outputs of the attempt 0, and are in the bucket at once.

mod checkpoint;
mod deliver;
mod file;
mod http;
mod model;
mod store;
mod sweep;
mod upload;

use axum::Router;

use crate::state::AppState;

pub(crate) use checkpoint::{Checkpoint, newest as newest_checkpoints, see as see_checkpoints};
pub(crate) use deliver::deliver;
pub(crate) use file::{File, download, object, sign};
pub(crate) use http::routes;
pub(crate) use model::{Artifact, Report, check as check_file, read};
pub(crate) use store::{
    CHECKPOINTS, Stored, checkpointed_at, discard, discard_staged, find_all, insert, results,
};
pub(crate) use sweep::{delete as delete_folder, round as sweep};
pub(crate) use upload::bucket;

/// Routes of the listener for workers.
pub(crate) fn door_routes() -> Router<AppState> {
    upload::routes().merge(checkpoint::routes())
}

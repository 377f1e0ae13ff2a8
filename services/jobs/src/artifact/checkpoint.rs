//! Checkpoints: what a later attempt of a job goes on from. An attempt has two, which it writes in turn, so that one of them is
//! always complete; whoever resumes checks the hash.

use api::{Checks, Json, Path, Problem};
use axum::{Router, extract::State, routing::post};
use clients::storage::UrlKind;
use ids::{JobId, StorageId, TenantId};
use serde::Deserialize;

use super::{
    file::object,
    model::{CONTENT_TYPE, MAX_BYTES, folder},
    store::{self, CHECKPOINTS},
    upload::{Upload, place, sign},
};
use crate::{error::Error, state::AppState, worker::WorkerCaller};

/// Steps of a job, at most.
const MAX_STEPS: i32 = 1_000_000;

pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/worker/v1/attempts/{job}/{number}/checkpoints", post(create_checkpoint))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NewCheckpoint {
    session: i64,
    /// Steps that are done.
    step: i32,
    /// In hexadecimal.
    sha256: String,
    bytes: i64,
}

/// Returns a URL for a checkpoint of the attempt. Each call takes the place of the checkpoint before the last.
async fn create_checkpoint(
    State(state): State<AppState>,
    worker: WorkerCaller,
    Path((job, number)): Path<(JobId, i32)>,
    Json(new): Json<NewCheckpoint>,
) -> Result<Json<Upload>, Problem> {
    let mut checks = Checks::default();
    checks.within("/step", new.step, 0, MAX_STEPS);
    checks.within("/bytes", new.bytes, 0, MAX_BYTES);
    let sha256 = hex::decode(&new.sha256).unwrap_or_default();
    checks.require(sha256.len() == 32, "/sha256", "must be 64 hexadecimal digits");
    checks.finish()?;
    let output = place(&state, worker, new.session, (job, number), CHECKPOINTS).await?;
    let mut tx = state.db.worker().await?;
    worker.touch_running(&mut tx, new.session, (job, number)).await?;
    let row = store::NewCheckpoint {
        job,
        attempt: number,
        tenant: output.tenant,
        step: new.step,
        sha256: &sha256,
        bytes: new.bytes,
    };
    let slot = store::insert_checkpoint(&mut tx, &row).await?;
    tx.commit().await?;
    let object = object(job, CHECKPOINTS, &name(number, slot));
    Ok(Json(sign(&state, UrlKind::Upload, &output, &object, CONTENT_TYPE, new.bytes).await?))
}

fn name(attempt: i32, slot: i16) -> String {
    format!("{attempt}-{slot}")
}

/// A checkpoint that is in the bucket.
#[derive(Debug, Clone)]
pub(crate) struct Checkpoint {
    pub(crate) storage: StorageId,
    pub(crate) object: String,
    pub(crate) step: i32,
    pub(crate) sha256: String,
    pub(crate) bytes: i64,
}

/// Returns the checkpoints of a job that are in the bucket, the furthest first. The content of one that was being replaced may
/// have another hash.
pub(crate) async fn newest(state: &AppState, tenant: TenantId, job: JobId) -> Result<Vec<Checkpoint>, Error> {
    let mut tx = state.db.worker().await?;
    let output = store::output(&mut tx, job, CHECKPOINTS).await?;
    let rows = store::checkpoints(&mut tx, job).await?;
    tx.commit().await?;
    let Some(output) = output.filter(|_| !rows.is_empty()) else { return Ok(Vec::new()) };
    let there = match state.storage.objects(output.storage, tenant, &folder(job, CHECKPOINTS)).await {
        Err(error) if error.is_not_found() => return Ok(Vec::new()),
        found => found.map_err(Error::Storage)?.items,
    };
    let checkpoints = rows.into_iter().map(|row| Checkpoint {
        storage: output.storage,
        object: object(job, CHECKPOINTS, &name(row.attempt, row.slot)),
        step: row.step,
        sha256: row.sha256,
        bytes: row.bytes,
    });
    let is_there =
        |one: &Checkpoint| there.iter().any(|object| object.name == one.object && object.bytes == one.bytes);
    Ok(checkpoints.filter(is_there).collect())
}

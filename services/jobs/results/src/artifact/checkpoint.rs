//! Checkpoints: stored states from which a later attempt of a job continues. An attempt has two, which it
//! writes in turn, so that one of them is always complete; the resuming attempt checks the hash.

use api::{Checks, Json, Path, Problem, ProblemType};
use axum::{
    Router,
    extract::{FromRef, State},
    routing::post,
};
use db::Db;
use ids::{JobId, StorageId, TenantId};
use records::worker::WorkerCaller;
use serde::Deserialize;
use sqlx::PgConnection;
use storage_api::{BucketObject, UrlKind};

use super::{
    Parts,
    error::{Error, not_now},
    file::object,
    model::{CONTENT_TYPE, MAX_BYTES, folder},
    store::{self, Announced, CHECKPOINTS, Output},
    upload::{Upload, place, sign},
};

/// Maximum number of steps of a job.
const MAX_STEPS: i32 = 1_000_000;
/// Maximum number of objects that the storage service names.
const MOST_NAMED: usize = 1_000;

pub(super) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S>
where
    Parts: FromRef<S>,
    Db: FromRef<S>,
{
    Router::new().route("/worker/v1/attempts/{job}/{number}/checkpoints", post(create_checkpoint))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NewCheckpoint {
    session: i64,
    /// Number of completed steps.
    step: i32,
    /// In hexadecimal.
    sha256: String,
    bytes: i64,
}

/// Returns a URL for a checkpoint of the attempt. It counts as stored when its content is found, at the next
/// call or at the end of the attempt. Each call replaces a checkpoint that is older than the last stored one.
async fn create_checkpoint(
    State(parts): State<Parts>,
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
    let output = place(&parts, worker, new.session, (job, number), CHECKPOINTS).await?;
    let there = contents(&parts, &output).await?;
    let mut tx = parts.db.worker().await?;
    worker.touch_running(&mut tx, new.session, (job, number)).await?;
    record(&mut tx, (job, number), Some(&there)).await?;
    let slot = store::next_slot(&mut tx, job, number).await?;
    let object = object(job, CHECKPOINTS, &name(number, slot));
    let found = find(&there, &object).and_then(mark);
    let row = store::NewCheckpoint {
        job,
        attempt: number,
        slot,
        tenant: output.tenant,
        step: new.step,
        sha256: &sha256,
        bytes: new.bytes,
        found: found.as_deref(),
    };
    store::insert_checkpoint(&mut tx, &row).await?;
    tx.commit().await?;
    Ok(Json(sign(&parts, UrlKind::Upload, &output, &object, CONTENT_TYPE, new.bytes).await?))
}

/// The objects in the place for checkpoints of a job; none if the bucket was deleted.
async fn contents(parts: &Parts, output: &Output) -> Result<Vec<BucketObject>, Error> {
    match parts.storage.objects(output.storage, output.tenant, &folder(output.job, CHECKPOINTS)).await {
        Err(error) if error.is_not_found() => Ok(Vec::new()),
        found => Ok(found.map_err(not_now)?.items),
    }
}

fn find<'a>(there: &'a [BucketObject], name: &str) -> Option<&'a BucketObject> {
    there.iter().find(|object| object.name == name)
}

/// What distinguishes an object from the one that had its name before. Not every object store reports it.
fn mark(object: &BucketObject) -> Option<String> {
    Some(format!("{} {}", object.etag.as_ref()?, object.written_at?))
}

/// Whether a checkpoint is stored: of the announced size, and written since it was announced. A checkpoint
/// that its tenant has hidden behind other objects counts as stored.
fn is_stored(there: &[BucketObject], name: &str, announced: &Announced) -> bool {
    match find(there, name) {
        Some(object) => {
            let is_new = |mark| announced.found.as_ref() != Some(&mark);
            object.bytes == announced.bytes && mark(object).is_none_or(is_new)
        }
        None => there.len() >= MOST_NAMED,
    }
}

/// Records which checkpoints of an attempt are stored; all of them if their tenant lets nobody list the
/// bucket.
async fn record(
    conn: &mut PgConnection,
    (job, number): (JobId, i32),
    there: Option<&[BucketObject]>,
) -> sqlx::Result<()> {
    for announced in store::announced(conn, job, number).await? {
        let name = object(job, CHECKPOINTS, &name(number, announced.slot));
        if there.is_none_or(|there| is_stored(there, &name, &announced)) {
            store::record_stored(conn, (job, number), &announced).await?;
        }
    }
    Ok(())
}

/// Looks for the announced checkpoints of an attempt that were not found yet, before it ends. Checkpoints
/// that cannot be found do not count as stored.
pub async fn see(parts: &Parts, job: JobId, number: i32) -> sqlx::Result<()> {
    let mut tx = parts.db.worker().await?;
    if store::announced(&mut tx, job, number).await?.is_empty() {
        return Ok(());
    }
    let output = store::output(&mut tx, job, CHECKPOINTS).await?;
    tx.commit().await?;
    let Some(output) = output else { return Ok(()) };
    let there = match contents(parts, &output).await {
        Ok(there) => Some(there),
        Err(error) if is_closed(&error) => None,
        Err(error) => {
            tracing::warn!(job.id = %job, error = format!("{error:#}"), "cannot see whether a checkpoint is stored");
            return Ok(());
        }
    };
    let mut tx = parts.db.worker().await?;
    record(&mut tx, (job, number), there.as_deref()).await?;
    tx.commit().await
}

/// Whether the bucket is inaccessible because of its tenant: gone from the object store, or closed by a
/// policy.
fn is_closed(error: &Error) -> bool {
    matches!(error, Error::Storage(cause) if cause.problem(ProblemType::StorageNotAvailable).is_some())
}

fn name(attempt: i32, slot: i16) -> String {
    format!("{attempt}-{slot}")
}

/// A checkpoint that is in the bucket.
#[derive(Debug, Clone)]
pub struct Checkpoint {
    pub storage: StorageId,
    pub object: String,
    pub step: i32,
    pub sha256: String,
    pub bytes: i64,
}

/// Returns the checkpoints of a job that are in the bucket, the latest first. If one was being replaced, its
/// content may have another hash.
pub async fn newest(parts: &Parts, tenant: TenantId, job: JobId) -> Result<Vec<Checkpoint>, Error> {
    let mut tx = parts.db.worker().await?;
    let output = store::output(&mut tx, job, CHECKPOINTS).await?;
    let rows = store::checkpoints(&mut tx, job).await?;
    tx.commit().await?;
    let Some(output) = output.filter(|_| !rows.is_empty()) else { return Ok(Vec::new()) };
    let there = match parts.storage.objects(output.storage, tenant, &folder(job, CHECKPOINTS)).await {
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

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn object(name: String, bytes: i64) -> BucketObject {
        BucketObject { name, bytes, etag: Some("\"a\"".to_owned()), written_at: Some(Timestamp::UNIX_EPOCH) }
    }

    #[test]
    fn a_checkpoint_that_its_tenant_hides_is_stored() {
        let announced =
            |found: Option<&str>| Announced { slot: 0, bytes: 7, found: found.map(str::to_owned) };
        let is_stored = |there: &[BucketObject], found| is_stored(there, "1-0", &announced(found));
        let decoys = |count: usize| (0..count).map(|n| object(format!("0-{n}"), 7)).collect::<Vec<_>>();
        assert!(!is_stored(&[], None) && !is_stored(&decoys(999), None));
        assert!(is_stored(&decoys(1_000), None));
        let seen = |bytes| [decoys(3), vec![object("1-0".to_owned(), bytes)]].concat();
        assert!(is_stored(&seen(7), None) && !is_stored(&seen(8), None));
        let before = mark(&seen(7)[3]);
        assert!(!is_stored(&seen(7), before.as_deref()), "it was there before");
    }
}

//! Uploads of workers: each result of an attempt gets a signed URL, and must be staged when the attempt completes.

use std::time::Duration;

use api::{Checks, Json, Path, Problem};
use axum::{
    Router,
    extract::{FromRef, State},
    routing::post,
};
use db::Db;
use ids::{JobId, StorageId, TenantId};
use jiff::Timestamp;
use records::{
    job,
    worker::{NotYours, WorkerCaller},
};
use serde::{Deserialize, Serialize};
use storage_api::{StorageReason, StorageState, UrlKind, UrlRequest};
use tokio::time::{Instant, sleep};

use super::{
    Parts,
    error::{Error, not_now},
    file::object,
    model,
    store::{self, Output},
};

/// How long a request waits for a new bucket, and how often it checks.
const BUCKET_WAIT: Duration = Duration::from_secs(3);
const BUCKET_LOOK: Duration = Duration::from_millis(100);

pub(crate) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S>
where
    Parts: FromRef<S>,
    Db: FromRef<S>,
{
    Router::new().route("/worker/v1/attempts/{job}/{number}/uploads", post(create_upload))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NewUpload {
    session: i64,
    name: String,
    content_type: String,
    bytes: i64,
}

/// Where one result goes: a PUT with the `content-type` and `content-length` of the request.
#[derive(Debug, Serialize)]
pub(super) struct Upload {
    url: String,
    expires_at: Timestamp,
}

/// Returns a URL for one result of the attempt. Can be repeated.
async fn create_upload(
    State(parts): State<Parts>,
    worker: WorkerCaller,
    Path((job, number)): Path<(JobId, i32)>,
    Json(new): Json<NewUpload>,
) -> Result<Json<Upload>, Problem> {
    let mut checks = Checks::default();
    model::check_result(&mut checks, "", &new.name, &new.content_type, new.bytes);
    checks.finish()?;
    let output = place(&parts, worker, new.session, (job, number), number).await?;
    let object = object(job, number, &new.name);
    Ok(Json(sign(&parts, UrlKind::Stage, &output, &object, &new.content_type, new.bytes).await?))
}

/// Signs a URL for an upload.
pub(super) async fn sign(
    parts: &Parts,
    kind: UrlKind,
    output: &Output,
    object: &str,
    content_type: &str,
    bytes: i64,
) -> Result<Upload, Error> {
    let (object, content_type) = (object.to_owned(), content_type.to_owned());
    let request = UrlRequest { tenant_id: output.tenant, kind, object, content_type, bytes };
    let signed = parts.storage.sign_url(output.storage, &request).await.map_err(not_now)?;
    Ok(Upload { url: signed.url, expires_at: signed.expires_at })
}

/// Where an attempt that the worker runs uploads the outputs of `folder`: its own number, or that of the job's checkpoints.
pub(super) async fn place(
    parts: &Parts,
    worker: WorkerCaller,
    session: i64,
    (job, number): (JobId, i32),
    folder: i32,
) -> Result<Output, Problem> {
    let mut tx = parts.db.worker().await?;
    worker.touch_running(&mut tx, session, (job, number)).await?;
    let (found, _) = job::find_open(&mut tx, job).await?.ok_or(NotYours)?;
    let output = store::output(&mut tx, job, folder).await?;
    tx.commit().await?;
    if let Some(output) = output {
        return Ok(output);
    }
    let storage = bucket(parts, found.tenant).await.map_err(Error::not_now)?;
    let output = Output { job, attempt: folder, tenant: found.tenant, storage };
    let mut tx = parts.db.worker().await?;
    // the objects of an attempt that has ended meanwhile would never be deleted
    worker.touch_running(&mut tx, session, (job, number)).await?;
    store::insert_output(&mut tx, &output).await?;
    tx.commit().await?;
    Ok(output)
}

/// The bucket for uploads and outputs of the tenant's jobs. A new one is ready in a moment, for which the request waits.
pub async fn bucket(parts: &Parts, tenant: TenantId) -> Result<StorageId, Error> {
    let deadline = Instant::now() + BUCKET_WAIT;
    loop {
        let bucket = parts.storage.output_bucket(tenant).await.map_err(Error::Storage)?;
        match bucket.state {
            StorageState::Available | StorageState::Resizing => return Ok(bucket.id),
            // the user deleted it
            StorageState::Failed if bucket.reason == Some(StorageReason::BucketLost) => {
                return Err(Error::BucketLost);
            }
            StorageState::Pending | StorageState::Deleting if Instant::now() < deadline => {
                sleep(BUCKET_LOOK).await;
            }
            StorageState::Deleting => return Err(Error::BucketDeleting),
            StorageState::Pending | StorageState::Failed => return Err(Error::BucketNotReady),
        }
    }
}

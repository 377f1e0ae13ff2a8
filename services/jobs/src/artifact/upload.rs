//! Uploads of workers: each result of an attempt gets a signed URL, and must be staged when the attempt completes.

use std::time::Duration;

use api::{Checks, Json, Path, Problem, ProblemType};
use axum::{Router, extract::State, routing::post};
use clients::storage::{StorageReason, StorageState, UrlKind, UrlRequest};
use ids::{JobId, StorageId, TenantId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};

use super::{
    file::object,
    model,
    store::{self, Output},
};
use crate::{error::Error, job, state::AppState, worker::WorkerCaller};

/// How long a request waits for a new bucket, and how often it looks.
const BUCKET_WAIT: Duration = Duration::from_secs(3);
const BUCKET_LOOK: Duration = Duration::from_millis(100);

pub(crate) fn routes() -> Router<AppState> {
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
    State(state): State<AppState>,
    worker: WorkerCaller,
    Path((job, number)): Path<(JobId, i32)>,
    Json(new): Json<NewUpload>,
) -> Result<Json<Upload>, Problem> {
    let mut checks = Checks::default();
    model::check_result(&mut checks, "", &new.name, &new.content_type, new.bytes);
    checks.finish()?;
    let output = place(&state, worker, new.session, (job, number), number).await?;
    let object = object(job, number, &new.name);
    Ok(Json(sign(&state, UrlKind::Stage, &output, &object, &new.content_type, new.bytes).await?))
}

/// Signs a URL for an upload.
pub(super) async fn sign(
    state: &AppState,
    kind: UrlKind,
    output: &Output,
    object: &str,
    content_type: &str,
    bytes: i64,
) -> Result<Upload, Error> {
    let request = UrlRequest { tenant_id: output.tenant, kind, object, content_type, bytes };
    let signed = state.storage.sign_url(output.storage, &request).await.map_err(not_now)?;
    Ok(Upload { url: signed.url, expires_at: signed.expires_at })
}

/// Where an attempt that the worker runs uploads the outputs of `folder`: its own number, or that of the job's checkpoints.
pub(super) async fn place(
    state: &AppState,
    worker: WorkerCaller,
    session: i64,
    (job, number): (JobId, i32),
    folder: i32,
) -> Result<Output, Error> {
    let mut tx = state.db.worker().await?;
    worker.touch_running(&mut tx, session, (job, number)).await?;
    let (found, _) = job::find_open(&mut tx, job).await?.ok_or(Error::NotYours)?;
    let output = store::output(&mut tx, job, folder).await?;
    tx.commit().await?;
    if let Some(output) = output {
        return Ok(output);
    }
    let storage = bucket(state, found.tenant).await.map_err(|error| match error {
        Error::Storage(cause) => not_now(cause),
        other => other,
    })?;
    let output = Output { job, attempt: folder, tenant: found.tenant, storage };
    let mut tx = state.db.worker().await?;
    // the objects of an attempt that has ended meanwhile would never be deleted
    worker.touch_running(&mut tx, session, (job, number)).await?;
    store::insert_output(&mut tx, &output).await?;
    tx.commit().await?;
    Ok(output)
}

/// The error of a call for a worker: while a tenant is suspended, or has nothing left to spend, the results of its jobs wait.
pub(super) fn not_now(error: clients::Error) -> Error {
    let waits = [ProblemType::TenantSuspended, ProblemType::BudgetExhausted];
    if waits.into_iter().any(|kind| error.problem(kind).is_some()) {
        Error::BucketNotReady
    } else {
        Error::Storage(error)
    }
}

/// The bucket for uploads and outputs of the tenant's jobs. A new one is ready in a moment, for which the request waits.
pub(crate) async fn bucket(state: &AppState, tenant: TenantId) -> Result<StorageId, Error> {
    let deadline = Instant::now() + BUCKET_WAIT;
    loop {
        let bucket = state.storage.output_bucket(tenant).await.map_err(Error::Storage)?;
        match bucket.state {
            StorageState::Available | StorageState::Resizing => return Ok(bucket.id),
            // the user did that
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_wait_while_the_tenant_may_not_have_a_bucket() {
        let problem = |kind: ProblemType| {
            let problem = serde_json::to_value(Problem::new(kind, "")).unwrap();
            not_now(clients::Error::Problem(Box::new(serde_json::from_value(problem).unwrap())))
        };
        for kind in [ProblemType::TenantSuspended, ProblemType::BudgetExhausted] {
            assert!(matches!(problem(kind), Error::BucketNotReady), "{kind:?}");
        }
        assert!(matches!(problem(ProblemType::QuotaExceeded), Error::Storage(_)));
    }
}

//! The inputs of an attempt besides its parameters: uploads, results of other jobs, models and checkpoints,
//! by signed URLs.

use api::{Json, Path, Problem};
use attempts::attempt::store;
use axum::extract::State;
use db::Db;
use ids::{ArtifactId, JobId, ModelId, TenantId, UploadId};
use jiff::Timestamp;
use jobs_core::application::{Inputs, Method, Training};
use records::{
    job,
    worker::{NotYours, WorkerCaller},
};
use results::{
    InputMissing,
    artifact::{self, File},
    model, upload,
};
use serde::{Deserialize, Serialize};

use super::Parts;

/// Media type of models and checkpoints.
const CONTENT_TYPE: &str = "application/octet-stream";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InputsRequest {
    session: i64,
}

/// Files that an attempt needs. Each has a URL for a GET.
#[derive(Debug, Default, Serialize)]
pub(super) struct AttemptInputs {
    /// In the order of the parameters.
    uploads: Vec<Input<UploadId>>,
    artifacts: Vec<Input<ArtifactId>>,
    models: Vec<Input<ModelId>>,
    /// Checkpoints of earlier attempts, the latest first. Continue from the first with a matching hash.
    checkpoints: Vec<Input<i32>>,
}

#[derive(Debug, Serialize)]
struct Input<Id> {
    /// Id of the upload, result or model; how many steps are done in a checkpoint.
    id: Id,
    name: String,
    content_type: String,
    bytes: i64,
    /// In hexadecimal; null if the user did not provide it.
    sha256: Option<String>,
    /// Value for `If-Match` of the GET, so that other content is refused; null if it is not known.
    etag: Option<String>,
    url: String,
    expires_at: Timestamp,
}

/// Returns the files that an attempt needs. Can be repeated, as URLs expire.
pub(super) async fn get_inputs(
    State(parts): State<Parts>,
    worker: WorkerCaller,
    Path((job, number)): Path<(JobId, i32)>,
    Json(request): Json<InputsRequest>,
) -> Result<Json<AttemptInputs>, Problem> {
    let mut tx = parts.db.worker().await?;
    worker.touch_running(&mut tx, request.session, (job, number)).await?;
    let (found, _) = job::find_open(&mut tx, job).await?.ok_or(NotYours)?;
    let inputs = read(&store::inputs(&mut tx, job).await?);
    tx.commit().await?;
    let Some(inputs) = inputs else {
        return Ok(Json(AttemptInputs::default()));
    };
    let tenant = found.tenant;
    Ok(Json(AttemptInputs {
        uploads: uploads(&parts.artifact, tenant, &inputs.uploads).await?,
        artifacts: artifacts(&parts.artifact, tenant, &inputs.artifacts).await?,
        models: models(&parts.artifact, tenant, &inputs.models).await?,
        checkpoints: checkpoints(&parts.artifact, tenant, job).await?,
    }))
}

/// The inputs of stored parameters, which were valid when they were submitted.
fn read(stored: &store::Inputs) -> Option<Inputs> {
    Method::find(&stored.application, &stored.method)?.read(&stored.parameters).ok()
}

/// Name and base model of the model that an open job makes, if it is a training.
pub(super) async fn training(db: &Db, job: JobId) -> sqlx::Result<Option<Training>> {
    let mut tx = db.worker().await?;
    Ok(read(&store::inputs(&mut tx, job).await?).and_then(|inputs| inputs.training))
}

async fn uploads(
    parts: &artifact::Parts,
    tenant: TenantId,
    ids: &[UploadId],
) -> Result<Vec<Input<UploadId>>, Problem> {
    let mut tx = parts.db.worker().await?;
    let found = upload::find_all(&mut tx, tenant, ids).await?;
    drop(tx);
    let mut inputs = Vec::new();
    for id in ids {
        let missing = || InputMissing(vec![id.to_string()]);
        let upload = found.iter().find(|upload| upload.id == *id).ok_or_else(missing)?;
        if !upload::is_unchanged(parts, tenant, upload).await? {
            return Err(missing().into());
        }
        let file = File {
            storage: upload.storage,
            object: upload.object(),
            content_type: &upload.content_type,
            bytes: upload.bytes,
        };
        let input = input(parts, tenant, *id, &upload.name, &file, upload.sha256.as_deref()).await?;
        inputs.push(Input { etag: upload.etag.clone(), ..input });
    }
    Ok(inputs)
}

async fn artifacts(
    parts: &artifact::Parts,
    tenant: TenantId,
    ids: &[ArtifactId],
) -> Result<Vec<Input<ArtifactId>>, Problem> {
    let mut tx = parts.db.worker().await?;
    let found = artifact::find_all(&mut tx, tenant, ids).await?;
    drop(tx);
    let mut inputs = Vec::new();
    for id in ids {
        let missing = || InputMissing(vec![id.to_string()]);
        let artifact = found.iter().find(|artifact| artifact.id == *id).ok_or_else(missing)?;
        let file = artifact.file().ok_or_else(missing)?;
        inputs.push(input(parts, tenant, *id, &artifact.name, &file, Some(&artifact.sha256)).await?);
    }
    Ok(inputs)
}

async fn models(
    parts: &artifact::Parts,
    tenant: TenantId,
    ids: &[ModelId],
) -> Result<Vec<Input<ModelId>>, Problem> {
    let mut tx = parts.db.worker().await?;
    let found = model::find_all(&mut tx, tenant, ids).await?;
    drop(tx);
    let mut inputs = Vec::new();
    for id in ids {
        let missing = || InputMissing(vec![id.to_string()]);
        let model = found.iter().find(|model| model.id == *id).ok_or_else(missing)?;
        let object = artifact::object(model.job, model.attempt, &model.file);
        let file = File { storage: model.storage, object, content_type: CONTENT_TYPE, bytes: model.bytes };
        inputs.push(input(parts, tenant, *id, &model.file, &file, Some(&model.sha256)).await?);
    }
    Ok(inputs)
}

async fn checkpoints(
    parts: &artifact::Parts,
    tenant: TenantId,
    job: JobId,
) -> Result<Vec<Input<i32>>, Problem> {
    let mut inputs = Vec::new();
    for checkpoint in artifact::newest_checkpoints(parts, tenant, job).await? {
        let artifact::Checkpoint { storage, object, step, sha256, bytes } = checkpoint;
        let file = File { storage, object, content_type: CONTENT_TYPE, bytes };
        inputs.push(input(parts, tenant, step, "checkpoint", &file, Some(&sha256)).await?);
    }
    Ok(inputs)
}

async fn input<Id: std::fmt::Display>(
    parts: &artifact::Parts,
    tenant: TenantId,
    id: Id,
    name: &str,
    file: &File<'_>,
    sha256: Option<&str>,
) -> Result<Input<Id>, Problem> {
    let signed = artifact::download(parts, tenant, file).await.map_err(|error| -> Problem {
        match error {
            artifact::Error::Gone => InputMissing(vec![id.to_string()]).into(),
            other => other.into(),
        }
    })?;
    Ok(Input {
        id,
        name: name.to_owned(),
        content_type: file.content_type.to_owned(),
        bytes: file.bytes,
        sha256: sha256.map(str::to_owned),
        etag: None,
        url: signed.url,
        expires_at: signed.expires_at,
    })
}

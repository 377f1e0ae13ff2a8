//! Whether the uploads, results and models that a job names are there.

use ids::{ArtifactId, ModelId, TenantId, UploadId};
use sqlx::PgConnection;

use super::view::NewJob;
use crate::{
    application::{Inputs, Method},
    artifact,
    error::Error,
    model,
    state::AppState,
    upload,
};

/// Notes which uploads that jobs name have their contents in the bucket. Before the transaction that submits the jobs.
pub(crate) async fn confirm(state: &AppState, owner: TenantId, jobs: &[NewJob]) -> Result<(), Error> {
    let inputs = jobs.iter().filter_map(|job| {
        Method::find(&job.application, &job.method).and_then(|method| method.read(&job.parameters).ok())
    });
    let uploads: Vec<UploadId> = inputs.flat_map(|inputs| inputs.uploads).collect();
    upload::confirm(state, owner, &uploads).await
}

/// Checks that the tenant has what a job names, and keeps it for the job.
pub(super) async fn check(
    conn: &mut PgConnection,
    owner: TenantId,
    inputs: &Inputs,
) -> sqlx::Result<Result<(), Error>> {
    let mut missing = Vec::new();
    if !inputs.uploads.is_empty() {
        let taken = upload::take(conn, owner, &inputs.uploads).await?;
        let lacks = inputs.uploads.iter().filter(|id| !taken.contains(id));
        missing.extend(lacks.map(ToString::to_string));
    }
    let mut artifacts = Vec::new();
    if !inputs.artifacts.is_empty() {
        artifacts = artifact::find_all(conn, owner, &inputs.artifacts).await?;
        let lacks = |id: &&ArtifactId| artifacts.iter().all(|artifact| artifact.id != **id);
        missing.extend(inputs.artifacts.iter().filter(lacks).map(ToString::to_string));
    }
    let mut models = Vec::new();
    if !inputs.models.is_empty() {
        models = model::find_all(conn, owner, &inputs.models).await?;
        let lacks = |id: &&ModelId| models.iter().all(|model| model.id != **id);
        missing.extend(inputs.models.iter().filter(lacks).map(ToString::to_string));
    }
    if !missing.is_empty() {
        return Ok(Err(Error::InputMissing(missing)));
    }
    if let Some(other) = artifacts.iter().find(|artifact| !artifact.content_type.starts_with("image/")) {
        let detail = format!("{} is no picture", other.id);
        return Ok(Err(Error::invalid_field("/parameters", detail)));
    }
    let Some(base_model) = &inputs.base_model else { return Ok(Ok(())) };
    let other = models.iter().find(|model| model.base_model != *base_model);
    Ok(match other {
        Some(model) => {
            let detail =
                format!("{} adapts the model {}, which has to be `model`", model.id, model.base_model);
            Err(Error::invalid_field("/parameters/models", detail))
        }
        None => Ok(()),
    })
}

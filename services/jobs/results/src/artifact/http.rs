//! Results of jobs over HTTP.

use api::{Json, Page, PageParams, Path, Problem, ProblemType, Query, openapi::OpenApiRouter};
use auth::{HasAuth, Member};
use axum::{
    extract::{FromRef, State},
    http::{StatusCode, header},
    response::IntoResponse,
};
use ids::{ArtifactId, JobId};
use records::job;
use utoipa_axum::routes;

use super::{Parts, file::sign, model::ArtifactView, store};

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(list_job_artifacts)).routes(routes!(get_job_artifact_content))
}

/// Lists the results of a job, oldest first.
#[utoipa::path(
    get, path = "/v1/jobs/{id}/artifacts", operation_id = "list_job_artifacts", tag = "jobs",
    params(("id" = JobId, Path, description = "Job id"), PageParams),
    responses((status = 200, description = "A page", body = Page<ArtifactView>))
)]
async fn list_job_artifacts(
    State(parts): State<Parts>,
    member: Member,
    Path(id): Path<JobId>,
    Query(params): Query<PageParams>,
) -> Result<Json<Page<ArtifactView>>, Problem> {
    let page = params.request()?;
    let mut tx = parts.db.tenant(member.tenant).await?;
    job::find(&mut tx, member.tenant, id).await?.ok_or_else(Problem::not_found)?;
    let artifacts = store::list(&mut tx, member.tenant, id, page.after, page.rows()).await?;
    Ok(Json(page.page(artifacts, |artifact| artifact.id)))
}

/// Redirects to the content of a result. The address needs no token, and can be used for 15 minutes.
#[utoipa::path(
    get, path = "/v1/jobs/{id}/artifacts/{artifact_id}/content", operation_id = "get_job_artifact_content",
    tag = "jobs",
    params(
        ("id" = JobId, Path, description = "Job id"),
        ("artifact_id" = ArtifactId, Path, description = "Artifact id"),
    ),
    responses((
        status = 307, description = "`Location` is the content",
        headers(("Location" = String, description = "A signed URL in the object store")),
    )),
    extensions(("x-problems" = json!([
        ProblemType::ArtifactGone, ProblemType::StorageNotAvailable, ProblemType::TenantSuspended,
    ])))
)]
async fn get_job_artifact_content(
    State(parts): State<Parts>,
    member: Member,
    Path((job, id)): Path<(JobId, ArtifactId)>,
) -> Result<impl IntoResponse, Problem> {
    let mut tx = parts.db.tenant(member.tenant).await?;
    let stored = store::find(&mut tx, member.tenant, job, id).await?.ok_or_else(Problem::not_found)?;
    drop(tx);
    let signed = sign(&parts, member.tenant, &stored).await?;
    let headers = [(header::LOCATION, signed.url), (header::CACHE_CONTROL, "no-store".to_owned())];
    Ok((StatusCode::TEMPORARY_REDIRECT, headers))
}

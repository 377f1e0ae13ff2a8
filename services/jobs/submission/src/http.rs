//! Jobs over HTTP.

use std::collections::HashMap;

use api::{
    CountedPage, ETag, Fields, IdempotencyKey, IfMatch, Include, Json, NamedUrgency, PageParams, Path,
    Problem, ProblemType, Query, Reply, Several, list::Item, openapi::OpenApiRouter,
};
use auth::{HasAuth, Member};
use axum::{
    extract::{FromRef, State},
    http::StatusCode,
};
use ids::{JobId, TenantId};
use jobs_core::{
    job::Job,
    kind::{Kind, Level},
    progress::{Question, Report},
    status::JobState,
};
use records::{
    budget,
    job::{
        JobView,
        list::{Filter, JobSort},
        list_store::List,
        store,
    },
};
use schedule::{Hold, Waiting};
use serde::Deserialize;
use sqlx::PgConnection;
use utoipa::IntoParams;
use utoipa_axum::routes;
use uuid::Uuid;

use super::{
    Parts, change, elsewhere,
    explanation::JobExplanation,
    gather, inputs, quote,
    reply::{reply, stored_progress},
    request::{JobBatch, JobBatchItem, JobChange, NewJob, NewJobBatch},
};

/// Maximum number of jobs of a batch.
const MAX_BATCH: usize = 1_000;

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
    OpenApiRouter::new()
        .routes(routes!(list_jobs, create_job))
        .routes(routes!(create_job_batch))
        .routes(routes!(get_job, update_job))
        .routes(routes!(cancel_job))
        .routes(routes!(get_job_explanation))
        .merge(quote::routes())
}

fn question(job: &Job, stored: Option<Report>) -> Question {
    Question { tenant: job.tenant, job: job.id, attempt: job.attempts, stored }
}

/// As [`reply`], of a job that was changed in this transaction.
async fn reply_changed(
    tx: &mut PgConnection,
    tenant: TenantId,
    id: JobId,
    status: StatusCode,
) -> Result<Reply, Problem> {
    let job = store::find(tx, tenant, id).await?.ok_or_else(Problem::not_found)?;
    reply(tx, job, status).await
}

/// Filters and page of the list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListParams {
    /// Only jobs in one of these states, separated by commas.
    #[param(inline, style = Form, explode = false, value_type = Option<Vec<JobState>>)]
    state: Option<Several<JobState>>,
    /// Only jobs of this kind.
    kind: Option<Kind>,
    /// Only jobs of this level.
    level: Option<Level>,
    /// Only jobs of this application.
    application: Option<String>,
    /// Only jobs of this group.
    #[serde(default, deserialize_with = "api::text::optional_nfc")]
    group: Option<String>,
    /// Only the job with this number of the client.
    req_no: Option<Uuid>,
    /// Order of the list, the same for all its pages: by time of submission, time of the end, or cost. A leading `-`
    /// reverses it. `-created_at` if absent.
    #[param(inline)]
    sort: Option<JobSort>,
    /// Only these fields of each item, separated by commas; always `id`. All if absent.
    #[param(value_type = Option<String>, example = "state,cost")]
    fields: Option<Several<String>>,
    /// Additional data to return: `total` is the number of items on all pages.
    #[param(inline, style = Form, explode = false, value_type = Option<Vec<Include>>)]
    include: Option<Several<Include>>,
    /// Maximum number of items.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// `next_cursor` of the previous page.
    cursor: Option<String>,
}

/// Lists the jobs of the tenant, newest first unless `sort` says otherwise.
#[utoipa::path(
    get, path = "/v1/jobs", operation_id = "list_jobs", tag = "jobs", params(ListParams),
    responses((status = 200, description = "A page", body = CountedPage<JobView>))
)]
async fn list_jobs(
    State(parts): State<Parts>,
    member: Member,
    Query(params): Query<ListParams>,
) -> Result<Json<CountedPage<Item<JobView>>>, Problem> {
    let sort = params.sort.unwrap_or_default();
    let request = PageParams { limit: params.limit, cursor: params.cursor }.sorted(sort)?;
    let fields = Fields::of::<JobView>(params.fields.as_ref())?;
    let mut checks = api::Checks::default();
    checks.text("application", params.application.as_deref());
    checks.text("group", params.group.as_deref());
    checks.finish()?;
    let filter = Filter {
        states: params.state.as_deref().unwrap_or_default(),
        kind: params.kind,
        level: params.level,
        application: params.application.as_deref(),
        group: params.group.as_deref(),
        req_no: params.req_no,
    };
    let list = List { tenant: member.tenant, filter: &filter, sort };
    let mut tx = parts.db.tenant(member.tenant).await?;
    let jobs = list.page(&mut tx, &request).await?;
    let total = if params.include.is_some() { Some(list.total(&mut tx).await?) } else { None };
    let mut progress = if fields.has("progress") {
        latest_progress(&parts, tx, member.tenant, &jobs.items).await?
    } else {
        HashMap::new()
    };
    let views = jobs.map(|job| {
        let progress = progress.remove(&job.id).map(|report| report.progress);
        fields.select(JobView::new(job, progress))
    });
    Ok(Json(CountedPage::new(views, total)))
}

/// Returns the progress of the jobs that have an open attempt. Ends the transaction, as the cache is queried.
async fn latest_progress(
    parts: &Parts,
    mut tx: db::Tx,
    tenant: TenantId,
    jobs: &[Job],
) -> Result<HashMap<JobId, Report>, Problem> {
    let open: Vec<&Job> = jobs.iter().filter(|job| job.status.fence().is_some()).collect();
    let ids: Vec<JobId> = open.iter().map(|job| job.id).collect();
    let mut stored = store::progress_of(&mut tx, tenant, &ids).await?;
    drop(tx);
    let questions = open.iter().map(|job| question(job, stored.remove(&(job.id, job.attempts))));
    let latest = parts.reports.latest(questions.collect()).await;
    Ok(ids.into_iter().zip(latest).filter_map(|(id, report)| Some((id, report?))).collect())
}

/// Submits a job.
#[utoipa::path(
    post, path = "/v1/jobs", operation_id = "create_job", tag = "jobs",
    params(IdempotencyKey),
    request_body = NewJob,
    responses((status = 202, description = "The new job", body = JobView)),
    extensions(("x-problems" = json!([
        ProblemType::NoPool, ProblemType::TenantSuspended, ProblemType::ReqNoReused, ProblemType::InputMissing,
        ProblemType::ModelMissing, ProblemType::TooManyJobs,
    ])))
)]
async fn create_job(
    State(parts): State<Parts>,
    member: Member,
    key: IdempotencyKey,
    urgency: NamedUrgency,
    Json(mut new): Json<NewJob>,
) -> Result<Reply, Problem> {
    member.writer()?;
    new.set_urgency(urgency);
    let tenant = member.tenant;
    inputs::confirm(&parts.artifact, tenant, std::slice::from_ref(&new)).await?;
    gather::submit(&parts.submissions, tenant, key, new).await
}

/// Submits up to 1,000 jobs. Each is accepted or refused by itself.
#[utoipa::path(
    post, path = "/v1/job-batches", operation_id = "create_job_batch", tag = "jobs",
    params(IdempotencyKey),
    request_body = NewJobBatch,
    responses((status = 202, description = "The result for each job", body = JobBatch)),
    extensions(("x-problems" = json!([ProblemType::NoPool, ProblemType::TenantSuspended])))
)]
async fn create_job_batch(
    State(parts): State<Parts>,
    member: Member,
    key: IdempotencyKey,
    urgency: NamedUrgency,
    Json(mut new): Json<NewJobBatch>,
) -> Result<Reply, Problem> {
    member.writer()?;
    new.jobs.iter_mut().for_each(|job| job.set_urgency(urgency));
    let mut checks = api::Checks::default();
    checks.within("/jobs", new.jobs.len(), 1, MAX_BATCH);
    checks.finish()?;
    let tenant = member.tenant;
    inputs::confirm(&parts.artifact, tenant, &new.jobs).await?;
    let reply = key
        .once(parts.db.tenant(tenant).await?, tenant, &new, async |tx| {
            let jobs: Vec<&NewJob> = new.jobs.iter().collect();
            let results = change::submit_each(tx, &parts.open_jobs, tenant, &jobs, (parts.clock)()).await?;
            let item = |result: Result<Job, Problem>| match result {
                Ok(job) => JobBatchItem { job: Some(JobView::new(job, None)), problem: None },
                Err(problem) => JobBatchItem { job: None, problem: Some(problem.into()) },
            };
            Reply::json(StatusCode::ACCEPTED, &JobBatch { items: results.into_iter().map(item).collect() })
        })
        .await?;
    parts.submitted.send_replace(());
    Ok(reply)
}

/// Returns a job.
#[utoipa::path(
    get, path = "/v1/jobs/{id}", operation_id = "get_job", tag = "jobs",
    params(("id" = JobId, Path, description = "Job id")),
    responses((status = 200, description = "The job", body = JobView))
)]
async fn get_job(
    State(parts): State<Parts>,
    member: Member,
    Path(id): Path<JobId>,
) -> Result<(ETag, Json<JobView>), Problem> {
    let mut tx = parts.db.tenant(member.tenant).await?;
    let job = store::find(&mut tx, member.tenant, id).await?.ok_or_else(Problem::not_found)?;
    let stored = stored_progress(&mut tx, &job).await?;
    drop(tx);
    let questions = job.status.fence().map(|_| question(&job, stored)).into_iter().collect();
    let progress = parts.reports.latest(questions).await.pop().flatten().map(|report| report.progress);
    Ok((ETag(job.generation), Json(JobView::new(job, progress))))
}

/// Changes the priority, level or deadline of a job that waits.
#[utoipa::path(
    patch, path = "/v1/jobs/{id}", operation_id = "update_job", tag = "jobs",
    params(("id" = JobId, Path, description = "Job id"), IfMatch, IdempotencyKey),
    request_body = JobChange,
    responses((status = 200, description = "The changed job", body = JobView)),
    extensions(("x-problems" = json!([ProblemType::JobNotQueued, ProblemType::JobEnded])))
)]
async fn update_job(
    State(parts): State<Parts>,
    member: Member,
    Path(id): Path<JobId>,
    key: IdempotencyKey,
    if_match: IfMatch,
    Json(change): Json<JobChange>,
) -> Result<Reply, Problem> {
    member.writer()?;
    let tenant = member.tenant;
    let reply = key
        .once(parts.db.tenant(tenant).await?, tenant, &change, async |tx| {
            let job = store::lock(tx, tenant, id).await?.ok_or_else(Problem::not_found)?;
            if_match.check(job.generation)?;
            change::update(tx, &job, &change, (parts.clock)()).await?;
            reply_changed(tx, tenant, id, StatusCode::OK).await
        })
        .await?;
    parts.submitted.send_replace(());
    Ok(reply)
}

/// Cancels a job. A job that waits ends at once; for a running job, the worker is told to stop. Cancelling again has no
/// effect.
#[utoipa::path(
    post, path = "/v1/jobs/{id}/cancel", operation_id = "cancel_job", tag = "jobs",
    params(("id" = JobId, Path, description = "Job id"), IdempotencyKey),
    responses((status = 202, description = "The job, cancelled or being cancelled", body = JobView)),
    extensions(("x-problems" = json!([ProblemType::JobEnded])))
)]
async fn cancel_job(
    State(parts): State<Parts>,
    member: Member,
    Path(id): Path<JobId>,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    member.writer()?;
    let tenant = member.tenant;
    let reply = key
        .once(parts.db.tenant(tenant).await?, tenant, &(), async |tx| {
            let job = store::lock(tx, tenant, id).await?.ok_or_else(Problem::not_found)?;
            change::cancel(tx, &job).await?;
            reply_changed(tx, tenant, id, StatusCode::ACCEPTED).await
        })
        .await?;
    parts.submitted.send_replace(());
    parts.assigned.send_replace(());
    Ok(reply)
}

/// Explains why a job waits: the first rule that stops it, its position, and when it is expected to start.
#[utoipa::path(
    get, path = "/v1/jobs/{id}/explanation", operation_id = "get_job_explanation", tag = "jobs",
    params(("id" = JobId, Path, description = "Job id")),
    responses((status = 200, description = "The explanation", body = JobExplanation))
)]
async fn get_job_explanation(
    State(parts): State<Parts>,
    member: Member,
    Path(id): Path<JobId>,
) -> Result<Json<JobExplanation>, Problem> {
    let mut tx = parts.db.tenant(member.tenant).await?;
    let job = store::find(&mut tx, member.tenant, id).await?.ok_or_else(Problem::not_found)?;
    drop(tx);
    if job.status.state() != JobState::Queued {
        return Ok(Json(JobExplanation::none(id, job.status.state())));
    }
    let found = parts.views.explain(job.pool, id).await.map_err(Problem::internal)?;
    Ok(Json(match found {
        Some(found) => {
            let elsewhere = elsewhere::find(&parts, &job, &found).await?;
            let mut told = JobExplanation::new(id, &found, elsewhere);
            if matches!(found.explanation.waiting, Waiting::Held(Hold::BudgetExhausted)) {
                let mut tx = parts.db.tenant(member.tenant).await?;
                told.until = budget::renews_at(&mut tx, member.tenant).await?;
            }
            told
        }
        // it has been assigned meanwhile
        None => JobExplanation::none(id, job.status.state()),
    }))
}

//! `/v1/jobs/{id}/events`, as a list and as a stream.

use api::{Json, LastEventId, Page, PageParams, Path, Problem, ProblemType, Query, openapi::OpenApiRouter};
use auth::{HasAuth, Member};
use axum::{
    extract::{FromRef, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use ids::JobId;
use jobs_core::{
    event::{EventType, JobEvent},
    job::Job,
};
use serde::Deserialize;
use service::wants_stream;
use utoipa::IntoParams;
use utoipa_axum::routes;

use super::{Parts, store, stream};
use crate::job;

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(list_job_events))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct EventParams {
    /// Only events of this type. For lists.
    #[serde(rename = "type")]
    #[param(inline)]
    kind: Option<EventType>,
    /// Maximum number of items of a list.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// `next_cursor` of the previous page of a list.
    cursor: Option<String>,
    /// A stream starts after this `sequence`. The header `Last-Event-ID` takes precedence. Without both, it starts with
    /// the first event.
    after: Option<String>,
}

/// Lists or streams the events of a job.
///
/// With `Accept: text/event-stream` the response is a stream of server-sent events, oldest first, including
/// `job.progress`, until the job has ended; 204 if no more events can follow. Otherwise it is a list, newest first.
#[utoipa::path(
    get, path = "/v1/jobs/{id}/events", operation_id = "list_job_events", tag = "jobs",
    params(("id" = JobId, Path, description = "Job id"), EventParams, LastEventId),
    responses(
        (status = 200, description = "A page of events, or a stream of them", content(
            (Page<JobEvent> = "application/json"), (JobEvent = "text/event-stream")
        )),
        (status = 204, description = "The job has ended, and its last event was before this position"),
    ),
    extensions(("x-problems" = json!([ProblemType::TooManyStreams])))
)]
async fn list_job_events(
    State(parts): State<Parts>,
    member: Member,
    last: LastEventId,
    headers: HeaderMap,
    Path(id): Path<JobId>,
    Query(params): Query<EventParams>,
) -> Result<Response, Problem> {
    let mut tx = parts.db.tenant(member.tenant).await?;
    let job = job::find(&mut tx, member.tenant, id).await?.ok_or_else(Problem::not_found)?;
    if wants_stream(&headers) {
        drop(tx);
        if params.limit.is_some() || params.cursor.is_some() || params.kind.is_some() {
            return Err(Problem::invalid_field("query", "`type`, `limit` and `cursor` are for lists"));
        }
        let position = position(last, params.after, &job)?;
        if job.status.is_ended() && position == job.generation {
            return Ok(StatusCode::NO_CONTENT.into_response());
        }
        return stream::open(&parts, &member, id, position);
    }
    if params.after.is_some() {
        return Err(Problem::invalid_field("after", "is for streams; a list continues with `cursor`"));
    }
    let page = PageParams { limit: params.limit, cursor: params.cursor }.request()?;
    let events = store::list(&mut tx, member.tenant, id, params.kind, page.after, page.rows()).await?;
    Ok(Json(page.page(events, |event| event.sequence)).into_response())
}

/// The number of the event after which a stream begins.
fn position(last: LastEventId, after: Option<String>, job: &Job) -> Result<i64, Problem> {
    let (name, text) = match (last.0, after) {
        (Some(id), _) => ("Last-Event-ID", id),
        (None, Some(after)) => ("after", after),
        (None, None) => return Ok(0),
    };
    let sequence = text.parse().ok().filter(|sequence| (0..=job.generation).contains(sequence));
    sequence.ok_or_else(|| Problem::invalid_field(name, "must be the `sequence` of an event of this job"))
}

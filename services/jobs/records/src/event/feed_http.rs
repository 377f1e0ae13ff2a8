//! `/v1/job-events`, as a list and as a stream; `/internal/v1/job-events`, for other services.

use api::{Json, LastEventId, Page, PageParams, Problem, ProblemType, Query, openapi::OpenApiRouter};
use auth::{Caller, HasAuth, Member};
use axum::{
    extract::{FromRef, State},
    http::HeaderMap,
    response::{IntoResponse, Response},
};
use events::Start;
use feed::{Changes, Cursor, FeedQuery};
use jobs_core::{
    event::{EventType, JobEvent},
    kind::Kind,
    status::JobState,
};
use serde::{Deserialize, Serialize};
use service::wants_stream;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::{
    Parts,
    store::{self, Filter},
    tenant_stream,
};

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(list_tenant_job_events)).routes(routes!(list_job_event_feed))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct EventParams {
    /// Only events of this type.
    #[serde(rename = "type")]
    #[param(inline)]
    kind: Option<EventType>,
    /// Only events of jobs of this kind.
    #[serde(rename = "kind")]
    job_kind: Option<Kind>,
    /// Only events after which the job was in this state.
    state: Option<JobState>,
    /// Maximum number of items of a list.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// `next_cursor` of the previous page of a list.
    cursor: Option<String>,
    /// Start of a stream: after this `id` of a server-sent event, or `latest` for new events only. The header
    /// `Last-Event-ID` takes precedence. Without both, it starts with the oldest event that is kept.
    after: Option<String>,
}

/// Lists or streams the events of the tenant's jobs.
///
/// With `Accept: text/event-stream` the response is a stream of server-sent events, oldest first, until the token
/// expires. Otherwise it is a list, newest first.
#[utoipa::path(
    get, path = "/v1/job-events", operation_id = "list_tenant_job_events", tag = "jobs",
    params(EventParams, LastEventId),
    responses((status = 200, description = "A page of events, or a stream of them", content(
        (Page<JobEvent> = "application/json"), (JobEvent = "text/event-stream")
    ))),
    extensions(("x-problems" = json!([ProblemType::TooManyStreams])))
)]
async fn list_tenant_job_events(
    State(parts): State<Parts>,
    member: Member,
    last: LastEventId,
    headers: HeaderMap,
    Query(params): Query<EventParams>,
) -> Result<Response, Problem> {
    let filter = Filter { kind: params.kind, job_kind: params.job_kind, state: params.state };
    if wants_stream(&headers) {
        if params.limit.is_some() || params.cursor.is_some() {
            return Err(Problem::invalid_field("query", "`limit` and `cursor` are for lists"));
        }
        return tenant_stream::open(&parts, &member, filter, start(last, params.after)?).await;
    }
    if params.after.is_some() {
        return Err(Problem::invalid_field("after", "is for streams; a list continues with `cursor`"));
    }
    let page = PageParams { limit: params.limit, cursor: params.cursor }.request()?;
    let mut tx = parts.db.tenant(member.tenant).await?;
    let rows = store::list_of_tenant(&mut tx, member.tenant, filter, page.after, page.rows()).await?;
    Ok(Json(page.page(rows, |(id, _)| *id).map(|(_, event)| event)).into_response())
}

/// Returns where a stream begins.
fn start(last: LastEventId, after: Option<String>) -> Result<Start<Cursor>, Problem> {
    let parse = |text: &str| text.parse().ok().filter(|position| *position != Cursor::default());
    Start::of(last, after, parse, "must be the `id` of a server-sent event of this stream")
}

/// Events of all tenants after a cursor.
#[derive(Debug, Serialize, ToSchema)]
struct JobEventFeed {
    /// The events; those of one job in the order of their `sequence`.
    items: Vec<JobEvent>,
    /// Send it as `after` to get the events that follow. Store it in the same transaction as the effects of the events.
    next_cursor: String,
    /// Whether these are all events until now; false if more follow at once.
    complete: bool,
}

/// Returns events of all tenants after a cursor, and waits for the next if there are none.
#[utoipa::path(
    get, path = "/internal/v1/job-events", operation_id = "list_job_event_feed", tag = "internal",
    params(FeedQuery),
    responses((status = 200, description = "The events", body = JobEventFeed)),
)]
async fn list_job_event_feed(
    State(parts): State<Parts>,
    _: Caller,
    Query(query): Query<FeedQuery>,
) -> Result<Json<JobEventFeed>, Problem> {
    let (after, wait) = query.read(parts.stop.clone())?;
    let Changes { items, next_cursor, complete } =
        parts.hub.feed().changes::<JobEvent>(&after, &wait).await?;
    let items = items.into_iter().map(|item| item.change).collect();
    Ok(Json(JobEventFeed { items, next_cursor, complete }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_event_comes_before_the_parameter() {
        let start = |last: Option<&str>, after: Option<&str>| {
            start(LastEventId(last.map(str::to_owned)), after.map(str::to_owned))
        };
        assert!(matches!(start(None, None), Ok(Start::Oldest)));
        assert!(matches!(start(None, Some("latest")), Ok(Start::Latest)));
        let position: Cursor = "7:7:~9:9:~3".parse().unwrap();
        assert!(
            matches!(start(Some("7:7:~9:9:~3"), Some("latest")), Ok(Start::After(after)) if after == position)
        );
        for (last, after) in
            [(Some("latest"), None), (None, Some("3")), (None, Some("")), (Some("x"), Some("7:7:"))]
        {
            assert!(start(last, after).is_err(), "{last:?} {after:?}");
        }
    }
}

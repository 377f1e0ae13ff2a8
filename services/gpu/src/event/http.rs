//! `/v1/events` and `/v1/instances/{id}/events`, as lists and as streams; `/internal/v1/events`, for other services.

use api::{Json, LastEventId, Page, PageParams, Path, Problem, ProblemType, Query, openapi::OpenApiRouter};
use auth::{Caller, Member};
use axum::{
    extract::State,
    http::HeaderMap,
    response::{IntoResponse, Response},
};
use feed::{Changes, FeedQuery};
use ids::InstanceId;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use service::wants_stream;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::{
    model::{Event, EventType},
    store::{self, Filter},
    stream::{self, Start},
};
use crate::state::AppState;

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_events))
        .routes(routes!(list_instance_events))
        .routes(routes!(list_event_feed))
}

/// Filters of all events, and page or position.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct EventsQuery {
    /// Only events of this instance.
    instance_id: Option<InstanceId>,
    /// Only events of this type.
    #[serde(rename = "type")]
    #[param(inline)]
    kind: Option<EventType>,
    /// Maximum number of items of a list.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// `next_cursor` of the previous page of a list.
    cursor: Option<String>,
    /// Where a stream begins: after this `sequence`, or `latest` for new events only. The header `Last-Event-ID` comes
    /// first. Without either a stream begins with the oldest event that is kept.
    after: Option<String>,
}

/// Filter of an instance's events, and page or position.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct InstanceEventsQuery {
    /// Only events of this type.
    #[serde(rename = "type")]
    #[param(inline)]
    kind: Option<EventType>,
    /// Maximum number of items of a list.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// `next_cursor` of the previous page of a list.
    cursor: Option<String>,
    /// Where a stream begins: after this `sequence`, or `latest` for new events only. The header `Last-Event-ID` comes
    /// first. Without either a stream begins with the oldest event that is kept.
    after: Option<String>,
}

/// Lists or follows what happened to the tenant's instances.
///
/// With `Accept: text/event-stream` the response is a stream of server-sent events, oldest first, which goes on until the
/// token expires; otherwise a list, newest first. `docs/EVENTS.md` describes types, order and how to resume.
#[utoipa::path(
    get, path = "/v1/events", operation_id = "list_events", tag = "events",
    params(
        EventsQuery,
        LastEventId,
    ),
    responses((status = 200, description = "A page of events, or a stream of them", content(
        (Page<Event> = "application/json"), (Event = "text/event-stream")
    ))),
    extensions(("x-problems" = json!([ProblemType::EventsDeleted, ProblemType::TooManyStreams]))),
)]
async fn list_events(
    State(app): State<AppState>,
    member: Member,
    last: LastEventId,
    headers: HeaderMap,
    Query(query): Query<EventsQuery>,
) -> Result<Response, Problem> {
    let filter = Filter { instance: query.instance_id, kind: query.kind };
    let page = PageParams { limit: query.limit, cursor: query.cursor };
    let start = Position { last, after: query.after };
    answer(&app, &member, &headers, filter, &page, &start).await
}

/// Lists or follows what happened to an instance.
///
/// As `GET /v1/events`, for one instance. A deleted instance has its events until they are deleted with age.
#[utoipa::path(
    get, path = "/v1/instances/{id}/events", operation_id = "list_instance_events", tag = "events",
    params(
        ("id" = InstanceId, Path, description = "Instance id"),
        InstanceEventsQuery,
        LastEventId,
    ),
    responses((status = 200, description = "A page of events, or a stream of them", content(
        (Page<Event> = "application/json"), (Event = "text/event-stream")
    ))),
    extensions(("x-problems" = json!([
        ProblemType::NotFound, ProblemType::EventsDeleted, ProblemType::TooManyStreams
    ]))),
)]
async fn list_instance_events(
    State(app): State<AppState>,
    member: Member,
    last: LastEventId,
    headers: HeaderMap,
    Path(id): Path<InstanceId>,
    Query(query): Query<InstanceEventsQuery>,
) -> Result<Response, Problem> {
    let mut tx = app.db.tenant(member.tenant).await?;
    let is_known = store::is_known(&mut tx, member.tenant, id).await?;
    drop(tx);
    if !is_known {
        return Err(Problem::not_found());
    }
    let filter = Filter { instance: Some(id), kind: query.kind };
    let page = PageParams { limit: query.limit, cursor: query.cursor };
    let start = Position { last, after: query.after };
    answer(&app, &member, &headers, filter, &page, &start).await
}

async fn answer(
    app: &AppState,
    member: &Member,
    headers: &HeaderMap,
    filter: Filter,
    page: &PageParams,
    position: &Position,
) -> Result<Response, Problem> {
    if wants_stream(headers) {
        if page.limit.is_some() || page.cursor.is_some() {
            return Err(Problem::invalid_field(
                "query",
                "`limit` and `cursor` are for lists, not for streams",
            ));
        }
        return stream::open(app, member, filter, position.start()?).await;
    }
    if position.after.is_some() {
        return Err(Problem::invalid_field("after", "is for streams; a list continues with `cursor`"));
    }
    let request = page.request()?;
    let mut tx = app.db.tenant(member.tenant).await?;
    let rows = store::list(&mut tx, member.tenant, filter, request.after, request.rows()).await?;
    let page = request.page(rows, |event| event.sequence);
    Ok(Json(page.map(|event| event.view())).into_response())
}

/// Where the client wants a stream to begin.
struct Position {
    last: LastEventId,
    after: Option<String>,
}

impl Position {
    fn start(&self) -> Result<Start, Problem> {
        let (name, text) = match (&self.last.0, self.after.as_deref()) {
            (Some(id), _) => ("Last-Event-ID", id.as_str()),
            (None, Some("latest")) => return Ok(Start::Latest),
            (None, Some(after)) => ("after", after),
            (None, None) => return Ok(Start::Oldest),
        };
        let sequence = text.parse().ok().filter(|sequence| *sequence >= 0).map(Start::After);
        sequence.ok_or_else(|| Problem::invalid_field(name, "must be the `sequence` of an event"))
    }
}

/// Events of all tenants after a cursor.
#[derive(Debug, Serialize, ToSchema)]
struct EventFeed {
    /// The events; those of one tenant in the order of their `sequence`.
    #[schema(value_type = Vec<Event>)]
    items: Vec<Value>,
    /// Send it as `after` to get the events that follow. Store it in the transaction of what the events lead to.
    next_cursor: String,
    /// Whether these are all events until now; false if more follow at once.
    complete: bool,
}

/// Returns events of all tenants after a cursor, and waits for the next if there are none.
#[utoipa::path(
    get, path = "/internal/v1/events", operation_id = "list_event_feed", tag = "internal",
    params(FeedQuery),
    responses((status = 200, description = "The events", body = EventFeed)),
)]
async fn list_event_feed(
    State(app): State<AppState>,
    _: Caller,
    Query(query): Query<FeedQuery>,
) -> Result<Json<EventFeed>, Problem> {
    let (after, wait) = query.read(app.shutdown.clone())?;
    let Changes { items, next_cursor, complete } = app.events.feed().changes::<Value>(&after, &wait).await?;
    let items = items.iter().map(|item| store::shown(&item.change, item.at)).collect();
    Ok(Json(EventFeed { items, next_cursor, complete }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_event_comes_before_the_parameter() {
        let start = |last: Option<&str>, after: Option<&str>| {
            let last = LastEventId(last.map(str::to_owned));
            Position { last, after: after.map(str::to_owned) }.start()
        };
        assert_eq!(start(None, None).unwrap(), Start::Oldest);
        assert_eq!(start(None, Some("latest")).unwrap(), Start::Latest);
        assert_eq!(start(Some("7"), Some("3")).unwrap(), Start::After(7));
        assert_eq!(start(None, Some("0")).unwrap(), Start::After(0));
        for (id, after) in
            [(Some("x"), Some("3")), (Some("latest"), None), (None, Some("-1")), (None, Some(""))]
        {
            assert!(start(id, after).is_err(), "{id:?} {after:?}");
        }
    }
}

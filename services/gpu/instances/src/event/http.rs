//! `/v1/events` and `/v1/instances/{id}/events`, as lists and as streams; `/internal/v1/events`, for other services.

use api::{Json, LastEventId, Page, PageParams, Path, Problem, ProblemType, Query, openapi::OpenApiRouter};
use auth::{Caller, HasAuth, Member};
use axum::{
    extract::{FromRef, State},
    http::HeaderMap,
    response::{IntoResponse, Response},
};
use events::Start;
use feed::{Changes, FeedQuery};
use gpu_core::event::{Event, EventType};
use ids::InstanceId;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use service::wants_stream;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::{
    Parts,
    store::{self, Filter},
    stream,
};

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
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
    /// Start of a stream: after this `sequence`, or `latest` for new events only. The header `Last-Event-ID` takes
    /// precedence. Without both, a stream starts with the oldest event that is kept.
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
    /// Start of a stream: after this `sequence`, or `latest` for new events only. The header `Last-Event-ID` takes
    /// precedence. Without both, a stream starts with the oldest event that is kept.
    after: Option<String>,
}

/// Lists or streams the events of the tenant's instances.
///
/// With `Accept: text/event-stream` the response is a stream of server-sent events, oldest first, until the token
/// expires; otherwise a list, newest first. `docs/EVENTS.md` describes types, order and how to resume.
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
    State(app): State<Parts>,
    member: Member,
    last: LastEventId,
    headers: HeaderMap,
    Query(query): Query<EventsQuery>,
) -> Result<Response, Problem> {
    let filter = Filter { instance: query.instance_id, kind: query.kind };
    let page = PageParams { limit: query.limit, cursor: query.cursor };
    answer(&app, &member, &headers, filter, &page, (last, query.after)).await
}

/// Lists or streams the events of an instance.
///
/// Like `GET /v1/events`, for one instance. The events of a deleted instance can be read until they expire.
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
    State(app): State<Parts>,
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
    answer(&app, &member, &headers, filter, &page, (last, query.after)).await
}

async fn answer(
    app: &Parts,
    member: &Member,
    headers: &HeaderMap,
    filter: Filter,
    page: &PageParams,
    (last, after): (LastEventId, Option<String>),
) -> Result<Response, Problem> {
    if wants_stream(headers) {
        if page.limit.is_some() || page.cursor.is_some() {
            return Err(Problem::invalid_field(
                "query",
                "`limit` and `cursor` are for lists, not for streams",
            ));
        }
        let sequence = |text: &str| text.parse().ok().filter(|sequence| *sequence >= 0);
        let start = Start::of(last, after, sequence, "must be the `sequence` of an event")?;
        return stream::open(app, member, filter, start).await;
    }
    if after.is_some() {
        return Err(Problem::invalid_field("after", "is for streams; a list continues with `cursor`"));
    }
    let request = page.request()?;
    let mut tx = app.db.tenant(member.tenant).await?;
    let rows = store::list(&mut tx, member.tenant, filter, request.after, request.rows()).await?;
    let page = request.page(rows, |event| event.sequence);
    Ok(Json(page.map(|event| event.view())).into_response())
}

/// Events of all tenants after a cursor.
#[derive(Debug, Serialize, ToSchema)]
struct EventFeed {
    /// The events; those of one tenant in the order of their `sequence`.
    #[schema(value_type = Vec<Event>)]
    items: Vec<Value>,
    /// Send it as `after` to get the events that follow. Store it in the same transaction as the effects of the events.
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
    State(app): State<Parts>,
    _: Caller,
    Query(query): Query<FeedQuery>,
) -> Result<Json<EventFeed>, Problem> {
    let (after, wait) = query.read(app.shutdown.clone())?;
    let Changes { items, next_cursor, complete } = app.hub.feed().changes::<Value>(&after, &wait).await?;
    let items = items.iter().map(|item| store::shown(&item.change, item.at)).collect();
    Ok(Json(EventFeed { items, next_cursor, complete }))
}

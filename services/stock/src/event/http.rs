//! `/v1/stock-events`.

use api::{LastEventId, Problem, ProblemType, Query, openapi::OpenApiRouter};
use auth::{AuthState, HasAuth, User};
use axum::{
    extract::{FromRef, State},
    http::HeaderMap,
    response::Response,
};
use events::{Events, Reader, StreamQuery};
use service::wants_stream;
use tokio_util::sync::CancellationToken;
use utoipa_axum::routes;

use super::model::StockEvent;

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    AuthState: FromRef<S>,
    CancellationToken: FromRef<S>,
    Events: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(follow_stock_events))
}

/// Streams changes of the stock.
///
/// The response is a stream of server-sent events, oldest first, until the token expires. Events are kept for a day.
/// Administrators get each change of a unit or operation; others only the specification and datacenter of a change.
/// `docs/EVENTS.md` describes order and how to resume.
#[utoipa::path(get, path = "/v1/stock-events", operation_id = "follow_stock_events", tag = "stock",
    params(StreamQuery, LastEventId),
    responses((status = 200, description = "Events", content((StockEvent = "text/event-stream")))),
    extensions(("x-problems" = json!([
        ProblemType::InvalidField, ProblemType::EventsDeleted, ProblemType::TooManyStreams
    ]))),
)]
async fn follow_stock_events(
    State(auth): State<AuthState>,
    State(stop): State<CancellationToken>,
    State(events): State<Events>,
    User(caller): User,
    last: LastEventId,
    headers: HeaderMap,
    Query(query): Query<StreamQuery>,
) -> Result<Response, Problem> {
    if !wants_stream(&headers) {
        return Err(Problem::invalid_field("Accept", "must be `text/event-stream`"));
    }
    let view = if caller.admin {
        (Reader::Administrators, "stock_event_feed")
    } else {
        (Reader::Everybody, "stock_change_feed")
    };
    events.stream(&auth.verifier, &caller, stop, view, (last, query)).await
}

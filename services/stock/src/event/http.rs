//! `/v1/stock-events`.

use api::{LastEventId, Problem, ProblemType, Query, openapi::OpenApiRouter};
use auth::{HasAuth as _, User};
use axum::{extract::State, http::HeaderMap, response::Response};
use events::{Reader, StreamQuery};
use service::wants_stream;
use utoipa_axum::routes;

use super::model::StockEvent;
use crate::AppState;

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(follow_stock_events))
}

/// Follows the stock.
///
/// The response is a stream of server-sent events, oldest first, which goes on until the token expires. Events are kept for a day.
/// Administrators get each change of a unit and of an operation; others of which specification the stock has changed, and where.
/// `docs/EVENTS.md` describes order and how to resume.
#[utoipa::path(get, path = "/v1/stock-events", operation_id = "follow_stock_events", tag = "stock",
    params(StreamQuery, LastEventId),
    responses((status = 200, description = "Events", content((StockEvent = "text/event-stream")))),
    extensions(("x-problems" = json!([
        ProblemType::InvalidField, ProblemType::EventsDeleted, ProblemType::TooManyStreams
    ]))),
)]
async fn follow_stock_events(
    State(state): State<AppState>,
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
    let (verifier, stop) = (&state.auth().verifier, state.shutdown.clone());
    state.events.stream(verifier, &caller, stop, view, (last, query)).await
}

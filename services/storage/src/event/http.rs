//! `/v1/storage-events`.

use api::{LastEventId, Problem, ProblemType, Query, openapi::OpenApiRouter};
use auth::{HasAuth as _, Member};
use axum::{extract::State, http::HeaderMap, response::Response};
use events::{Reader, StreamQuery};
use service::wants_stream;
use utoipa_axum::routes;

use super::{EVENTS, model::StorageEvent};
use crate::state::AppState;

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(follow_storage_events))
}

/// Follows what happens to the tenant's storages, and to the operations on them.
///
/// The response is a stream of server-sent events, oldest first, which goes on until the token expires. Events are kept for a
/// week. `docs/EVENTS.md` describes order and how to resume.
#[utoipa::path(
    get, path = "/v1/storage-events", operation_id = "follow_storage_events", tag = "storages",
    params(StreamQuery, LastEventId),
    responses((status = 200, description = "Events", content((StorageEvent = "text/event-stream")))),
    extensions(("x-problems" = json!([
        ProblemType::InvalidField, ProblemType::EventsDeleted, ProblemType::TooManyStreams
    ])))
)]
async fn follow_storage_events(
    State(state): State<AppState>,
    member: Member,
    last: LastEventId,
    headers: HeaderMap,
    Query(query): Query<StreamQuery>,
) -> Result<Response, Problem> {
    if !wants_stream(&headers) {
        return Err(Problem::invalid_field("Accept", "must be `text/event-stream`"));
    }
    let (verifier, stop) = (&state.auth().verifier, state.stop.clone());
    let view = (Reader::Tenant(member.tenant), EVENTS.table);
    state.events.stream(verifier, &member.principal, stop, view, (last, query)).await
}

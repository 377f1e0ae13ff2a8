//! `/v1/storage-events`.

use api::{LastEventId, Problem, ProblemType, Query, openapi::OpenApiRouter};
use auth::{AuthState, HasAuth, Member};
use axum::{
    extract::{FromRef, State},
    http::HeaderMap,
    response::Response,
};
use events::{Events, Reader, StreamQuery};
use service::wants_stream;
use tokio_util::sync::CancellationToken;
use utoipa_axum::routes;

use super::{EVENTS, model::StorageEvent};

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    AuthState: FromRef<S>,
    CancellationToken: FromRef<S>,
    Events: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(follow_storage_events))
}

/// Streams the events of the tenant's storages, and of the operations on them.
///
/// The response is a stream of server-sent events, oldest first, until the token expires. Events are kept for a week.
/// `docs/EVENTS.md` describes order and how to resume.
#[utoipa::path(
    get, path = "/v1/storage-events", operation_id = "follow_storage_events", tag = "storages",
    params(StreamQuery, LastEventId),
    responses((status = 200, description = "Events", content((StorageEvent = "text/event-stream")))),
    extensions(("x-problems" = json!([
        ProblemType::InvalidField, ProblemType::EventsDeleted, ProblemType::TooManyStreams
    ])))
)]
async fn follow_storage_events(
    State(auth): State<AuthState>,
    State(stop): State<CancellationToken>,
    State(events): State<Events>,
    member: Member,
    last: LastEventId,
    headers: HeaderMap,
    Query(query): Query<StreamQuery>,
) -> Result<Response, Problem> {
    if !wants_stream(&headers) {
        return Err(Problem::invalid_field("Accept", "must be `text/event-stream`"));
    }
    let view = (Reader::Tenant(member.tenant), EVENTS.table);
    events.stream(&auth.verifier, &member.principal, stop, view, (last, query)).await
}

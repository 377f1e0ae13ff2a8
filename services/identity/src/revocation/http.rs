//! `/internal/v1/revocations`, for the other services.

use api::{Json, Problem, Query, openapi::OpenApiRouter};
use auth::{Caller, Revocation};
use axum::extract::State;
use feed::{Changes, FeedQuery};
use utoipa_axum::routes;

use crate::state::AppState;

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_revocations))
}

/// Returns the revocations of the last day after a cursor, and waits for the next if there are none.
#[utoipa::path(
    get, path = "/internal/v1/revocations", operation_id = "list_revocations", tag = "internal",
    params(FeedQuery),
    responses((status = 200, description = "The revocations", body = Changes<Revocation>)),
)]
async fn list_revocations(
    State(state): State<AppState>,
    _: Caller,
    Query(params): Query<FeedQuery>,
) -> Result<Json<Changes<Revocation>>, Problem> {
    let (after, wait) = params.read(state.shutdown.clone())?;
    Ok(Json(state.revocations.changes(&after, &wait).await?))
}

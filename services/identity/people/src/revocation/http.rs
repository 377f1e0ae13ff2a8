//! `/internal/v1/revocations`, for the other services.

use api::{Json, Problem, Query, openapi::OpenApiRouter};
use auth::{Caller, HasAuth, Revocation};
use axum::extract::{FromRef, State};
use feed::{Changes, Feed, FeedQuery};
use tokio_util::sync::CancellationToken;
use utoipa_axum::routes;

pub fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Feed: FromRef<S>,
    CancellationToken: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(list_revocations))
}

/// Returns the revocations of the last day after a cursor. Waits for the next one if there are none.
#[utoipa::path(
    get, path = "/internal/v1/revocations", operation_id = "list_revocations", tag = "internal",
    params(FeedQuery),
    responses((status = 200, description = "The revocations", body = Changes<Revocation>)),
)]
async fn list_revocations(
    State(feed): State<Feed>,
    State(stop): State<CancellationToken>,
    _: Caller,
    Query(params): Query<FeedQuery>,
) -> Result<Json<Changes<Revocation>>, Problem> {
    let (after, wait) = params.read(stop)?;
    Ok(Json(feed.changes(&after, &wait).await?))
}

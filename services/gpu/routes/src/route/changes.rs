//! `/internal/v1/route-changes`: which routes the gateway must read again. Triggers on instances and tenants publish them.

use std::time::Duration;

use api::{Json, Problem, Query, openapi::OpenApiRouter};
use auth::{Caller, HasAuth};
use axum::extract::{FromRef, State};
use feed::{Changes, FeedQuery, Outbox};
use gpu_api::RouteChange;
use utoipa_axum::routes;

use super::Parts;

/// The feed of changes of all tenants' routes.
pub const OUTBOX: Outbox = Outbox { table: "route_changes", channel: "atelier_gpu_routes" };
/// How long changes are kept: longer than a gateway uses a route without asking again.
pub const RETENTION: Duration = Duration::from_secs(3600);

pub(super) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(list_route_changes))
}

/// Returns the changes of routes of the last hour after a cursor, and waits for the next if there are none.
#[utoipa::path(
    get, path = "/internal/v1/route-changes", operation_id = "list_route_changes", tag = "internal",
    params(FeedQuery),
    responses((status = 200, description = "The changes", body = Changes<RouteChange>)),
)]
async fn list_route_changes(
    State(app): State<Parts>,
    _: Caller,
    Query(query): Query<FeedQuery>,
) -> Result<Json<Changes<RouteChange>>, Problem> {
    let (after, wait) = query.read(app.shutdown.clone())?;
    Ok(Json(app.changes.changes(&after, &wait).await?))
}

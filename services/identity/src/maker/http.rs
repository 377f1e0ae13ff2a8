//! `/internal/v1/maker-checks`, for the other services.

use api::{Checks, Json, Problem, openapi::OpenApiRouter};
use auth::{Caller, MAX_MAKERS, MakerCheck, MakerStandings};
use axum::extract::State;
use utoipa_axum::routes;

use super::store;
use crate::state::AppState;

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(check_makers))
}

/// Says since when users and API keys have been able to make things in tenants. What somebody made who no longer can, or
/// could not for a while, ends. A suspension of the tenant changes nothing.
#[utoipa::path(
    post, path = "/internal/v1/maker-checks", operation_id = "check_makers", tag = "internal",
    request_body = MakerCheck,
    responses((status = 200, description = "The standing of each", body = MakerStandings)),
)]
async fn check_makers(
    State(state): State<AppState>,
    _: Caller,
    Json(check): Json<MakerCheck>,
) -> Result<Json<MakerStandings>, Problem> {
    let mut checks = Checks::default();
    let few = check.makers.len() <= MAX_MAKERS;
    checks.require(few, "/makers", format!("must have at most {MAX_MAKERS} entries"));
    checks.finish()?;
    let mut tx = state.db.worker().await?;
    let able_since = store::able_since(&mut tx, &check.makers, state.now()).await?;
    Ok(Json(MakerStandings { able_since }))
}

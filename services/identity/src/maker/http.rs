//! `/internal/v1/maker-checks`, for the other services.

use api::{Checks, Json, Problem, openapi::OpenApiRouter};
use auth::{Caller, HasAuth, MAX_MAKERS, MakerCheck, MakerStandings};
use axum::extract::{FromRef, State};
use db::Db;
use people::clock::Clock;
use utoipa_axum::routes;

use super::store;

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Db: FromRef<S>,
    Clock: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(check_makers))
}

/// Returns since when each maker (a user or an API key) has had the right to write in a tenant without interruption.
/// What a maker created before that time ends. The suspension of a tenant has no effect on this.
#[utoipa::path(
    post, path = "/internal/v1/maker-checks", operation_id = "check_makers", tag = "internal",
    request_body = MakerCheck,
    responses((status = 200, description = "The result for each maker", body = MakerStandings)),
)]
async fn check_makers(
    State(db): State<Db>,
    State(clock): State<Clock>,
    _: Caller,
    Json(check): Json<MakerCheck>,
) -> Result<Json<MakerStandings>, Problem> {
    let mut checks = Checks::default();
    let few = check.makers.len() <= MAX_MAKERS;
    checks.require(few, "/makers", format!("must have at most {MAX_MAKERS} entries"));
    checks.finish()?;
    let mut tx = db.worker().await?;
    let able_since = store::able_since(&mut tx, &check.makers, clock.now()).await?;
    Ok(Json(MakerStandings { able_since }))
}

//! `/internal/v1/revocations`, for the other services.

use std::time::Duration;

use api::{Json, Problem, Query};
use auth::{Caller, Revocation};
use axum::extract::State;
use feed::{Changes, Cursor, Wait};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::state::AppState;

/// Longest wait for a change, in seconds.
const MAX_WAIT: u32 = 20;

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_revocations))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Params {
    /// `next_cursor` of the previous response; the beginning if absent or empty.
    after: Option<String>,
    /// Seconds to wait for a change if there is none.
    #[param(minimum = 0, maximum = 20, default = 0)]
    wait_seconds: Option<u32>,
}

/// Returns the revocations of the last day after a cursor, and waits for the next if there are none.
#[utoipa::path(
    get, path = "/internal/v1/revocations", operation_id = "list_revocations", tag = "internal",
    params(Params),
    responses((status = 200, description = "The revocations", body = Changes<Revocation>)),
)]
async fn list_revocations(
    State(state): State<AppState>,
    _: Caller,
    Query(params): Query<Params>,
) -> Result<Json<Changes<Revocation>>, Problem> {
    let after: Cursor = params
        .after
        .unwrap_or_default()
        .parse()
        .map_err(|error: feed::InvalidCursor| Problem::invalid_field("after", error.to_string()))?;
    let seconds = params.wait_seconds.unwrap_or(0);
    if seconds > MAX_WAIT {
        return Err(Problem::invalid_field("wait_seconds", format!("must be at most {MAX_WAIT}")));
    }
    let wait = Wait { at_most: Duration::from_secs(seconds.into()), stop: state.shutdown.clone() };
    Ok(Json(state.revocations.changes(&after, &wait).await?))
}

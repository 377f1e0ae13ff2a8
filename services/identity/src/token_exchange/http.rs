//! `/internal/v1/token-exchanges`, for the gateway.

use api::{Json, Problem, ProblemType};
use auth::{ApiKey, Caller};
use axum::{
    extract::State,
    http::{HeaderName, header},
};
use secrecy::ExposeSecret;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::model::{TokenExchange, TokenGrant};
use crate::{api_key, error::Error, state::AppState};

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(create_token))
}

/// Exchanges an API key for an access token with the rights that it has now.
#[utoipa::path(
    post, path = "/internal/v1/token-exchanges", operation_id = "create_token", tag = "internal",
    request_body = TokenExchange,
    responses((status = 200, description = "The token", body = TokenGrant)),
    extensions(("x-problems" = json!([ProblemType::ApiKeyInvalid, ProblemType::TenantSuspended]))),
)]
async fn create_token(
    State(state): State<AppState>,
    _: Caller,
    Json(request): Json<TokenExchange>,
) -> Result<([(HeaderName, &'static str); 1], Json<TokenGrant>), Problem> {
    let key = ApiKey::parse(request.credential.expose_secret()).ok_or(Error::ApiKeyInvalid)?;
    let grant = api_key::exchange(&state, &key, request.client_address).await?;
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(grant)))
}

//! `/internal/v1/token-exchanges`, for the gateway.

use api::{Json, Problem, ProblemType, openapi::OpenApiRouter};
use auth::{ApiKey, Caller, SessionSecret};
use axum::{
    extract::State,
    http::{HeaderName, header},
};
use secrecy::ExposeSecret;
use utoipa_axum::routes;

use super::model::{TokenExchange, TokenGrant};
use crate::{api_key, error::Error, session, state::AppState};

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(create_token))
}

/// Exchanges an API key, or the secret in the console's cookie, for an access token with the rights that it has now.
#[utoipa::path(
    post, path = "/internal/v1/token-exchanges", operation_id = "create_token", tag = "internal",
    request_body = TokenExchange,
    responses((status = 200, description = "The token", body = TokenGrant)),
    extensions(("x-problems" = json!([ProblemType::ApiKeyInvalid, ProblemType::SessionEnded, ProblemType::TenantSuspended]))),
)]
async fn create_token(
    State(state): State<AppState>,
    _: Caller,
    Json(request): Json<TokenExchange>,
) -> Result<([(HeaderName, &'static str); 1], Json<TokenGrant>), Problem> {
    let (credential, client) = (request.credential.expose_secret(), request.client_address);
    let grant = match SessionSecret::parse(credential) {
        Some(secret) => session::exchange(&state, &secret, client).await?,
        None => {
            let key = ApiKey::parse(credential).ok_or(Error::ApiKeyInvalid)?;
            api_key::exchange(&state, &key, client).await?
        }
    };
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(grant)))
}

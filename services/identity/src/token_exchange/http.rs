//! `/internal/v1/token-exchanges`, for the gateway.

use api::{Json, Problem, ProblemType, openapi::OpenApiRouter};
use auth::{ApiKey, Caller, HasAuth, SessionSecret};
use axum::{
    extract::{FromRef, State},
    http::{HeaderName, header},
};
use identity_api::{TokenExchange, TokenGrant};
use people::session::{self, Sessions};
use secrecy::ExposeSecret;
use utoipa_axum::routes;

use crate::api_key::{self, ApiKeys};

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    ApiKeys: FromRef<S>,
    Sessions: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(create_token))
}

/// Exchanges an API key, or the secret in the console's cookie, for an access token with its current rights.
#[utoipa::path(
    post, path = "/internal/v1/token-exchanges", operation_id = "create_token", tag = "internal",
    request_body = TokenExchange,
    responses((status = 200, description = "The token", body = TokenGrant)),
    extensions(("x-problems" = json!([ProblemType::ApiKeyInvalid, ProblemType::SessionEnded, ProblemType::TenantSuspended]))),
)]
async fn create_token(
    State(keys): State<ApiKeys>,
    State(sessions): State<Sessions>,
    _: Caller,
    Json(request): Json<TokenExchange>,
) -> Result<([(HeaderName, &'static str); 1], Json<TokenGrant>), Problem> {
    let (credential, client) = (request.credential.expose_secret(), request.client_address);
    let grant = match SessionSecret::parse(credential) {
        Some(secret) => session::exchange(&sessions, &secret, client).await?,
        None => {
            let key = ApiKey::parse(credential).ok_or(api_key::Error::Invalid)?;
            api_key::exchange(&keys, &key, client).await?
        }
    };
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(grant)))
}

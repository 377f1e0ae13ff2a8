//! API keys over HTTP.

use api::{
    IdempotencyKey, Json, Page, PageParams, Path, Problem, ProblemType, Query, Reply, openapi::OpenApiRouter,
};
use auth::{Principal, Role, User};
use axum::{extract::State, http::StatusCode};
use ids::{ApiKeyId, TenantId, UserId};
use serde_json::json;
use utoipa_axum::routes;

use super::{
    changes,
    model::{ApiKey, NewApiKey},
    store,
};
use crate::{error::Error, state::AppState};

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_api_keys, create_api_key))
        .routes(routes!(get_api_key, delete_api_key))
}

/// Begins a transaction that sees the keys that the caller may read, and returns their tenant and, unless the caller is
/// an owner, the only user.
async fn readable(
    state: &AppState,
    caller: &Principal,
) -> sqlx::Result<(db::Tx, Option<TenantId>, Option<UserId>)> {
    match caller.tenant {
        Some((tenant, Role::Owner)) => Ok((state.db.tenant(tenant).await?, Some(tenant), None)),
        tenant => {
            let tx = state.db.user(caller.user).await?;
            Ok((tx, tenant.map(|(tenant, _)| tenant), Some(caller.user)))
        }
    }
}

/// Lists the API keys for the tenant of the token, oldest first: to owners those of all members, to others their own.
#[utoipa::path(
    get, path = "/v1/api-keys", operation_id = "list_api_keys", tag = "API keys", params(PageParams),
    responses((status = 200, description = "One page", body = Page<ApiKey>)),
)]
async fn list_api_keys(
    State(state): State<AppState>,
    User(principal): User,
    Query(page): Query<PageParams>,
) -> Result<Json<Page<ApiKey>>, Problem> {
    let asked = page.request()?;
    let (mut tx, tenant, user) = readable(&state, &principal).await?;
    let rows = store::list(&mut tx, tenant, user, asked.after, asked.rows()).await?;
    Ok(Json(asked.page(rows, |key| key.id)))
}

/// Creates an API key, which acts for the caller in the tenant of the token.
///
/// Send the key as `Authorization: Bearer …`. It has the role that its user has in the tenant at the time, and no more
/// than its scopes allow. The response has the key once, as `secret`; a repetition of the request has none. Keys survive a
/// change of the password; delete those that may have leaked. A key that is created with another key has no more scopes than
/// that, expires and ends with it at the latest, and counts against its requests per second as well.
#[utoipa::path(
    post, path = "/v1/api-keys", operation_id = "create_api_key", tag = "API keys", params(IdempotencyKey),
    request_body = NewApiKey,
    responses((status = 201, description = "The key", body = ApiKey)),
    extensions(("x-problems" = json!([ProblemType::TooManyApiKeys]))),
)]
async fn create_api_key(
    State(state): State<AppState>,
    User(principal): User,
    key: IdempotencyKey,
    Json(new): Json<NewApiKey>,
) -> Result<Reply, Problem> {
    new.check(state.now())?;
    let secret = auth::ApiKey::generate(aws_lc_rs::rand::fill)
        .map_err(|error| Error::Internal(anyhow::Error::from(error)))?;
    let mut replayed = true;
    let reply = key
        .once(state.db.user(principal.user).await?, principal.user, &new, async |tx| {
            let created = changes::create(tx, &principal, &new, &secret, state.now()).await?;
            replayed = false;
            let location = format!("/v1/api-keys/{}", created.id);
            Ok(Reply::json(StatusCode::CREATED, &created)?.location(location))
        })
        .await?;
    Ok(if replayed { reply } else { reply.once_only(json!({ "secret": secret.expose() })) })
}

/// Returns an API key. For its user, and for owners of its tenant.
#[utoipa::path(
    get, path = "/v1/api-keys/{id}", operation_id = "get_api_key", tag = "API keys",
    params(("id" = ApiKeyId, Path, description = "API key id")),
    responses((status = 200, description = "The key", body = ApiKey)),
)]
async fn get_api_key(
    State(state): State<AppState>,
    User(principal): User,
    Path(id): Path<ApiKeyId>,
) -> Result<Json<ApiKey>, Problem> {
    let (mut tx, tenant, user) = readable(&state, &principal).await?;
    store::find(&mut tx, tenant, user, id).await?.map(Json).ok_or_else(Problem::not_found)
}

/// Deletes an API key, and the keys that were created with it. For its user, and for owners of its tenant. Within a second it
/// gets 401 everywhere, and what was opened with it is closed.
#[utoipa::path(
    delete, path = "/v1/api-keys/{id}", operation_id = "delete_api_key", tag = "API keys",
    params(("id" = ApiKeyId, Path, description = "API key id"), IdempotencyKey),
    responses((status = 204, description = "Deleted")),
)]
async fn delete_api_key(
    State(state): State<AppState>,
    User(principal): User,
    Path(id): Path<ApiKeyId>,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    key.once(state.db.user(principal.user).await?, principal.user, &(), async |tx| {
        changes::delete(tx, &principal, id).await?;
        Ok(Reply::no_content())
    })
    .await
}

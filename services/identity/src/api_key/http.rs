//! API keys over HTTP.

use api::{
    IdempotencyKey, Json, Page, PageParams, Path, Problem, ProblemType, Query, Reply, openapi::OpenApiRouter,
};
use auth::{HasAuth, Principal, Role, User};
use axum::{
    extract::{FromRef, State},
    http::StatusCode,
};
use db::Db;
use ids::{ApiKeyId, TenantId, UserId};
use people::clock::Clock;
use serde_json::json;
use utoipa_axum::routes;

use super::{
    changes,
    model::{ApiKey, NewApiKey},
    store,
};

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Db: FromRef<S>,
    Clock: FromRef<S>,
{
    OpenApiRouter::new()
        .routes(routes!(list_api_keys, create_api_key))
        .routes(routes!(get_api_key, delete_api_key))
}

/// Begins a transaction that sees the keys that the caller may read, and returns their tenant and, unless the caller is
/// an owner, the only user.
async fn readable(db: &Db, caller: &Principal) -> sqlx::Result<(db::Tx, Option<TenantId>, Option<UserId>)> {
    match caller.tenant {
        Some((tenant, Role::Owner)) => Ok((db.tenant(tenant).await?, Some(tenant), None)),
        tenant => {
            let tx = db.user(caller.user).await?;
            Ok((tx, tenant.map(|(tenant, _)| tenant), Some(caller.user)))
        }
    }
}

/// Lists API keys of the token's tenant, oldest first. Owners see the keys of all members, other users only their own.
#[utoipa::path(
    get, path = "/v1/api-keys", operation_id = "list_api_keys", tag = "API keys", params(PageParams),
    responses((status = 200, description = "One page", body = Page<ApiKey>)),
)]
async fn list_api_keys(
    State(db): State<Db>,
    User(principal): User,
    Query(page): Query<PageParams>,
) -> Result<Json<Page<ApiKey>>, Problem> {
    let asked = page.request()?;
    let (mut tx, tenant, user) = readable(&db, &principal).await?;
    let rows = store::list(&mut tx, tenant, user, asked.after, asked.rows()).await?;
    Ok(Json(asked.page(rows, |key| key.id)))
}

/// Creates an API key, which acts for the caller in the tenant of the token.
///
/// Send the key as `Authorization: Bearer …`. It has the current role of its user in the tenant, restricted to its
/// scopes. The key is returned once, as `secret`; a replayed request returns no secret. A change of the password does
/// not end keys; delete those that may have leaked. A key that is created with another key can have only scopes of that
/// key and ends with it or earlier; its requests also count against the limit of that key.
#[utoipa::path(
    post, path = "/v1/api-keys", operation_id = "create_api_key", tag = "API keys", params(IdempotencyKey),
    request_body = NewApiKey,
    responses((status = 201, description = "The key", body = ApiKey)),
    extensions(("x-problems" = json!([ProblemType::TooManyApiKeys]))),
)]
async fn create_api_key(
    State(db): State<Db>,
    State(clock): State<Clock>,
    User(principal): User,
    key: IdempotencyKey,
    Json(new): Json<NewApiKey>,
) -> Result<Reply, Problem> {
    new.check(clock.now())?;
    let secret = auth::ApiKey::generate(aws_lc_rs::rand::fill).map_err(Problem::internal)?;
    let mut replayed = true;
    let reply = key
        .once(db.user(principal.user).await?, principal.user, &new, async |tx| {
            let created = changes::create(tx, &principal, &new, &secret, clock.now()).await?;
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
    State(db): State<Db>,
    User(principal): User,
    Path(id): Path<ApiKeyId>,
) -> Result<Json<ApiKey>, Problem> {
    let (mut tx, tenant, user) = readable(&db, &principal).await?;
    store::find(&mut tx, tenant, user, id).await?.map(Json).ok_or_else(Problem::not_found)
}

/// Deletes an API key, and the keys that were created with it. For its user, and for owners of its tenant. Within a
/// second, requests with it get 401 everywhere, and connections that it opened are closed.
#[utoipa::path(
    delete, path = "/v1/api-keys/{id}", operation_id = "delete_api_key", tag = "API keys",
    params(("id" = ApiKeyId, Path, description = "API key id"), IdempotencyKey),
    responses((status = 204, description = "Deleted")),
)]
async fn delete_api_key(
    State(db): State<Db>,
    User(principal): User,
    Path(id): Path<ApiKeyId>,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    key.once(db.user(principal.user).await?, principal.user, &(), async |tx| {
        changes::delete(tx, &principal, id).await?;
        Ok(Reply::no_content())
    })
    .await
}

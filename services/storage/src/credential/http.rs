//! Credentials over HTTP.

use api::{
    IdempotencyKey, Json, Page, PageParams, Path, Problem, ProblemType, Query, Reply, openapi::OpenApiRouter,
};
use auth::{HasAuth, Member};
use axum::{
    extract::{FromRef, State},
    http::StatusCode,
};
use db::Db;
use ids::StorageId;
use serde_json::json;
use utoipa_axum::routes;

use super::{
    issue::{self, Reserved},
    model::{Credential, NewCredential},
    store,
};
use crate::{
    object_store::{CREDENTIAL_PREFIX, KeyPair, OptionalObjectStore},
    storage,
};

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Db: FromRef<S>,
    OptionalObjectStore: FromRef<S>,
{
    OpenApiRouter::new()
        .routes(routes!(list_storage_credentials, create_storage_credential))
        .routes(routes!(delete_storage_credential))
        .routes(routes!(take_over_storage_credential))
}

/// Creates an access key for a bucket.
///
/// The secret is returned once: a replayed request returns none. If the response was lost, delete the key and create
/// another one. A key opens all buckets of the tenant. It ends with its maker: when the user is removed from the
/// tenant, disabled or becomes a viewer, or the API key with which it was created is deleted or expires. An owner can
/// take it over before that. An API key with a limit of requests cannot create access keys, since requests to the
/// object store are not counted.
#[utoipa::path(
    post, path = "/v1/storages/{id}/credentials", operation_id = "create_storage_credential",
    tag = "storages",
    params(("id" = StorageId, Path, description = "Storage id"), IdempotencyKey),
    responses((status = 201, description = "The access key", body = NewCredential)),
    extensions(("x-problems" = json!([
        ProblemType::ApiKeyLimited,
        ProblemType::NotABucket,
        ProblemType::StorageNotAvailable,
        ProblemType::TooManyCredentials,
        ProblemType::StorageDeleting,
        ProblemType::NoObjectStore,
    ])))
)]
async fn create_storage_credential(
    State(db): State<Db>,
    State(objects): State<OptionalObjectStore>,
    member: Member,
    Path(id): Path<StorageId>,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    member.writer()?;
    let (tenant, objects) = (member.tenant, objects.get()?);
    let pair = KeyPair::random(CREDENTIAL_PREFIX);
    let mut replayed = true;
    let reply = key
        .once(db.tenant(tenant).await?, tenant, &(), async |tx| {
            let bucket = issue::reserve(tx, tenant, id, &pair.access, &member.principal).await?;
            replayed = false;
            let body = NewCredential {
                access_key_id: pair.access.clone(),
                secret_access_key: None,
                bucket: bucket.object_name(),
                endpoint: objects.config.public().to_owned(),
                region: objects.config.region.clone(),
            };
            Reply::json(StatusCode::CREATED, &body)
        })
        .await?;
    if replayed {
        return Ok(reply);
    }
    let reserved = Reserved { tenant, storage: id, pair: &pair, idempotency_key: key.as_str() };
    reserved.create(&db, objects).await?;
    Ok(reply.once_only(json!({ "secret_access_key": pair.secret })))
}

/// Lists the access keys of a bucket, oldest first, without their secrets.
#[utoipa::path(
    get, path = "/v1/storages/{id}/credentials", operation_id = "list_storage_credentials",
    tag = "storages",
    params(("id" = StorageId, Path, description = "Storage id"), PageParams),
    responses((status = 200, description = "A page", body = Page<Credential>))
)]
async fn list_storage_credentials(
    State(db): State<Db>,
    member: Member,
    Path(id): Path<StorageId>,
    Query(params): Query<PageParams>,
) -> Result<Json<Page<Credential>>, Problem> {
    let page = params.request()?;
    let mut tx = db.tenant(member.tenant).await?;
    storage::find(&mut tx, member.tenant, id).await?.ok_or_else(Problem::not_found)?;
    let credentials = store::list(&mut tx, member.tenant, id, page.after.as_ref(), page.rows()).await?;
    Ok(Json(page.page(credentials, |one| (one.created_at, one.access_key_id.clone()))))
}

/// Takes over an access key: the caller, an owner, becomes its maker, and it ends with the caller's rights. Everyone
/// who knows its secret can still use it; to prevent that, replace it by a new one.
#[utoipa::path(
    post, path = "/v1/storages/{id}/credentials/{access_key_id}/take-over",
    operation_id = "take_over_storage_credential", tag = "storages",
    params(
        ("id" = StorageId, Path, description = "Storage id"),
        ("access_key_id" = String, Path, description = "Access key id"),
        IdempotencyKey,
    ),
    responses((status = 200, description = "The key", body = Credential)),
    extensions(("x-problems" = json!([ProblemType::ApiKeyLimited]))),
)]
async fn take_over_storage_credential(
    State(db): State<Db>,
    member: Member,
    Path((id, access)): Path<(StorageId, String)>,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    member.owner()?;
    let tenant = member.tenant;
    key.once(db.tenant(tenant).await?, tenant, &(), async |tx| {
        let taken = store::take_over(tx, tenant, id, &access, &member.principal).await?;
        Reply::json(StatusCode::OK, &taken.ok_or_else(Problem::not_found)?)
    })
    .await
}

/// Revokes an access key. It becomes invalid at once, or within seconds if the object store does not respond.
#[utoipa::path(
    delete, path = "/v1/storages/{id}/credentials/{access_key_id}",
    operation_id = "delete_storage_credential", tag = "storages",
    params(
        ("id" = StorageId, Path, description = "Storage id"),
        ("access_key_id" = String, Path, description = "Access key id"),
        IdempotencyKey,
    ),
    responses((status = 204, description = "The key is revoked")),
    extensions(("x-problems" = json!([ProblemType::NoObjectStore])))
)]
async fn delete_storage_credential(
    State(db): State<Db>,
    State(objects): State<OptionalObjectStore>,
    member: Member,
    Path((id, access)): Path<(StorageId, String)>,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    member.writer()?;
    let (tenant, objects) = (member.tenant, objects.get()?);
    let reply = key
        .once(db.tenant(tenant).await?, tenant, &(), async |tx| {
            issue::revoke(tx, tenant, id, &access).await?;
            Ok(Reply::no_content())
        })
        .await?;
    issue::remove(&db, objects, tenant, &access).await?;
    Ok(reply)
}

//! Credentials over HTTP.

use api::{IdempotencyKey, Json, Page, PageParams, Path, Problem, ProblemType, Query, Reply};
use auth::Member;
use axum::{extract::State, http::StatusCode};
use ids::{StorageId, TenantId};
use serde_json::json;
use sqlx::PgConnection;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    model::{Credential, NewCredential},
    store,
};
use crate::{
    app::App,
    object_store::{CREDENTIAL_PREFIX, KeyPair, ObjectStore, user_of},
    storage::{self, Storage},
    storage_spec::Kind,
};

/// Keys of one storage, at most.
const MOST_KEYS: i64 = 50;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list_storage_credentials, create_storage_credential))
        .routes(routes!(delete_storage_credential))
}

async fn bucket(tx: &mut PgConnection, tenant: TenantId, id: StorageId) -> Result<Storage, Problem> {
    let found = storage::lock(tx, tenant, id).await?.ok_or_else(Problem::not_found)?;
    if found.kind != Kind::Bucket {
        return Err(Problem::new(
            ProblemType::NotABucket,
            "Only buckets have keys; a volume is used by mounting it in an instance.",
        ));
    }
    Ok(found)
}

fn object_store(app: &App) -> Result<&ObjectStore, Problem> {
    app.object_store
        .as_ref()
        .ok_or_else(|| Problem::unavailable("The object store", "no object store is configured"))
}

/// Makes a new key pair for a bucket.
///
/// The secret is in the answer to the first request only: a repeated one with the same Idempotency-Key
/// answers without it. If the answer was lost, delete the key and make another. A key opens all buckets of
/// the tenant.
#[utoipa::path(
    post, path = "/v1/storages/{id}/credentials", operation_id = "create_storage_credential",
    tag = "storages",
    params(
        ("id" = StorageId, Path, description = "The storage"),
        ("Idempotency-Key" = String, Header, description = "New for each write"),
    ),
    responses(
        (status = 201, description = "The key pair", body = NewCredential),
        (status = "default", description = "Problem", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn create_storage_credential(
    State(app): State<App>,
    member: Member,
    Path(id): Path<StorageId>,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    member.writer()?;
    let tenant = member.tenant;
    let objects = object_store(&app)?;
    let scope = tenant.to_string();
    let pair = KeyPair::random(CREDENTIAL_PREFIX);
    let mut fresh = false;
    // the intent first: a key that a kill leaves half made is known, and removed
    let answer = key
        .once(app.db.tenant(tenant).await?, &scope, &(), async |tx| {
            let found = bucket(tx, tenant, id).await?;
            if !found.usable() {
                return Err(Problem::new(
                    ProblemType::StorageNotAvailable,
                    format!("The storage is {}.", found.phase.state().as_str()),
                ));
            }
            if store::count(tx, id).await? >= MOST_KEYS {
                return Err(Problem::new(
                    ProblemType::TooManyCredentials,
                    format!("A storage has at most {MOST_KEYS} keys."),
                ));
            }
            store::insert(tx, tenant, id, &pair.access).await?;
            fresh = true;
            let body = NewCredential {
                access_key_id: pair.access.clone(),
                secret_access_key: None,
                bucket: found.object_name(),
                endpoint: objects.config.public().to_owned(),
                region: objects.config.region.clone(),
            };
            Reply::json(StatusCode::CREATED, &body)
        })
        .await?;
    if !fresh {
        return Ok(answer);
    }
    let made = objects.put_key(&user_of(tenant), &pair).await;
    let mut tx = app.db.tenant(tenant).await?;
    if let Err(error) = made {
        store::order_away(&mut tx, tenant, id, &pair.access).await?;
        store::free_key(&mut tx, &scope, key.as_str()).await?;
        storage::wake(&mut tx, &[id]).await?;
        tx.commit().await?;
        return Err(Problem::unavailable("The object store", error));
    }
    let kept = store::activate(&mut tx, tenant, &pair.access).await?;
    tx.commit().await?;
    if !kept {
        // the order to delete may have passed this key by; what this leaves, the comparison finds
        if let Err(error) = objects.remove_key(&user_of(tenant), &pair.access).await {
            tracing::warn!(storage.id = %id, %error, "a key is not removed yet");
        }
        return Err(Problem::new(
            ProblemType::StorageDeleting,
            "It was ordered to be deleted while the key was made.",
        ));
    }
    Ok(answer.once_only(json!({ "secret_access_key": pair.secret })))
}

/// The keys of a bucket, oldest first, without their secrets.
#[utoipa::path(
    get, path = "/v1/storages/{id}/credentials", operation_id = "list_storage_credentials",
    tag = "storages",
    params(("id" = StorageId, Path, description = "The storage"), PageParams),
    responses(
        (status = 200, description = "A page", body = Page<Credential>),
        (status = "default", description = "Problem", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn list_storage_credentials(
    State(app): State<App>,
    member: Member,
    Path(id): Path<StorageId>,
    Query(page): Query<PageParams>,
) -> Result<Json<Page<Credential>>, Problem> {
    let asked = page.request()?;
    let mut tx = app.db.tenant(member.tenant).await?;
    storage::find(&mut tx, member.tenant, id).await?.ok_or_else(Problem::not_found)?;
    let rows = store::list(&mut tx, member.tenant, id, asked.after.clone(), asked.rows()).await?;
    Ok(Json(asked.page(rows, |one| (one.created_at, one.access_key_id.clone()))))
}

/// Removes a key. It stops working at once, or within seconds if the object store is away.
#[utoipa::path(
    delete, path = "/v1/storages/{id}/credentials/{access_key_id}",
    operation_id = "delete_storage_credential", tag = "storages",
    params(
        ("id" = StorageId, Path, description = "The storage"),
        ("access_key_id" = String, Path, description = "The key"),
        ("Idempotency-Key" = String, Header, description = "New for each write"),
    ),
    responses(
        (status = 204, description = "It is ordered away"),
        (status = "default", description = "Problem", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn delete_storage_credential(
    State(app): State<App>,
    member: Member,
    Path((id, access)): Path<(StorageId, String)>,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    member.writer()?;
    let tenant = member.tenant;
    let objects = object_store(&app)?;
    let answer = key
        .once(app.db.tenant(tenant).await?, tenant, &(), async |tx| {
            if !store::order_away(tx, tenant, id, &access).await? {
                return Err(Problem::not_found());
            }
            storage::wake(tx, &[id]).await?;
            Ok(Reply::no_content())
        })
        .await?;
    match objects.remove_key(&user_of(tenant), &access).await {
        Ok(()) => {
            let mut tx = app.db.tenant(tenant).await?;
            store::forget(&mut tx, &access).await?;
            tx.commit().await?;
        }
        // ordered is ordered: the reconciler goes on
        Err(error) => tracing::warn!(storage.id = %id, %error, "a key is not removed yet"),
    }
    app.nudge.notify_one();
    Ok(answer)
}

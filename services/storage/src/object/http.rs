//! `/internal/v1/buckets` and the output bucket of jobs. All calls are idempotent without an Idempotency-Key.

use std::time::Duration;

use api::{Checks, Json, Path, Problem, ProblemType, Query, audit, openapi::OpenApiRouter};
use auth::{Caller, HasAuth};
use axum::{
    extract::{FromRef, State},
    http::StatusCode,
};
use db::Db;
use ids::{StorageId, TenantId};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use storage_api::{Deletion, Objects, SignedUrl, StorageState, UrlKind, UrlRequest};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::{bucket, error::Error, staging};
use crate::{
    object_store::{Access, ObjectStore, OptionalObjectStore},
    storage::{self, ReasonCode, Storages},
};

/// How long a URL can be used.
const URL_LIFETIME: Duration = Duration::from_secs(900);
/// Prefix of all objects that services write. Others are the tenant's own.
const PREFIX: &str = "jobs/";
/// Bytes of a name: S3 allows 1,024, of which a staged object needs some for its bucket.
const MAX_NAME: usize = 900;

pub(super) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Db: FromRef<S>,
    OptionalObjectStore: FromRef<S>,
    Storages: FromRef<S>,
{
    OpenApiRouter::new()
        .routes(routes!(put_output_bucket))
        .routes(routes!(create_object_url))
        .routes(routes!(find_objects, delete_objects))
}

/// The output bucket of a tenant's jobs.
#[derive(Debug, Serialize, ToSchema)]
struct OutputBucket {
    /// Storage id of the bucket.
    id: StorageId,
    /// Its state. It can be used when it is `available` or `resizing`.
    state: StorageState,
    /// Why it is not available, or null.
    reason: Option<ReasonCode>,
}

/// Returns the output bucket of the tenant's jobs, creating it if necessary. A new bucket has the cheapest active
/// specification and 10 GiB, or the nearest size of that specification. It is an ordinary storage of the tenant.
#[utoipa::path(
    put, path = "/internal/v1/tenants/{id}/output-bucket", operation_id = "put_output_bucket", tag = "internal",
    params(("id" = TenantId, Path, description = "Tenant id")),
    responses((status = 200, description = "The bucket", body = OutputBucket)),
    extensions(("x-problems" = json!([
        ProblemType::NoObjectStore, ProblemType::NoBucketSpec, ProblemType::QuotaExceeded,
        ProblemType::TenantSuspended, ProblemType::BudgetExhausted, ProblemType::AllowanceExpired,
    ])))
)]
async fn put_output_bucket(
    State(storages): State<Storages>,
    State(objects): State<OptionalObjectStore>,
    _: Caller,
    audit: audit::Request,
    Path(owner): Path<TenantId>,
) -> Result<Json<OutputBucket>, Problem> {
    let mut tx = storages.db.tenant(owner).await?;
    let id = storage::output_bucket_id(owner);
    if let Some(storage) = storage::find(&mut tx, owner, id).await? {
        let reason = storage.phase.reason().map(|reason| reason.code);
        return Ok(Json(OutputBucket { id, state: storage.phase.state(), reason }));
    }
    drop(tx);
    objects.get()?;
    storages.budgets.check(owner).await?;
    let mut tx = storages.db.tenant(owner).await?;
    if storage::create_output_bucket(&mut tx, &storages.config, owner).await? {
        audit.record(&mut tx, StatusCode::OK, None, &()).await?;
    }
    tx.commit().await?;
    Ok(Json(OutputBucket { id, state: StorageState::Pending, reason: None }))
}

/// Signs a URL for one object of a bucket.
#[utoipa::path(
    post, path = "/internal/v1/buckets/{id}/urls", operation_id = "create_object_url", tag = "internal",
    params(("id" = StorageId, Path, description = "Storage id of the bucket")),
    request_body = UrlRequest,
    responses((status = 200, description = "The URL", body = SignedUrl)),
    extensions(("x-problems" = json!([
        ProblemType::NotABucket, ProblemType::StorageNotAvailable, ProblemType::TenantSuspended,
        ProblemType::NoObjectStore,
    ])))
)]
async fn create_object_url(
    State(db): State<Db>,
    State(objects): State<OptionalObjectStore>,
    _: Caller,
    Path(id): Path<StorageId>,
    Json(request): Json<UrlRequest>,
) -> Result<Json<SignedUrl>, Problem> {
    let mut checks = Checks::default();
    check_name(&mut checks, "/object", &request.object);
    checks.length("/content_type", &request.content_type, 100);
    let visible = request.content_type.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    checks.require(visible, "/content_type", "must be visible ASCII");
    checks.within("/bytes", request.bytes, 0, i64::MAX);
    checks.finish()?;
    let bucket = bucket::open(&db, objects.get()?, request.tenant_id, id).await?;
    let access = match request.kind {
        UrlKind::Upload | UrlKind::Stage => {
            Access::Upload { content_type: request.content_type, bytes: request.bytes }
        }
        UrlKind::Download => {
            let file_name = request.object.rsplit('/').next().unwrap_or_default();
            Access::Download { content_type: request.content_type, file_name: file_name.to_owned() }
        }
    };
    let signed = match request.kind {
        UrlKind::Stage => {
            let staging = staging::open(&db, bucket.objects).await?;
            let object = staging::name(id, &request.object);
            bucket.objects.sign_url(&staging.key, &staging.name, &object, access, URL_LIFETIME).await
        }
        UrlKind::Upload | UrlKind::Download => {
            bucket.objects.sign_url(&bucket.key, &bucket.name, &request.object, access, URL_LIFETIME).await
        }
    };
    let lifetime = SignedDuration::try_from(URL_LIFETIME).unwrap_or_default();
    Ok(Json(SignedUrl { url: signed?, expires_at: now() + lifetime }))
}

/// Returns an address from which an object of a tenant's bucket can be read for 15 minutes; none if the bucket has no such
/// object of this size.
pub(crate) async fn download_url(
    db: &Db,
    objects: &ObjectStore,
    owner: TenantId,
    bucket: StorageId,
    object: &str,
    bytes: i64,
) -> Result<Option<String>, Error> {
    let bucket = bucket::open(db, objects, owner, bucket).await?;
    let found = bucket.objects.objects(&bucket.key, &bucket.name, Some(object)).await;
    let found = found.map_err(Error::of_call)?;
    if !found.iter().any(|one| one.name == object && one.bytes == bytes) {
        return Ok(None);
    }
    let access = Access::Download {
        content_type: "application/octet-stream".to_owned(),
        file_name: object.rsplit('/').next().unwrap_or_default().to_owned(),
    };
    bucket
        .objects
        .sign_url(&bucket.key, &bucket.name, object, access, URL_LIFETIME)
        .await
        .map(Some)
        .map_err(Error::from)
}

#[expect(clippy::disallowed_methods, reason = "signatures have the time of the process")]
fn now() -> Timestamp {
    Timestamp::now()
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Below {
    /// Owner of the bucket. A bucket of another tenant is not found.
    tenant_id: TenantId,
    /// Beginning of the names, below `jobs/`. Ends in `/`.
    pub(super) prefix: String,
}

impl Below {
    pub(super) fn check(&self) -> Result<(), Problem> {
        let mut checks = Checks::default();
        check_name(&mut checks, "prefix", &self.prefix);
        checks.require(self.prefix.ends_with('/'), "prefix", "must end in /");
        Ok(checks.finish()?)
    }
}

/// Names are text without control characters, and the same as a path.
pub(crate) fn check_name(checks: &mut Checks, pointer: &str, name: &str) {
    let is_part = |part: &str| !matches!(part, "" | "." | "..");
    let is_path = name.strip_suffix('/').unwrap_or(name).split('/').all(is_part);
    let is_name = name.len() <= MAX_NAME && !name.chars().any(char::is_control) && is_path;
    checks.require(
        name.starts_with(PREFIX) && name.len() > PREFIX.len() && is_name,
        pointer,
        format!(
            "must begin with jobs/, have at most {MAX_NAME} bytes, no control characters, and no empty part, . or .. between \
             slashes"
        ),
    );
}

/// Returns the objects of a bucket whose names begin with a prefix, at most 1,000.
#[utoipa::path(
    get, path = "/internal/v1/buckets/{id}/objects", operation_id = "find_objects", tag = "internal",
    params(("id" = StorageId, Path, description = "Storage id of the bucket"), Below),
    responses((status = 200, description = "The objects", body = Objects)),
    extensions(("x-problems" = json!([
        ProblemType::NotABucket, ProblemType::StorageNotAvailable, ProblemType::TenantSuspended,
        ProblemType::NoObjectStore,
    ])))
)]
async fn find_objects(
    State(db): State<Db>,
    State(objects): State<OptionalObjectStore>,
    _: Caller,
    Path(id): Path<StorageId>,
    Query(below): Query<Below>,
) -> Result<Json<Objects>, Problem> {
    below.check()?;
    let bucket = bucket::open(&db, objects.get()?, below.tenant_id, id).await?;
    let items = bucket.objects.objects(&bucket.key, &bucket.name, Some(&below.prefix)).await;
    Ok(Json(Objects { items: items.map_err(Error::of_call)? }))
}

/// Deletes objects of a bucket whose names begin with a prefix. Repeat the call until `done`.
#[utoipa::path(
    delete, path = "/internal/v1/buckets/{id}/objects", operation_id = "delete_objects", tag = "internal",
    params(("id" = StorageId, Path, description = "Storage id of the bucket"), Below),
    responses((status = 200, description = "How far the deletion is", body = Deletion)),
    extensions(("x-problems" = json!([
        ProblemType::NotABucket, ProblemType::StorageNotAvailable, ProblemType::TenantSuspended,
        ProblemType::NoObjectStore,
    ])))
)]
async fn delete_objects(
    State(db): State<Db>,
    State(objects): State<OptionalObjectStore>,
    _: Caller,
    audit: audit::Request,
    Path(id): Path<StorageId>,
    Query(below): Query<Below>,
) -> Result<Json<Deletion>, Problem> {
    below.check()?;
    let bucket = bucket::open(&db, objects.get()?, below.tenant_id, id).await?;
    let found = bucket.objects.objects(&bucket.key, &bucket.name, Some(&below.prefix)).await;
    let found = found.map_err(Error::of_call)?;
    if found.is_empty() {
        return Ok(Json(Deletion { done: true }));
    }
    let names: Vec<String> = found.into_iter().map(|object| object.name).collect();
    bucket.objects.delete_objects(&bucket.key, &bucket.name, &names).await.map_err(Error::of_call)?;
    let mut tx = db.tenant(below.tenant_id).await?;
    audit.record(&mut tx, StatusCode::OK, None, &()).await?;
    tx.commit().await?;
    Ok(Json(Deletion { done: false }))
}

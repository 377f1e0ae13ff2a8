//! Deliveries: staged objects become the tenant's. All calls can be repeated.

use api::{Checks, Json, Path, Problem, ProblemType, Query, openapi::OpenApiRouter};
use auth::Caller;
use axum::extract::State;
use ids::{StorageId, TenantId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::{
    bucket,
    http::{Below, Deletion, check_name},
    staging,
};
use crate::{
    error::Error,
    object_store::{Denial, Target, user_of},
    state::AppState,
};

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(deliver_object)).routes(routes!(delete_staged_objects))
}

/// A staged object that is to be delivered.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct DeliveryRequest {
    /// Owner of the bucket. A bucket of another tenant is not found.
    tenant_id: TenantId,
    /// Name of the object, below `jobs/`.
    #[schema(example = "jobs/job_0195b0c2/1/0.png")]
    object: String,
    /// Size of the object.
    #[schema(minimum = 0)]
    bytes: i64,
}

/// How a delivery has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    /// The object is in the bucket.
    Delivered,
    /// Nothing of this name and size was staged.
    NotStaged,
    /// The bucket has no room for it.
    BucketFull,
    /// The bucket has disappeared from the object store.
    BucketMissing,
    /// A policy or setting of the bucket refuses it.
    Refused,
}

impl From<Denial> for Outcome {
    fn from(denial: Denial) -> Self {
        match denial {
            Denial::Full => Self::BucketFull,
            Denial::Missing => Self::BucketMissing,
            Denial::Refused => Self::Refused,
        }
    }
}

/// The end of a delivery.
#[derive(Debug, Serialize, ToSchema)]
struct Delivery {
    /// How it has ended. All but `delivered` are final until somebody does something about it.
    outcome: Outcome,
    /// The answer of the object store, if it has refused the object.
    message: Option<String>,
}

/// Copies a staged object into the bucket of its tenant.
#[utoipa::path(
    post, path = "/internal/v1/buckets/{id}/deliveries", operation_id = "deliver_object", tag = "internal",
    params(("id" = StorageId, Path, description = "Storage id of the bucket")),
    request_body = DeliveryRequest,
    responses((status = 200, description = "The end of the delivery", body = Delivery)),
    extensions(("x-problems" = json!([
        ProblemType::NotABucket, ProblemType::StorageNotAvailable, ProblemType::TenantSuspended,
        ProblemType::NoObjectStore,
    ])))
)]
async fn deliver_object(
    State(state): State<AppState>,
    _: Caller,
    Path(id): Path<StorageId>,
    Json(request): Json<DeliveryRequest>,
) -> Result<Json<Delivery>, Problem> {
    let mut checks = Checks::default();
    check_name(&mut checks, "/object", &request.object);
    checks.within("/bytes", request.bytes, 0, i64::MAX);
    checks.finish()?;
    // a copy goes on when the caller has gone, so that a repetition finds it done
    let delivery = tokio::spawn(async move { deliver(&state, id, request).await });
    Ok(Json(delivery.await.map_err(|error| Problem::unavailable("The delivery", error))??))
}

async fn deliver(state: &AppState, id: StorageId, request: DeliveryRequest) -> Result<Delivery, Error> {
    let bucket = bucket::open(state, request.tenant_id, id).await?;
    let (objects, staging) = staging::open(state).await?;
    let staged = staging::name(id, &request.object);
    let user = user_of(request.tenant_id);
    let (name, bytes) = (request.object.as_str(), request.bytes);
    let target = Target { user: &user, key: &bucket.key, bucket: &bucket.name, name, bytes };
    match objects.deliver(&staging, &staged, &target).await {
        Ok(true) => Ok(Delivery { outcome: Outcome::Delivered, message: None }),
        Ok(false) => Ok(Delivery { outcome: Outcome::NotStaged, message: None }),
        Err(error) => match error.denial() {
            Some(denial) => {
                tracing::info!(
                    tenant.id = %request.tenant_id, storage.id = %id, %error,
                    "a bucket refuses what is to be delivered"
                );
                Ok(Delivery { outcome: denial.into(), message: Some(error.to_string()) })
            }
            None => Err(error.into()),
        },
    }
}

/// Deletes staged objects of a bucket, which need not exist any more, whose names begin with a prefix. Repeat the call until it is
/// done.
#[utoipa::path(
    delete, path = "/internal/v1/buckets/{id}/staged", operation_id = "delete_staged_objects", tag = "internal",
    params(("id" = StorageId, Path, description = "Storage id of the bucket"), Below),
    responses((status = 200, description = "How far the deletion is", body = Deletion)),
    extensions(("x-problems" = json!([ProblemType::NoObjectStore])))
)]
async fn delete_staged_objects(
    State(state): State<AppState>,
    _: Caller,
    Path(id): Path<StorageId>,
    Query(below): Query<Below>,
) -> Result<Json<Deletion>, Problem> {
    below.check()?;
    let (objects, staging) = staging::open(&state).await?;
    let prefix = staging::name(id, &below.prefix);
    let found = objects.objects(&staging.key, &staging.name, Some(&prefix)).await.map_err(Error::from)?;
    let names: Vec<String> = found.into_iter().map(|object| object.name).collect();
    if !names.is_empty() {
        objects.delete_objects(&staging.key, &staging.name, &names).await.map_err(Error::from)?;
    }
    Ok(Json(Deletion { done: names.is_empty() }))
}

//! Deliveries: staged objects are copied into the tenant's bucket. All calls can be repeated.

use api::{Checks, Json, Path, Problem, ProblemType, Query, openapi::OpenApiRouter};
use auth::{Caller, HasAuth};
use axum::extract::{FromRef, State};
use db::Db;
use ids::StorageId;
use storage_api::{Deletion, Delivery, DeliveryOutcome, DeliveryRequest};
use utoipa_axum::routes;

use super::{
    bucket,
    error::Error,
    http::{Below, check_name},
    staging,
};
use crate::object_store::{Denial, ObjectStore, OptionalObjectStore, Target, user_of};

pub(super) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Db: FromRef<S>,
    OptionalObjectStore: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(deliver_object)).routes(routes!(delete_staged_objects))
}

fn denied(denial: Denial) -> DeliveryOutcome {
    match denial {
        Denial::Full => DeliveryOutcome::BucketFull,
        Denial::Missing => DeliveryOutcome::BucketMissing,
        Denial::Refused => DeliveryOutcome::Refused,
    }
}

/// Copies a staged object into the bucket of its tenant.
#[utoipa::path(
    post, path = "/internal/v1/buckets/{id}/deliveries", operation_id = "deliver_object", tag = "internal",
    params(("id" = StorageId, Path, description = "Storage id of the bucket")),
    request_body = DeliveryRequest,
    responses((status = 200, description = "The result of the delivery", body = Delivery)),
    extensions(("x-problems" = json!([
        ProblemType::NotABucket, ProblemType::StorageNotAvailable, ProblemType::TenantSuspended,
        ProblemType::NoObjectStore,
    ])))
)]
async fn deliver_object(
    State(db): State<Db>,
    State(objects): State<OptionalObjectStore>,
    _: Caller,
    Path(id): Path<StorageId>,
    Json(request): Json<DeliveryRequest>,
) -> Result<Json<Delivery>, Problem> {
    let mut checks = Checks::default();
    check_name(&mut checks, "/object", &request.object);
    checks.within("/bytes", request.bytes, 0, i64::MAX);
    checks.finish()?;
    // the copy continues after the caller has disconnected, so that a repetition finds it done
    let delivery = tokio::spawn(async move { deliver(&db, objects.get()?, id, request).await });
    Ok(Json(delivery.await.map_err(|error| Problem::unavailable("The delivery", error))??))
}

async fn deliver(
    db: &Db,
    objects: &ObjectStore,
    id: StorageId,
    request: DeliveryRequest,
) -> Result<Delivery, Error> {
    let bucket = bucket::open(db, objects, request.tenant_id, id).await?;
    let staging = staging::open(db, objects).await?;
    let staged = staging::name(id, &request.object);
    let user = user_of(request.tenant_id);
    let (name, bytes) = (request.object.as_str(), request.bytes);
    let target = Target { user: &user, key: &bucket.key, bucket: &bucket.name, name, bytes };
    match objects.deliver(&staging, &staged, &target).await {
        Ok(true) => Ok(Delivery { outcome: DeliveryOutcome::Delivered, message: None }),
        Ok(false) => Ok(Delivery { outcome: DeliveryOutcome::NotStaged, message: None }),
        Err(error) => match error.denial() {
            Some(denial) => {
                tracing::info!(
                    tenant.id = %request.tenant_id, storage.id = %id, %error,
                    "a bucket refuses what is to be delivered"
                );
                Ok(Delivery { outcome: denied(denial), message: Some(error.to_string()) })
            }
            None => Err(error.into()),
        },
    }
}

/// Deletes staged objects of a bucket whose names begin with a prefix. The bucket need not exist any more. Repeat the
/// call until `done`.
#[utoipa::path(
    delete, path = "/internal/v1/buckets/{id}/staged", operation_id = "delete_staged_objects", tag = "internal",
    params(("id" = StorageId, Path, description = "Storage id of the bucket"), Below),
    responses((status = 200, description = "How far the deletion is", body = Deletion)),
    extensions(("x-problems" = json!([ProblemType::NoObjectStore])))
)]
async fn delete_staged_objects(
    State(db): State<Db>,
    State(objects): State<OptionalObjectStore>,
    _: Caller,
    Path(id): Path<StorageId>,
    Query(below): Query<Below>,
) -> Result<Json<Deletion>, Problem> {
    below.check()?;
    let objects = objects.get()?;
    let staging = staging::open(&db, objects).await?;
    let prefix = staging::name(id, &below.prefix);
    let found = objects.objects(&staging.key, &staging.name, Some(&prefix)).await?;
    let names: Vec<String> = found.into_iter().map(|object| object.name).collect();
    if !names.is_empty() {
        objects.delete_objects(&staging.key, &staging.name, &names).await?;
    }
    Ok(Json(Deletion { done: names.is_empty() }))
}

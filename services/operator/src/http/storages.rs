//! `POST /storages`, `GET`, `PUT` and `DELETE /storages/{storageID}`.

use api::{Json, Path, Problem, ProblemType};
use axum::extract::State;
use axum::http::StatusCode;
use crds::{AccessMode, GpuStorage, GpuStorageSpec, StoragePhase};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::names::name_of;
use super::record::away;
use super::{Api, Service, refused, required};

pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new().routes(routes!(create_storage)).routes(routes!(
        get_storage,
        update_storage,
        delete_storage
    ))
}

/// A storage to make.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewStorage {
    /// Its id: `stor_…`, or any text.
    #[serde(rename = "storageID")]
    storage_id: String,
    /// Its tenant's id: `ten_…`, or any text.
    #[serde(rename = "tenantID")]
    tenant_id: String,
    /// Size in GiB.
    #[serde(rename = "sizeGib")]
    #[schema(minimum = 1, maximum = 1_048_576)]
    size_gib: i64,
    /// Storage class of the cluster; its default when absent.
    #[serde(default, rename = "storageClass")]
    storage_class: Option<String>,
}

/// A storage's new size.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct StorageChange {
    /// Size in GiB; not smaller than it is.
    #[serde(rename = "sizeGib")]
    #[schema(minimum = 1, maximum = 1_048_576)]
    size_gib: i64,
}

/// A storage.
#[derive(Debug, Clone, Serialize, ToSchema)]
struct StorageAnswer {
    /// As it was given.
    #[serde(rename = "storageID")]
    storage_id: String,
    /// `Pending`, `Bound` or `Failed`.
    phase: String,
    /// The size that was asked for, in GiB.
    #[serde(rename = "sizeGib")]
    size_gib: i64,
    /// The size that it has, in GiB.
    #[serde(rename = "capacityGib", skip_serializing_if = "Option::is_none")]
    capacity_gib: Option<i64>,
}

fn check_size(size: i64) -> Result<(), Problem> {
    if (1..=1_048_576).contains(&size) {
        Ok(())
    } else {
        Err(Problem::invalid_field("/sizeGib", "must be 1 to 1048576"))
    }
}

fn storages(api: &Api) -> kube::Api<GpuStorage> {
    kube::Api::all(api.0.client.clone())
}

async fn find(api: &Api, id: &str) -> Result<GpuStorage, Problem> {
    storages(api).get_opt(&name_of("stor", id)).await.map_err(away)?.ok_or_else(Problem::not_found)
}

fn answer(storage: &GpuStorage, id: &str) -> StorageAnswer {
    let status = storage.status.clone().unwrap_or_default();
    let phase = match status.phase {
        StoragePhase::Pending => "Pending",
        StoragePhase::Bound => "Bound",
        StoragePhase::Failed => "Failed",
    };
    StorageAnswer {
        storage_id: id.to_owned(),
        phase: phase.to_owned(),
        size_gib: storage.spec.size_gib,
        capacity_gib: status.capacity_gib,
    }
}

/// Makes a storage; the same call again answers the same.
#[utoipa::path(post, path = "/storages", tag = "storages", operation_id = "create_storage", request_body = NewStorage,
    responses((status = 202, description = "Being made", body = StorageAnswer),
              (status = 401, description = "No service token", body = Problem),
              (status = 422, description = "A field is not valid, or the storageID is used otherwise", body = Problem)))]
async fn create_storage(
    State(api): State<Api>,
    _: Service,
    Json(new): Json<NewStorage>,
) -> Result<(StatusCode, Json<StorageAnswer>), Problem> {
    required("/storageID", &new.storage_id, 253)?;
    required("/tenantID", &new.tenant_id, 253)?;
    check_size(new.size_gib)?;
    let spec = GpuStorageSpec {
        tenant_id: name_of("ten", &new.tenant_id),
        size_gib: new.size_gib,
        storage_class: new.storage_class.clone(),
        access_mode: AccessMode::default(),
    };
    let storage = GpuStorage::new(&name_of("stor", &new.storage_id), spec);
    let made = match storages(&api).create(&PostParams::default(), &storage).await {
        Ok(made) => made,
        Err(kube::Error::Api(status)) if status.code == 409 => find(&api, &new.storage_id).await?,
        Err(error) => return Err(refused(error)),
    };
    if made.spec != storage.spec {
        return Err(Problem::new(
            ProblemType::StorageIdReused,
            "A storage of this id was made with other values.",
        ));
    }
    Ok((StatusCode::ACCEPTED, Json(answer(&made, &new.storage_id))))
}

/// A storage.
#[utoipa::path(get, path = "/storages/{storageID}", tag = "storages", operation_id = "get_storage",
    params(("storageID" = String, Path, description = "As it was made")),
    responses((status = 200, description = "The storage", body = StorageAnswer),
              (status = 401, description = "No service token", body = Problem),
              (status = 404, description = "There is none", body = Problem)))]
async fn get_storage(
    State(api): State<Api>,
    _: Service,
    Path(id): Path<String>,
) -> Result<Json<StorageAnswer>, Problem> {
    Ok(Json(answer(&find(&api, &id).await?, &id)))
}

/// Lets a storage grow.
#[utoipa::path(put, path = "/storages/{storageID}", tag = "storages", operation_id = "update_storage", request_body = StorageChange,
    params(("storageID" = String, Path, description = "As it was made")),
    responses((status = 202, description = "Growing", body = StorageAnswer),
              (status = 401, description = "No service token", body = Problem),
              (status = 404, description = "There is none", body = Problem),
              (status = 422, description = "It cannot shrink", body = Problem)))]
async fn update_storage(
    State(api): State<Api>,
    _: Service,
    Path(id): Path<String>,
    Json(change): Json<StorageChange>,
) -> Result<(StatusCode, Json<StorageAnswer>), Problem> {
    check_size(change.size_gib)?;
    let storage = find(&api, &id).await?;
    if change.size_gib < storage.spec.size_gib {
        return Err(Problem::invalid_field(
            "/sizeGib",
            format!("a storage cannot shrink; it has {}", storage.spec.size_gib),
        ));
    }
    let body = json!({"spec": {"sizeGib": change.size_gib}});
    let name = name_of("stor", &id);
    match storages(&api).patch(&name, &PatchParams::default(), &Patch::Merge(&body)).await {
        Ok(storage) => Ok((StatusCode::ACCEPTED, Json(answer(&storage, &id)))),
        Err(kube::Error::Api(status)) if status.code == 404 => Err(Problem::not_found()),
        Err(error) => Err(refused(error)),
    }
}

/// Removes a storage and what is in it.
#[utoipa::path(delete, path = "/storages/{storageID}", tag = "storages", operation_id = "delete_storage",
    params(("storageID" = String, Path, description = "As it was made")),
    responses((status = 202, description = "Being removed", body = StorageAnswer),
              (status = 401, description = "No service token", body = Problem),
              (status = 404, description = "There is none", body = Problem),
              (status = 409, description = "An instance uses it", body = Problem)))]
async fn delete_storage(
    State(api): State<Api>,
    _: Service,
    Path(id): Path<String>,
) -> Result<(StatusCode, Json<StorageAnswer>), Problem> {
    let storage = find(&api, &id).await?;
    let name = name_of("stor", &id);
    let uses = |unit: &std::sync::Arc<crds::GpuUnit>| {
        let volumes = unit.spec.instance.iter().flat_map(|instance| &instance.volumes);
        volumes.filter_map(|volume| volume.storage.as_ref()).any(|storage| *storage == name)
    };
    if api.0.units.all().iter().any(uses) {
        return Err(Problem::new(ProblemType::StorageInUse, "Its volume is mounted by an instance."));
    }
    match storages(&api).delete(&name, &DeleteParams::default()).await {
        Ok(_) => Ok((StatusCode::ACCEPTED, Json(answer(&storage, &id)))),
        Err(kube::Error::Api(status)) if status.code == 404 => Err(Problem::not_found()),
        Err(error) => Err(away(error)),
    }
}

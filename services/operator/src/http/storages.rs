//! `POST /storages`, `GET`, `PUT` and `DELETE /storages/{storageID}`.

use std::sync::Arc;

use api::{Checks, Json, Path, Problem, ProblemType, openapi::OpenApiRouter};
use axum::extract::State;
use axum::http::StatusCode;
use crds::{AccessMode, GpuStorage, GpuStorageSpec, GpuUnit, StoragePhase};
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use plans::object_names::name_of;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::{ServiceCaller, require_text};
use crate::error::Error;
use crate::state::AppState;

/// Largest storage, in GiB.
const SIZE_MAX: i64 = 1_048_576;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(create_storage)).routes(routes!(
        get_storage,
        update_storage,
        delete_storage
    ))
}

/// A storage to create.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewStorage {
    /// Storage id: `stor_…`, or any text.
    #[serde(rename = "storageID")]
    storage_id: String,
    /// Tenant id: `ten_…`, or any text.
    #[serde(rename = "tenantID")]
    tenant_id: String,
    /// Size in GiB.
    #[serde(rename = "sizeGib")]
    #[schema(minimum = 1, maximum = 1_048_576)]
    size_gib: i64,
    /// Storage class of the cluster; the default class if absent.
    #[serde(default, rename = "storageClass")]
    storage_class: Option<String>,
}

/// A change of a storage.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct StorageChange {
    /// Size in GiB, at least the current one.
    #[serde(rename = "sizeGib")]
    #[schema(minimum = 1, maximum = 1_048_576)]
    size_gib: i64,
}

/// A storage.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Storage)]
struct StorageView {
    /// Storage id.
    #[serde(rename = "storageID")]
    storage_id: String,
    /// Phase of the storage.
    phase: Phase,
    /// Requested size in GiB.
    #[serde(rename = "sizeGib")]
    size_gib: i64,
    /// Actual size in GiB, once known.
    #[serde(rename = "capacityGib")]
    capacity_gib: Option<i64>,
}

/// Phase of a storage.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[schema(as = StoragePhase)]
enum Phase {
    /// Not bound yet.
    Pending,
    /// Can be mounted.
    Bound,
    /// The claim was rejected or lost its volume.
    Failed,
}

impl NewStorage {
    fn storage(&self) -> Result<GpuStorage, Error> {
        let mut checks = Checks::default();
        require_text(&mut checks, "/storageID", &self.storage_id, 253);
        require_text(&mut checks, "/tenantID", &self.tenant_id, 253);
        checks.within("/sizeGib", self.size_gib, 1, SIZE_MAX);
        let errors = checks.into_errors();
        if !errors.is_empty() {
            return Err(Error::Invalid(errors));
        }
        let spec = GpuStorageSpec {
            tenant_id: name_of("ten", &self.tenant_id),
            size_gib: self.size_gib,
            storage_class: self.storage_class.clone(),
            access_mode: AccessMode::default(),
            downloads: Vec::new(),
        };
        Ok(GpuStorage::new(&name_of("stor", &self.storage_id), spec))
    }
}

impl StorageView {
    fn of(storage: &GpuStorage, id: &str) -> Self {
        let status = storage.status.clone().unwrap_or_default();
        let phase = match status.phase {
            StoragePhase::Pending => Phase::Pending,
            StoragePhase::Bound => Phase::Bound,
            StoragePhase::Failed => Phase::Failed,
        };
        Self {
            storage_id: id.to_owned(),
            phase,
            size_gib: storage.spec.size_gib,
            capacity_gib: status.capacity_gib,
        }
    }
}

/// Creates a storage.
#[utoipa::path(
    post, path = "/storages", tag = "storages", operation_id = "create_storage", request_body = NewStorage,
    responses((status = 202, description = "The storage is being created", body = StorageView)),
    extensions(("x-problems" = json!([ProblemType::StorageIdReused]))),
)]
async fn create_storage(
    State(state): State<AppState>,
    _: ServiceCaller,
    Json(new): Json<NewStorage>,
) -> Result<(StatusCode, Json<StorageView>), Problem> {
    let storage = create(&state, &new).await?;
    Ok((StatusCode::ACCEPTED, Json(StorageView::of(&storage, &new.storage_id))))
}

/// Returns a storage.
#[utoipa::path(
    get, path = "/storages/{storageID}", tag = "storages", operation_id = "get_storage",
    params(("storageID" = String, Path, description = "Storage id")),
    responses((status = 200, description = "The storage", body = StorageView)),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn get_storage(
    State(state): State<AppState>,
    _: ServiceCaller,
    Path(id): Path<String>,
) -> Result<Json<StorageView>, Problem> {
    Ok(Json(StorageView::of(&find(&state, &id).await?, &id)))
}

/// Enlarges a storage. It cannot shrink.
#[utoipa::path(
    put, path = "/storages/{storageID}", tag = "storages", operation_id = "update_storage",
    request_body = StorageChange,
    params(("storageID" = String, Path, description = "Storage id")),
    responses((status = 202, description = "The storage is being enlarged", body = StorageView)),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn update_storage(
    State(state): State<AppState>,
    _: ServiceCaller,
    Path(id): Path<String>,
    Json(change): Json<StorageChange>,
) -> Result<(StatusCode, Json<StorageView>), Problem> {
    let storage = resize(&state, &id, change.size_gib).await?;
    Ok((StatusCode::ACCEPTED, Json(StorageView::of(&storage, &id))))
}

/// Deletes a storage and its data.
#[utoipa::path(
    delete, path = "/storages/{storageID}", tag = "storages", operation_id = "delete_storage",
    params(("storageID" = String, Path, description = "Storage id")),
    responses((status = 202, description = "The storage is being deleted", body = StorageView)),
    extensions(("x-problems" = json!([ProblemType::NotFound, ProblemType::StorageInUse]))),
)]
async fn delete_storage(
    State(state): State<AppState>,
    _: ServiceCaller,
    Path(id): Path<String>,
) -> Result<(StatusCode, Json<StorageView>), Problem> {
    let storage = delete(&state, &id).await?;
    Ok((StatusCode::ACCEPTED, Json(StorageView::of(&storage, &id))))
}

fn storages(state: &AppState) -> Api<GpuStorage> {
    Api::all(state.client())
}

async fn find(state: &AppState, id: &str) -> Result<GpuStorage, Error> {
    storages(state).get_opt(&name_of("stor", id)).await?.ok_or(Error::NotFound)
}

async fn create(state: &AppState, new: &NewStorage) -> Result<GpuStorage, Error> {
    let requested = new.storage()?;
    let storage = match storages(state).create(&PostParams::default(), &requested).await {
        Ok(created) => created,
        Err(kube::Error::Api(status)) if status.code == 409 => find(state, &new.storage_id).await?,
        Err(error) => return Err(Error::of_write(error)),
    };
    if storage.spec == requested.spec { Ok(storage) } else { Err(Error::StorageIdReused) }
}

async fn resize(state: &AppState, id: &str, size_gib: i64) -> Result<GpuStorage, Error> {
    if !(1..=SIZE_MAX).contains(&size_gib) {
        return Err(Error::invalid("/sizeGib", format!("must be between 1 and {SIZE_MAX}")));
    }
    let current = find(state, id).await?.spec.size_gib;
    if size_gib < current {
        return Err(Error::invalid("/sizeGib", format!("must be at least the current size, {current} GiB")));
    }
    let patch = Patch::Merge(json!({"spec": {"sizeGib": size_gib}}));
    match storages(state).patch(&name_of("stor", id), &PatchParams::default(), &patch).await {
        Ok(storage) => Ok(storage),
        Err(kube::Error::Api(status)) if status.code == 404 => Err(Error::NotFound),
        Err(error) => Err(Error::of_write(error)),
    }
}

async fn delete(state: &AppState, id: &str) -> Result<GpuStorage, Error> {
    let storage = find(state, id).await?;
    let name = name_of("stor", id);
    if state.units().all().iter().any(|unit| mounts(unit, &name)) {
        return Err(Error::StorageInUse);
    }
    match storages(state).delete(&name, &DeleteParams::default()).await {
        Ok(_) => Ok(storage),
        Err(kube::Error::Api(status)) if status.code == 404 => Err(Error::NotFound),
        Err(error) => Err(error.into()),
    }
}

/// Whether the instance of the unit mounts the storage.
fn mounts(unit: &Arc<GpuUnit>, storage: &str) -> bool {
    let volumes = unit.spec.instance.iter().flat_map(|instance| &instance.volumes);
    volumes.filter_map(|volume| volume.storage.as_ref()).any(|mounted| mounted == storage)
}

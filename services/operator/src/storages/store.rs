//! Storages in the cluster.

use crds::GpuStorage;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use plans::object_names::name_of;
use serde_json::json;

use super::Parts;
use super::error::Error;
use super::model::{NewStorage, StorageChange, mounts};
use crate::write;

pub(super) async fn find(parts: &Parts, id: &str) -> Result<GpuStorage, Error> {
    parts.storages_api.get_opt(&name_of("stor", id)).await?.ok_or(Error::NotFound)
}

/// Creates the storage, or returns the one that an earlier call has created.
pub(super) async fn create(parts: &Parts, new: &NewStorage) -> Result<GpuStorage, Error> {
    let requested = new.storage()?;
    let storage = match parts.storages_api.create(&PostParams::default(), &requested).await {
        Ok(created) => created,
        Err(kube::Error::Api(status)) if status.code == 409 => find(parts, &new.storage_id).await?,
        Err(error) => return Err(write::Error::from(error).into()),
    };
    if storage.spec == requested.spec { Ok(storage) } else { Err(Error::IdReused) }
}

/// Enlarges the storage.
pub(super) async fn resize(parts: &Parts, id: &str, change: &StorageChange) -> Result<GpuStorage, Error> {
    change.check()?;
    change.check_growth(find(parts, id).await?.spec.size_gib)?;
    let patch = Patch::Merge(json!({"spec": {"sizeGib": change.size_gib}}));
    match parts.storages_api.patch(&name_of("stor", id), &PatchParams::default(), &patch).await {
        Ok(storage) => Ok(storage),
        Err(kube::Error::Api(status)) if status.code == 404 => Err(Error::NotFound),
        Err(error) => Err(write::Error::from(error).into()),
    }
}

/// Deletes the storage if no instance mounts it, and returns it.
pub(super) async fn delete(parts: &Parts, id: &str) -> Result<GpuStorage, Error> {
    let storage = find(parts, id).await?;
    let name = name_of("stor", id);
    if parts.units.all().iter().any(|unit| mounts(unit, &name)) {
        return Err(Error::InUse);
    }
    match parts.storages_api.delete(&name, &DeleteParams::default()).await {
        Ok(_) => Ok(storage),
        Err(kube::Error::Api(status)) if status.code == 404 => Err(Error::NotFound),
        Err(error) => Err(error.into()),
    }
}

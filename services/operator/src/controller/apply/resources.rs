//! Finalizers and status of custom resources, and the volume claims of storages.

use std::fmt::Debug;

use crds::{GpuStorage, GpuStorageStatus, GpuUnit, GpuUnitStatus, names};
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, Resource, ResourceExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{Applier, WriteError, apply_params, conflict, finalizer_patch, is_gone};

impl Applier {
    pub(super) async fn set_finalizer<K>(
        &self,
        object: &K,
        finalizer: &str,
        wanted: bool,
    ) -> Result<Option<K>, WriteError>
    where
        K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug,
    {
        let Some(body) = finalizer_patch(object, finalizer, wanted) else { return Ok(None) };
        let api: Api<K> = Api::all(self.client.clone());
        let action = if wanted { "add_finalizer" } else { "remove_finalizer" };
        match self
            .write(
                action,
                &object.name_any(),
                api.patch(&object.name_any(), &PatchParams::default(), &Patch::Merge(&body)),
            )
            .await
        {
            Ok(object) => Ok(Some(object)),
            Err(WriteError::Api(error)) if is_gone(&error) => Ok(None),
            Err(WriteError::Api(error)) => Err(conflict(error)),
            Err(error) => Err(error),
        }
    }

    /// Adds or removes the finalizer of a storage.
    pub(crate) async fn storage_finalizer(
        &self,
        storage: &GpuStorage,
        wanted: bool,
    ) -> Result<(), WriteError> {
        self.set_finalizer(storage, names::FINALIZER_VOLUME, wanted).await.map(|storage| {
            if let Some(storage) = storage {
                self.cache.put_storage(storage);
            }
        })
    }

    /// Stores a unit's status, unless the unit has changed since it was observed.
    pub(crate) async fn unit_status(&self, unit: &GpuUnit, status: &GpuUnitStatus) -> Result<(), WriteError> {
        let stored = self.patch_status_of(unit, status, "unit_status").await?;
        if let Some(stored) = stored {
            self.cache.put_unit(stored);
        }
        Ok(())
    }

    /// Stores a storage's status, unless the storage has changed since it was observed.
    pub(crate) async fn storage_status(
        &self,
        storage: &GpuStorage,
        status: &GpuStorageStatus,
    ) -> Result<(), WriteError> {
        let stored = self.patch_status_of(storage, status, "storage_status").await?;
        if let Some(stored) = stored {
            self.cache.put_storage(stored);
        }
        Ok(())
    }

    pub(super) async fn patch_status_of<K>(
        &self,
        object: &K,
        status: &impl Serialize,
        action: &str,
    ) -> Result<Option<K>, WriteError>
    where
        K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug,
    {
        let body = json!({
            "apiVersion": K::api_version(&()), "kind": K::kind(&()),
            "metadata": {"name": object.name_any(), "resourceVersion": object.resource_version()},
            "status": status,
        });
        let api: Api<K> = Api::all(self.client.clone());
        let name = object.name_any();
        match self.write(action, &name, api.patch_status(&name, &apply_params(), &Patch::Apply(&body))).await
        {
            Ok(stored) => Ok(Some(stored)),
            Err(WriteError::Api(error)) if is_gone(&error) => Ok(None),
            Err(WriteError::Api(error)) => Err(conflict(error)),
            Err(error) => Err(error),
        }
    }

    pub(crate) async fn apply_volume_claim(
        &self,
        namespace: &str,
        name: &str,
        body: &Value,
    ) -> Result<(), WriteError> {
        let api: Api<PersistentVolumeClaim> = Api::namespaced(self.client.clone(), namespace);
        self.write("claim", name, api.patch(name, &apply_params(), &Patch::Apply(body))).await.map(drop)
    }

    pub(crate) async fn delete_volume_claim(&self, namespace: &str, name: &str) -> Result<(), WriteError> {
        let api: Api<PersistentVolumeClaim> = Api::namespaced(self.client.clone(), namespace);
        match self.write("delete_claim", name, api.delete(name, &DeleteParams::default())).await {
            Err(WriteError::Api(error)) if is_gone(&error) => Ok(()),
            other => other.map(drop),
        }
    }
}

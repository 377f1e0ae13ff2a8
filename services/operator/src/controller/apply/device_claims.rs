//! Claims on devices, and the mirrors of storages that units with claims need.

use crds::{GpuUnit, names};
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::resource::v1::{ResourceClaim, ResourceClaimConsumerReference};
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use kube::{Api, Resource as _, ResourceExt as _};
use plans::observation::{ClaimRef, ObservedMirror, PodRef, UNITS};
use plans::unit::devices;
use serde_json::json;

use super::{Applier, WriteError, apply_params, conflict, created, is_gone, post_params};

impl Applier {
    pub(super) fn device_claims(&self, namespace: &str) -> Api<ResourceClaim> {
        Api::namespaced(self.client.clone(), namespace)
    }

    pub(super) async fn create_device_claim(&self, claim: &ResourceClaim) -> Result<(), WriteError> {
        let api = self.device_claims(&claim.namespace().unwrap_or_default());
        match self.write("create_claim", &claim.name_any(), api.create(&post_params(), claim)).await {
            Ok(created) => {
                self.cache.put_device_claim(&created);
                Ok(())
            }
            Err(WriteError::Api(kube::Error::Api(status))) if status.code == 422 => {
                Err(WriteError::Invalid(status.message))
            }
            Err(WriteError::Api(error)) if is_gone(&error) => {
                self.forget_namespace(&claim.namespace().unwrap_or_default());
                Err(WriteError::Conflict)
            }
            Err(WriteError::Api(error)) => Err(conflict(error)),
            Err(error) => Err(error),
        }
    }

    /// Reserves the claim for the unit, and for a pod of it that is about to be bound.
    pub(super) async fn reserve_device_claim(
        &self,
        unit: &GpuUnit,
        claim: &ClaimRef,
        pod: Option<&PodRef>,
    ) -> Result<(), WriteError> {
        let unit = json!({
            "apiGroup": names::GROUP, "resource": UNITS, "name": unit.name_any(), "uid": unit.uid(),
        });
        let pod = pod.map(|pod| json!({"resource": "pods", "name": pod.name, "uid": pod.uid}));
        let users: Vec<_> = [unit].into_iter().chain(pod).collect();
        let body = json!({
            "apiVersion": ResourceClaim::api_version(&()), "kind": ResourceClaim::kind(&()),
            "metadata": {"name": claim.name, "namespace": claim.namespace, "uid": claim.uid},
            "status": {"reservedFor": users},
        });
        let api = self.device_claims(&claim.namespace);
        let patch = Patch::Apply(&body);
        match self
            .write("reserve_claim", &claim.name, api.patch_status(&claim.name, &apply_params(), &patch))
            .await
        {
            Err(WriteError::Api(error)) if is_gone(&error) => Err(WriteError::Conflict),
            Err(WriteError::Api(error)) => Err(conflict(error)),
            other => other.map(drop),
        }
    }

    /// Removes the reservations of units, also of an earlier unit of the same name.
    pub(super) async fn unreserve_device_claim(&self, claim: &ClaimRef) -> Result<(), WriteError> {
        let api = self.device_claims(&claim.namespace);
        let found = api.get_opt(&claim.name).await.map_err(WriteError::Api)?;
        let Some(found) = found.filter(|found| found.uid().as_ref() == Some(&claim.uid)) else {
            return Ok(());
        };
        let users = found.status.as_ref().and_then(|status| status.reserved_for.clone()).unwrap_or_default();
        let is_unit = |user: &ResourceClaimConsumerReference| {
            user.api_group.as_deref() == Some(names::GROUP) && user.resource == UNITS
        };
        if !users.iter().any(is_unit) {
            return Ok(());
        }
        let left: Vec<_> = users.iter().filter(|user| !is_unit(user)).collect();
        let body = json!({
            "metadata": {"resourceVersion": found.resource_version()},
            "status": {"reservedFor": left},
        });
        let patch = Patch::Merge(&body);
        match self
            .write(
                "unreserve_claim",
                &claim.name,
                api.patch_status(&claim.name, &PatchParams::default(), &patch),
            )
            .await
        {
            Err(WriteError::Api(error)) if is_gone(&error) => Ok(()),
            Err(WriteError::Api(error)) => Err(conflict(error)),
            other => other.map(drop),
        }
    }

    pub(super) async fn delete_device_claim(&self, claim: &ClaimRef) -> Result<(), WriteError> {
        let params = DeleteParams {
            preconditions: Some(Preconditions { uid: Some(claim.uid.clone()), resource_version: None }),
            ..DeleteParams::default()
        };
        let api = self.device_claims(&claim.namespace);
        match self.write("delete_device_claim", &claim.name, api.delete(&claim.name, &params)).await {
            Err(WriteError::Api(kube::Error::Api(status))) if matches!(status.code, 404 | 409) => Ok(()),
            other => other.map(drop),
        }
    }

    /// Creates the volume first: it shows that there is a mirror to delete.
    pub(super) async fn create_mirror(
        &self,
        unit: &GpuUnit,
        storage: &str,
        volume: &str,
    ) -> Result<(), WriteError> {
        let volumes: Api<PersistentVolume> = Api::all(self.client.clone());
        let source = volumes.get_opt(volume).await.map_err(WriteError::Api)?.ok_or(WriteError::Conflict)?;
        let copy = devices::mirror(unit, storage, &source);
        let claim = devices::mirror_claim(unit, storage, &source);
        let claims: Api<PersistentVolumeClaim> =
            Api::namespaced(self.client.clone(), &claim.namespace().unwrap_or_default());
        created(self.write("mirror", &copy.name_any(), volumes.create(&post_params(), &copy)).await)?;
        created(self.write("mirror_claim", storage, claims.create(&post_params(), &claim)).await)
    }

    /// Deletes the claim first: the volume shows that there is a mirror to delete.
    pub(super) async fn delete_mirror(&self, mirror: &ObservedMirror) -> Result<(), WriteError> {
        self.delete_volume_claim(&mirror.namespace, &mirror.storage).await?;
        let volumes: Api<PersistentVolume> = Api::all(self.client.clone());
        match self
            .write("drop_mirror", &mirror.name, volumes.delete(&mirror.name, &DeleteParams::default()))
            .await
        {
            Err(WriteError::Api(error)) if is_gone(&error) => Ok(()),
            other => other.map(drop),
        }
    }
}

//! The JSON of storages, and its translation to the custom resource.

use api::{Checks, Invalid};
use crds::{AccessMode, GpuStorage, GpuStorageSpec, GpuUnit, StoragePhase};
use plans::object_names::name_of;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::text::require_text;

/// Largest storage, in GiB.
const SIZE_MAX: i64 = 1_048_576;

/// A storage to create.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewStorage {
    /// Storage id: `stor_…`, or any text.
    #[serde(rename = "storageID")]
    pub(super) storage_id: String,
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
pub(super) struct StorageChange {
    /// Size in GiB, at least the current one.
    #[serde(rename = "sizeGib")]
    #[schema(minimum = 1, maximum = 1_048_576)]
    pub(super) size_gib: i64,
}

/// A storage.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Storage)]
pub(super) struct StorageView {
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
    /// The custom resource.
    pub(super) fn storage(&self) -> Result<GpuStorage, Invalid> {
        let mut checks = Checks::default();
        require_text(&mut checks, "/storageID", &self.storage_id, 253);
        require_text(&mut checks, "/tenantID", &self.tenant_id, 253);
        checks.within("/sizeGib", self.size_gib, 1, SIZE_MAX);
        checks.finish()?;
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

impl StorageChange {
    pub(super) fn check(&self) -> Result<(), Invalid> {
        let mut checks = Checks::default();
        checks.within("/sizeGib", self.size_gib, 1, SIZE_MAX);
        checks.finish()
    }

    /// Requires at least the current size: a storage cannot shrink.
    pub(super) fn check_growth(&self, current: i64) -> Result<(), Invalid> {
        let mut checks = Checks::default();
        let detail = format!("must be at least the current size, {current} GiB");
        checks.require(self.size_gib >= current, "/sizeGib", detail);
        checks.finish()
    }
}

impl StorageView {
    pub(super) fn of(storage: &GpuStorage, id: &str) -> Self {
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

/// Whether the instance of the unit mounts the storage.
pub(super) fn mounts(unit: &GpuUnit, storage: &str) -> bool {
    let volumes = unit.spec.instance.iter().flat_map(|instance| &instance.volumes);
    volumes.filter_map(|volume| volume.storage.as_ref()).any(|mounted| mounted == storage)
}

//! Events in their public form, as the triggers write them.

use events::OperationChanged;
use ids::{InstanceId, OperationId, StorageId, TenantId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use storage_api::{AttachmentMode, StorageKind, StorageState};
use utoipa::ToSchema;

use crate::storage::ReasonCode;

/// What happened to a storage of the tenant, or to an operation on one.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type")]
pub(crate) enum StorageEvent {
    /// Created.
    #[serde(rename = "storage.created")]
    Created(StorageSnapshot),
    /// Its name, size or state has changed.
    #[serde(rename = "storage.changed")]
    Changed(StorageSnapshot),
    /// It does not exist any more.
    #[serde(rename = "storage.deleted")]
    Deleted(StorageSnapshot),
    /// An instance uses it.
    #[serde(rename = "storage.attached")]
    Attached(StorageAttachment),
    /// An instance does not use it any more.
    #[serde(rename = "storage.detached")]
    Detached(StorageAttachment),
    /// An operation has begun, advanced or ended.
    #[serde(rename = "operation.changed")]
    Operation(OperationChanged),
}

/// A storage at the time of the event.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct StorageSnapshot {
    /// When it happened.
    pub(crate) time: Timestamp,
    /// The tenant of the storage.
    pub(crate) tenant_id: TenantId,
    /// The storage.
    pub(crate) storage_id: StorageId,
    /// Its name.
    pub(crate) name: String,
    /// Its kind.
    pub(crate) kind: StorageKind,
    /// Its state.
    pub(crate) state: StorageState,
    /// Machine-readable reason of the state, or null.
    pub(crate) reason: Option<ReasonCode>,
    /// The reason in a sentence for a person, or null.
    pub(crate) message: Option<String>,
    /// Ordered size in GiB.
    pub(crate) size_gib: i64,
    /// Size of the volume in GiB, or null.
    pub(crate) capacity_gib: Option<i64>,
    /// The newest operation on it.
    pub(crate) operation_id: OperationId,
}

/// A storage and an instance.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub(crate) struct StorageAttachment {
    /// When it happened.
    pub(crate) time: Timestamp,
    /// The tenant of both.
    pub(crate) tenant_id: TenantId,
    /// The storage.
    pub(crate) storage_id: StorageId,
    /// The instance.
    pub(crate) instance_id: InstanceId,
    /// How the instance uses it.
    pub(crate) mode: AttachmentMode,
}

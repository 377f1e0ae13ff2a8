//! Storages as JSON.

use std::collections::HashMap;

use ids::{InstanceId, OperationId, StorageId, StorageSpecId};
use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use storage_api::{AttachmentMode, StorageKind, StorageState};
use utoipa::ToSchema;

use super::{model::Storage, reason::ReasonCode};
use crate::config::ObjectStoreConfig;

/// A change of a storage. Absent members stay as they are.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StorageChange {
    /// New name.
    #[serde(default, deserialize_with = "api::text::optional_nfc")]
    pub(crate) name: Option<String>,
    /// New size in GiB, at least the current size.
    #[serde(default)]
    pub(crate) size_gib: Option<i64>,
}

/// A reference to a storage specification.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct StorageSpecRef {
    /// Specification id.
    pub(crate) id: StorageSpecId,
    /// Name of the specification.
    pub(crate) name: String,
}

/// How S3 clients reach a bucket (path style). Create access keys with POST /v1/storages/{id}/credentials.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct BucketAddress {
    /// Name of the bucket.
    pub(crate) name: String,
    /// Base URL, `http(s)://host:port`.
    pub(crate) endpoint: String,
    /// Region for request signatures.
    pub(crate) region: String,
}

/// An instance that uses a storage.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct AttachmentRef {
    /// Instance id.
    pub(crate) instance_id: InstanceId,
    /// How the instance uses the storage.
    pub(crate) mode: AttachmentMode,
    /// Time of the attachment.
    pub(crate) since: Timestamp,
}

/// The attachments of some storages.
pub(crate) type Attachments = HashMap<StorageId, Vec<AttachmentRef>>;

/// A storage: a volume or a bucket.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Storage)]
pub(crate) struct StorageView {
    /// Storage id.
    pub(crate) id: StorageId,
    /// Name, unique in the tenant.
    pub(crate) name: String,
    /// Volume or bucket.
    pub(crate) kind: StorageKind,
    /// The specification it was created from.
    pub(crate) storage_spec: StorageSpecRef,
    /// Requested size in GiB.
    pub(crate) size_gib: i64,
    /// Actual size of a volume in GiB. Null until the cluster reports it, and for buckets.
    pub(crate) capacity_gib: Option<i64>,
    /// Current state.
    pub(crate) state: StorageState,
    /// Machine-readable reason why the storage is not available, or null.
    pub(crate) reason: Option<ReasonCode>,
    /// The reason in a sentence for a person, or null.
    pub(crate) message: Option<String>,
    /// Datacenter of a volume. Null for buckets.
    pub(crate) datacenter: Option<String>,
    /// Address of a bucket. Null for volumes.
    pub(crate) bucket: Option<BucketAddress>,
    /// Instances that use the storage. It cannot be deleted while there are any.
    pub(crate) attachments: Vec<AttachmentRef>,
    /// The latest operation on the storage.
    pub(crate) operation_id: OperationId,
    /// Price of one GiB for one month at the time of creation, as a decimal string.
    #[schema(value_type = String, example = "0.05")]
    pub(crate) price_per_gib_month: Decimal,
    /// Currency of the price (ISO 4217).
    pub(crate) currency: String,
    /// Time of creation.
    pub(crate) created_at: Timestamp,
    /// Time of the last change.
    pub(crate) updated_at: Timestamp,
}

impl StorageView {
    /// A storage with its attachments, which are taken out of `attachments`.
    pub(crate) fn new(
        storage: Storage,
        attachments: &mut Attachments,
        objects: Option<&ObjectStoreConfig>,
    ) -> Self {
        let objects = objects.filter(|_| storage.kind == StorageKind::Bucket);
        let bucket = objects.map(|objects| BucketAddress {
            name: storage.object_name(),
            endpoint: objects.public().to_owned(),
            region: objects.region.clone(),
        });
        let reason = storage.phase.reason();
        Self {
            bucket,
            reason: reason.map(|reason| reason.code),
            message: reason.map(|reason| reason.message.clone()),
            attachments: attachments.remove(&storage.id).unwrap_or_default(),
            id: storage.id,
            name: storage.name,
            kind: storage.kind,
            storage_spec: StorageSpecRef { id: storage.spec_id, name: storage.spec_name },
            size_gib: storage.size_gib,
            capacity_gib: storage.capacity_gib,
            state: storage.phase.state(),
            datacenter: storage.place.map(|place| place.datacenter),
            operation_id: storage.operation_id,
            price_per_gib_month: storage.price_per_gib_month,
            currency: storage.currency,
            created_at: storage.created_at,
            updated_at: storage.updated_at,
        }
    }
}

//! Why a storage is not available.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Reason codes of storages. New codes may be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
#[schema(as = StorageReason)]
pub(crate) enum ReasonCode {
    /// The volume was requested from the cluster, which has not reported on it yet.
    VolumeRequested,
    /// The cluster accepted the volume. It is provisioned at the latest when an instance mounts it.
    VolumeAccepted,
    /// The cluster is creating the volume.
    VolumePending,
    /// The cluster is enlarging the volume.
    VolumeGrowing,
    /// The cluster cannot provide the volume; the message says why.
    VolumeFailed,
    /// The volume has disappeared from the cluster, and was not deleted by this service.
    VolumeLost,
    /// The cluster is deleting the volume.
    VolumeDeleting,
    /// The cluster does not respond. The platform retries.
    ClusterUnavailable,
    /// The cluster refuses the volume; the message says why.
    ClusterRefused,
    /// The objects of the bucket are being deleted.
    BucketEmptying,
    /// The bucket has disappeared from the object store, and was not deleted by this service.
    BucketLost,
    /// Another user of the object store has a bucket of this name.
    BucketNameTaken,
    /// The object store does not respond. The platform retries.
    ObjectStoreUnavailable,
    /// The object store refuses the bucket; the message says why.
    ObjectStoreRefused,
}

impl fmt::Display for ReasonCode {
    /// The code as in JSON.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// A reason code with a sentence for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reason {
    pub(crate) code: ReasonCode,
    pub(crate) message: String,
}

impl Reason {
    pub(crate) fn new(code: ReasonCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_have_each_code() {
        assert_eq!(api::operation_reason::missing::<ReasonCode>(), Vec::<serde_json::Value>::new());
    }

    #[test]
    fn a_code_displays_as_in_json() {
        assert_eq!(ReasonCode::ObjectStoreRefused.to_string(), "object_store_refused");
    }
}

//! What an attachment is.

use ids::{InstanceId, TenantId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::storage_spec::Kind;

/// How an instance uses a storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub(crate) enum AttachmentMode {
    /// It may change files.
    ReadWrite,
    /// It may only read.
    ReadOnly,
}

/// An instance that a storage is kept for.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct AttachmentRef {
    /// The instance.
    pub(crate) instance_id: InstanceId,
    /// How it uses the storage.
    pub(crate) mode: AttachmentMode,
    /// Since when.
    pub(crate) since: Timestamp,
}

/// Asks for a storage to be kept for an instance.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AttachRequest {
    /// Whose both are; another tenant's storage is not found.
    pub(crate) tenant_id: TenantId,
    /// How it will be used.
    pub(crate) mode: AttachmentMode,
}

/// Where an attached storage is.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Attachment {
    /// Volume or bucket.
    pub(crate) kind: Kind,
    /// The configured name of the cluster that has the volume; null for a bucket.
    pub(crate) cluster: Option<String>,
    /// The name of the `GpuStorage`, or of the bucket.
    pub(crate) object_name: String,
}

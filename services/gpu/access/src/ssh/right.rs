//! The right of a key to an instance.

use auth::Grant;
use ids::{InstanceId, SshKeyId, TenantId, UserId};
use serde::Serialize;
use utoipa::ToSchema;

/// To whom a key belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub(crate) enum KeyOwner {
    /// A user: it opens what the user may open.
    User,
    /// An instance: it opens this one.
    Instance,
}

/// The right of a key to an instance.
#[derive(Debug, Clone)]
pub(super) struct Right {
    pub(super) instance: InstanceId,
    pub(super) tenant: TenantId,
    /// The user who has the key, or who added it to the instance.
    pub(super) user: UserId,
    pub(super) key: SshKeyId,
    pub(super) owner: KeyOwner,
    pub(super) fingerprint: String,
    /// The grant with which the right ends.
    pub(super) grant: Grant,
}

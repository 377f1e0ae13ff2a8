//! Credentials as clients see them.

use ids::{ApiKeyId, UserId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// State of a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
#[schema(as = BucketCredentialState)]
pub(crate) enum CredentialState {
    /// Being created. Removed if it does not become active within minutes.
    Making,
    /// Valid.
    Active,
    /// Being removed.
    Removing,
}

/// An access key, without its secret.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = BucketCredential)]
pub(crate) struct Credential {
    /// Access key id.
    pub(crate) access_key_id: String,
    /// Current state.
    pub(crate) state: CredentialState,
    /// The user who created it, or took it over: it ends with this user's rights in the tenant. Null if it belongs to
    /// the tenant, for example because its maker was not recorded.
    pub(crate) created_by: Option<UserId>,
    /// The API key with which it was created and with which it ends, or null.
    pub(crate) created_by_key: Option<ApiKeyId>,
    /// Time of creation.
    pub(crate) created_at: Timestamp,
}

/// A new access key.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = NewBucketCredential)]
pub(crate) struct NewCredential {
    /// Access key id.
    pub(crate) access_key_id: String,
    /// Secret key. Sent once: null in the response to a replayed request.
    pub(crate) secret_access_key: Option<String>,
    /// Name of the bucket.
    pub(crate) bucket: String,
    /// Base URL for S3 clients (path style), `http(s)://host:port`.
    pub(crate) endpoint: String,
    /// Region for request signatures.
    pub(crate) region: String,
}

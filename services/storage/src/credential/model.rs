//! What a credential is.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Whether a key works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
#[schema(as = BucketCredentialState)]
pub(crate) enum CredentialState {
    /// It is being made; one that stays so was cut short and is removed.
    Making,
    /// It works.
    Active,
    /// It is being removed.
    Removing,
}

/// A key, without its secret.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = BucketCredential)]
pub(crate) struct Credential {
    /// The access key id.
    pub(crate) access_key_id: String,
    /// Whether it works.
    pub(crate) state: CredentialState,
    /// When it was made.
    pub(crate) created_at: Timestamp,
}

/// A new key pair.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = NewBucketCredential)]
pub(crate) struct NewCredential {
    /// The access key id.
    pub(crate) access_key_id: String,
    /// The secret, shown this once: a repeated request with the same Idempotency-Key answers without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) secret_access_key: Option<String>,
    /// The bucket's name.
    pub(crate) bucket: String,
    /// `http(s)://host:port` (path style).
    pub(crate) endpoint: String,
    /// What to sign with.
    pub(crate) region: String,
}

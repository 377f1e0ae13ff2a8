//! Models as JSON.

use api::Checks;
use ids::{JobId, ModelId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Kind of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum ModelKind {
    /// A low-rank adapter of a base model.
    Lora,
}

/// A model: the result of a training.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Model)]
pub(super) struct ModelView {
    /// Model id.
    pub(super) id: ModelId,
    /// Name; others may have the same.
    #[schema(example = "our dog")]
    pub(super) name: String,
    /// Kind of the model.
    pub(super) kind: ModelKind,
    /// Name of the base model that it adapts.
    #[schema(example = "default")]
    pub(super) base_model: String,
    /// The job that made it.
    pub(super) job_id: JobId,
    /// SHA-256 of the file, in hexadecimal.
    #[schema(example = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")]
    pub(super) sha256: String,
    /// Size of the file in bytes.
    #[schema(example = 1_204)]
    pub(super) bytes: i64,
    #[serde(skip)]
    pub(super) generation: i64,
    /// Time of creation.
    pub(super) created_at: Timestamp,
    /// Time of the last change.
    pub(super) updated_at: Timestamp,
}

/// A change of a model.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelChange {
    /// New name, 1 to 100 characters.
    #[schema(example = "our dog")]
    #[serde(deserialize_with = "api::text::nfc")]
    pub(super) name: String,
}

impl ModelChange {
    pub(super) fn check(&self, checks: &mut Checks) {
        checks.display_name("/name", &self.name, 100);
    }
}

//! Base models as JSON.

use ids::PoolId;
use jobs_core::needs::BaseModelKind;
use serde::Serialize;
use utoipa::ToSchema;

/// A checkpoint or base model that workers of a pool have.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct BaseModel {
    /// The name by which jobs ask for it.
    #[schema(example = "sd-1.5")]
    pub(crate) name: String,
    /// What it is for.
    pub(crate) kind: BaseModelKind,
    /// The pool.
    pub(crate) pool_id: PoolId,
    /// Name of the pool.
    #[schema(example = "generation")]
    pub(crate) pool: String,
    /// Number of workers of the pool that have it now. With 0, new workers are expected to have it.
    #[schema(example = 4)]
    pub(crate) workers: i64,
}

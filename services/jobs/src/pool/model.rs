//! Pools as JSON.

use api::Checks;
use ids::PoolId;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A new pool.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewPool {
    /// Unique name, an RFC 1123 label.
    #[schema(example = "generation")]
    pub(crate) name: String,
    /// Names of the GPU specifications of its workers, in the order in which jobs prefer them: 1 to 16.
    #[schema(example = json!(["3080-small-4-1"]))]
    pub(crate) gpu_specs: Vec<String>,
}

impl NewPool {
    pub(super) fn check(&self, checks: &mut Checks) {
        checks.name("/name", &self.name);
        checks.within("/gpu_specs", self.gpu_specs.len(), 1, 16);
        for (n, spec) in self.gpu_specs.iter().enumerate() {
            let at = format!("/gpu_specs/{n}");
            checks.name(&at, spec);
            checks.require(!self.gpu_specs[..n].contains(spec), &at, "duplicate name");
        }
    }
}

/// A pool: workers of one kind with one scheduler.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Pool {
    /// Pool id.
    pub(crate) id: PoolId,
    /// Unique name.
    #[schema(example = "generation")]
    pub(crate) name: String,
    /// Names of the GPU specifications of its workers, in the order in which jobs prefer them.
    #[schema(example = json!(["3080-small-4-1"]))]
    pub(crate) gpu_specs: Vec<String>,
    /// Time of creation.
    pub(crate) created_at: Timestamp,
}

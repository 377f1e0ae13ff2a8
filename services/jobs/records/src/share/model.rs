//! Shares as JSON.

use api::Checks;
use ids::TenantId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Greatest weight, and greatest number of workers.
const MAX: u32 = 10_000;

/// The share of a tenant in a pool. A job with several workers counts once for each of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Share {
    /// Weight of the tenant when workers that are not guaranteed are divided among tenants with jobs that wait.
    #[schema(minimum = 1, maximum = 10000, example = 100)]
    pub weight: u32,
    /// Workers that the tenant gets before others. Other tenants may use them while it does not; it gets them back when
    /// it needs them.
    #[schema(minimum = 0, maximum = 10000, example = 4)]
    pub guarantee: u32,
    /// Maximum number of workers at the same time; null for no limit.
    #[schema(minimum = 0, maximum = 10000, example = 16)]
    pub limit: Option<u32>,
    /// Maximum number of workers for urgent jobs at the same time; further urgent jobs rank as ordinary ones.
    #[schema(minimum = 0, maximum = 10000, example = 1)]
    pub urgent: u32,
}

impl Default for Share {
    fn default() -> Self {
        Self { weight: 100, guarantee: 0, limit: None, urgent: 1 }
    }
}

impl Share {
    pub(super) fn check(&self, checks: &mut Checks) {
        checks.within("/weight", self.weight, 1, MAX);
        checks.within("/guarantee", self.guarantee, 0, MAX);
        checks.within("/urgent", self.urgent, 0, MAX);
        if let Some(limit) = self.limit {
            checks.within("/limit", limit, self.guarantee.min(MAX), MAX);
        }
    }
}

/// The share that a tenant has in a pool.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct PoolShare {
    /// The tenant.
    pub(super) tenant_id: TenantId,
    /// The share.
    pub(super) share: Share,
}

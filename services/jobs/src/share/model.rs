//! Shares as JSON.

use api::Checks;
use ids::TenantId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Greatest weight, and greatest number of workers.
const MAX: u32 = 10_000;

/// What a tenant is entitled to in a pool. A job of several workers counts with each of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Share {
    /// In which proportion tenants get the workers that are not guaranteed, while their jobs wait.
    #[schema(minimum = 1, maximum = 10000, example = 100)]
    pub(crate) weight: u32,
    /// Workers that the tenant gets before others. Of what it does not use, others may use all; it gets that back when it needs it.
    #[schema(minimum = 0, maximum = 10000, example = 4)]
    pub(crate) guarantee: u32,
    /// Most workers at a time; null for no limit.
    #[schema(minimum = 0, maximum = 10000, example = 16)]
    pub(crate) limit: Option<u32>,
    /// Most workers at a time for urgent jobs; the others rank as ordinary ones.
    #[schema(minimum = 0, maximum = 10000, example = 1)]
    pub(crate) urgent: u32,
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
    /// What it is entitled to.
    pub(super) share: Share,
}

/// What a tenant is entitled to in a pool, and what it uses.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct ShareInUse {
    /// What it is entitled to.
    pub(super) share: Share,
    /// Workers that its jobs run on.
    #[schema(example = 3)]
    pub(super) workers: u32,
    /// Of these, workers of urgent jobs.
    #[schema(example = 1)]
    pub(super) urgent_workers: u32,
    /// Jobs that wait for workers.
    #[schema(example = 12)]
    pub(super) queued: u32,
}

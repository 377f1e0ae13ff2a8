//! Quotas of tenants.

use ids::TenantId;
use sqlx::PgConnection;

use super::store;
use crate::{config::LimitsConfig, error::Error};

/// What a quota limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quota {
    /// Number of storages.
    Storages,
    /// Sum of their sizes in GiB.
    StorageGib,
}

impl Quota {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Storages => "storages",
            Self::StorageGib => "storage_gib",
        }
    }
}

/// What a request exceeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exceeded {
    pub(crate) quota: Quota,
    pub(crate) limit: i64,
    pub(crate) used: i64,
    pub(crate) requested: i64,
}

/// What a tenant has, or a request adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Usage {
    pub(super) storages: i64,
    pub(super) gib: i64,
}

/// Returns the quota that `used` and `added` exceed together. What adds nothing to a quota does not exceed it.
fn exceeded(limits: &LimitsConfig, used: Usage, added: Usage) -> Option<Exceeded> {
    let quotas = [
        (Quota::Storages, limits.storages_per_tenant, used.storages, added.storages),
        (Quota::StorageGib, limits.gib_per_tenant, used.gib, added.gib),
    ];
    let over = |&(_, limit, used, requested): &(Quota, i64, i64, i64)| {
        requested > 0 && used.saturating_add(requested) > limit
    };
    let found = quotas.into_iter().find(over);
    found.map(|(quota, limit, used, requested)| Exceeded { quota, limit, used, requested })
}

/// Refuses what exceeds a quota. Other requests of the tenant that add storage wait until this transaction ends.
pub(super) async fn check(
    conn: &mut PgConnection,
    limits: &LimitsConfig,
    tenant: TenantId,
    added: Usage,
) -> Result<(), Error> {
    store::lock_usage(conn, tenant).await?;
    let used = store::usage(conn, tenant).await?;
    exceeded(limits, used, added).map_or(Ok(()), |exceeded| Err(Error::QuotaExceeded(exceeded)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_is_reached_but_not_exceeded() {
        let limits = LimitsConfig { storages_per_tenant: 2, gib_per_tenant: 100 };
        let usage = |storages, gib| Usage { storages, gib };
        assert_eq!(exceeded(&limits, usage(1, 60), usage(1, 40)), None);
        assert_eq!(
            exceeded(&limits, usage(2, 60), usage(1, 1)),
            Some(Exceeded { quota: Quota::Storages, limit: 2, used: 2, requested: 1 })
        );
        assert_eq!(
            exceeded(&limits, usage(1, 60), usage(1, 41)),
            Some(Exceeded { quota: Quota::StorageGib, limit: 100, used: 60, requested: 41 })
        );
        assert_eq!(exceeded(&limits, usage(5, 100), usage(0, 0)), None, "after the quota was lowered");
        assert!(exceeded(&limits, usage(0, i64::MAX), usage(0, 1)).is_some());
    }
}

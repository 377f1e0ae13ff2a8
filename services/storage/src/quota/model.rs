//! The limits of a tenant, and which of them a request exceeds. Pure.

use api::{Problem, ProblemType};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::config::LimitsConfig;

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

impl From<Exceeded> for Problem {
    fn from(Exceeded { quota, limit, used, requested }: Exceeded) -> Self {
        let quota = quota.as_str();
        let detail = format!(
            "The tenant's quota of {quota} is {limit}; {used} are in use, and {requested} more are requested."
        );
        Self::new(ProblemType::QuotaExceeded, detail)
            .with("quota", quota)
            .with("limit", limit)
            .with("used", used)
            .with("requested", requested)
    }
}

/// Usage of a tenant, or what a request adds to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = StorageUsage)]
pub(crate) struct Usage {
    /// Storages, including those that are being deleted.
    pub(crate) storages: i64,
    /// Sum of their sizes in GiB.
    pub(crate) gib: i64,
}

/// Limits of a tenant, as an administrator has set them. Null is the limit that is configured for all tenants.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
#[schema(as = StorageLimits)]
pub(crate) struct Limits {
    /// Storages.
    #[schema(minimum = 0, maximum = 2_147_483_647)]
    pub(crate) storages: Option<i64>,
    /// Sum of the sizes of all storages, in GiB.
    #[schema(minimum = 0, maximum = 2_147_483_647)]
    pub(crate) gib: Option<i64>,
}

/// Limits of what a tenant may have at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = EffectiveStorageLimits)]
pub(crate) struct EffectiveLimits {
    /// Storages.
    storages: i64,
    /// Sum of the sizes of all storages, in GiB.
    gib: i64,
}

impl Limits {
    pub(super) fn check(self, checks: &mut api::Checks) {
        for (pointer, limit) in [("/storages", self.storages), ("/gib", self.gib)] {
            checks.within(pointer, limit.unwrap_or(0), 0, i64::from(i32::MAX));
        }
    }

    /// Returns the effective limits: these, or the configured ones.
    pub(super) fn effective(self, defaults: &LimitsConfig) -> EffectiveLimits {
        EffectiveLimits {
            storages: self.storages.unwrap_or(defaults.storages_per_tenant),
            gib: self.gib.unwrap_or(defaults.gib_per_tenant),
        }
    }
}

impl EffectiveLimits {
    /// Returns the quota that `used` and `added` exceed together. What adds nothing to a quota does not exceed it.
    pub(super) fn exceeded(self, used: Usage, added: Usage) -> Option<Exceeded> {
        let quotas = [
            (Quota::Storages, self.storages, used.storages, added.storages),
            (Quota::StorageGib, self.gib, used.gib, added.gib),
        ];
        let over = |&(_, limit, used, requested): &(Quota, i64, i64, i64)| {
            requested > 0 && used.saturating_add(requested) > limit
        };
        let found = quotas.into_iter().find(over);
        found.map(|(quota, limit, used, requested)| Exceeded { quota, limit, used, requested })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(storages: i64, gib: i64) -> Usage {
        Usage { storages, gib }
    }

    #[test]
    fn a_quota_is_reached_but_not_exceeded() {
        let limits = EffectiveLimits { storages: 2, gib: 100 };
        assert_eq!(limits.exceeded(usage(1, 60), usage(1, 40)), None);
        assert_eq!(
            limits.exceeded(usage(2, 60), usage(1, 1)),
            Some(Exceeded { quota: Quota::Storages, limit: 2, used: 2, requested: 1 })
        );
        assert_eq!(
            limits.exceeded(usage(1, 60), usage(1, 41)),
            Some(Exceeded { quota: Quota::StorageGib, limit: 100, used: 60, requested: 41 })
        );
        assert_eq!(limits.exceeded(usage(5, 100), usage(0, 0)), None, "after the quota was lowered");
        assert!(limits.exceeded(usage(0, i64::MAX), usage(0, 1)).is_some());
    }

    #[test]
    fn what_an_administrator_has_not_set_is_as_configured() {
        let defaults = LimitsConfig { storages_per_tenant: 3, gib_per_tenant: 50 };
        let limits = Limits { storages: None, gib: Some(0) };
        assert_eq!(limits.effective(&defaults), EffectiveLimits { storages: 3, gib: 0 });
    }
}

//! Changed routes, and when each change became known.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{PoisonError, RwLock},
    time::Duration,
};

use gpu_api::RouteChange;
use ids::{InstanceId, TenantId};
use tokio::time::Instant;

/// How long a change is kept: longer than any route that was read before it is used.
const REMEMBERED: Duration = Duration::from_secs(300);
/// Maximum number of changes before old ones are removed.
const ENOUGH: usize = 1024;

/// The changes that were read, numbered in their order.
#[derive(Default)]
pub(super) struct Changed(RwLock<State>);

#[derive(Default)]
struct State {
    /// Number of the last change.
    position: u64,
    instances: Latest<InstanceId>,
    tenants: Latest<TenantId>,
}

/// The last change of each key.
struct Latest<K> {
    changes: HashMap<K, (u64, Instant)>,
    /// Number of changes at which old ones are removed.
    limit: usize,
}

impl<K> Default for Latest<K> {
    fn default() -> Self {
        Self { changes: HashMap::new(), limit: ENOUGH }
    }
}

impl<K: Eq + Hash> Latest<K> {
    fn insert(&mut self, key: K, position: u64) {
        let now = Instant::now();
        self.changes.insert(key, (position, now));
        if self.changes.len() > self.limit {
            self.changes.retain(|_, (_, at)| now.duration_since(*at) < REMEMBERED);
            self.limit = ENOUGH.max(2 * self.changes.len());
        }
    }

    fn is_after(&self, key: &K, position: u64) -> bool {
        self.changes.get(key).is_some_and(|(change, _)| *change > position)
    }
}

impl Changed {
    /// Number of the last change.
    pub(super) fn position(&self) -> u64 {
        self.0.read().unwrap_or_else(PoisonError::into_inner).position
    }

    pub(super) fn insert(&self, change: RouteChange) {
        let mut state = self.0.write().unwrap_or_else(PoisonError::into_inner);
        state.position += 1;
        let position = state.position;
        if let Some(instance) = change.instance_id {
            state.instances.insert(instance, position);
        }
        if let Some(tenant) = change.tenant_id {
            state.tenants.insert(tenant, position);
        }
    }

    /// Whether a change of this instance or tenant came after the one with the number `position`.
    pub(super) fn is_after(&self, instance: InstanceId, tenant: Option<TenantId>, position: u64) -> bool {
        let state = self.0.read().unwrap_or_else(PoisonError::into_inner);
        state.instances.is_after(&instance, position)
            || tenant.is_some_and(|tenant| state.tenants.is_after(&tenant, position))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_later_changes_of_the_same_key_count() {
        let (changed, instance, tenant) = (Changed::default(), InstanceId::new(), TenantId::new());
        let before = changed.position();
        changed.insert(RouteChange { instance_id: Some(instance), tenant_id: None });
        let between = changed.position();
        changed.insert(RouteChange { instance_id: None, tenant_id: Some(tenant) });
        assert!(changed.is_after(instance, None, before));
        assert!(!changed.is_after(instance, None, between));
        assert!(changed.is_after(instance, Some(tenant), between));
        assert!(!changed.is_after(instance, Some(tenant), changed.position()));
        assert!(!changed.is_after(InstanceId::new(), Some(TenantId::new()), before));
    }

    #[tokio::test(start_paused = true)]
    async fn old_changes_are_forgotten() {
        let changed = Changed::default();
        let insert = |count| {
            for _ in 0..count {
                changed.insert(RouteChange { instance_id: Some(InstanceId::new()), tenant_id: None });
            }
        };
        insert(ENOUGH);
        tokio::time::advance(REMEMBERED).await;
        insert(1);
        assert_eq!(changed.0.read().unwrap().instances.changes.len(), 1);
        insert(ENOUGH * 2);
        assert_eq!(changed.0.read().unwrap().instances.changes.len(), ENOUGH * 2 + 1, "none of these is old");
    }
}

//! How many connections a tenant has in this replica. Each replica counts its own.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use ids::TenantId;

/// The connections of tenants. Clones share them.
#[derive(Clone)]
pub(super) struct Connections {
    limit: u32,
    open: Arc<Mutex<HashMap<TenantId, u32>>>,
}

/// A counted connection.
pub(super) struct Slot {
    connections: Connections,
    tenant: TenantId,
}

impl Connections {
    pub(super) fn new(limit: u32) -> Self {
        Self { limit, open: Arc::default() }
    }

    /// Counts a connection until the result is dropped. None if the tenant has reached its limit.
    pub(super) fn open(&self, tenant: TenantId) -> Option<Slot> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(tenant).or_default();
        if *count >= self.limit {
            return None;
        }
        *count += 1;
        Some(Slot { connections: self.clone(), tenant })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut open = self.connections.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&self.tenant) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.tenant);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_has_so_many_connections_at_a_time() {
        let connections = Connections::new(1);
        let (one, other) = (TenantId::new(), TenantId::new());
        let first = connections.open(one).unwrap();
        assert!(connections.open(one).is_none());
        assert!(connections.open(other).is_some(), "another tenant has its own");
        drop(first);
        assert!(connections.open(one).is_some());
        assert!(connections.open.lock().unwrap().is_empty());
    }
}

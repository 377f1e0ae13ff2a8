//! Claims on devices, and mirrors of storages.

use std::collections::HashSet;
use std::sync::Arc;

use k8s_openapi::api::resource::v1::ResourceClaim;
use kube::ResourceExt as _;
use plans::observation::{ObservedDeviceClaim, ObservedMirror};

use super::{Cache, Key, VersionedClaim, is_known};

impl Cache {
    /// Puts a claim on devices from a watch or from the response to a write. Older versions are ignored.
    pub(crate) fn put_device_claim(&self, claim: &ResourceClaim) -> Vec<Key> {
        let Some(observed) = ObservedDeviceClaim::of(claim) else { return Vec::new() };
        let version = claim.resource_version().unwrap_or_default();
        let unit = observed.unit.clone();
        let mut inner = self.write();
        if inner.tombstones.contains(&observed.uid) {
            return Vec::new();
        }
        let slot = inner.slots.entry(unit.clone()).or_default();
        match slot.device_claims.iter_mut().find(|known| known.claim.uid == observed.uid) {
            Some(known) if is_known(Some(&known.version), Some(&version)) => return Vec::new(),
            Some(known) => {
                known.version = version;
                if *known.claim == observed {
                    return Vec::new();
                }
                known.claim = Arc::new(observed);
            }
            None => slot.device_claims.push(VersionedClaim { claim: Arc::new(observed), version }),
        }
        vec![Key::Unit(unit)]
    }

    pub(crate) fn drop_device_claim(&self, unit: &str, uid: &str) -> Vec<Key> {
        let mut inner = self.write();
        inner.tombstones.add(uid);
        if let Some(slot) = inner.slots.get_mut(unit) {
            slot.device_claims.retain(|known| known.claim.uid != uid);
            if slot.is_empty() {
                inner.slots.remove(unit);
            }
        }
        vec![Key::Unit(unit.to_owned())]
    }

    /// Drops the claims on devices that are missing from a complete list.
    pub(crate) fn retain_device_claims(&self, seen: &HashSet<String>) -> Vec<Key> {
        let lost: Vec<Arc<ObservedDeviceClaim>> = {
            let inner = self.read();
            let claims = inner.slots.values().flat_map(|slot| &slot.device_claims);
            claims.map(|known| known.claim.clone()).filter(|claim| !seen.contains(&claim.uid)).collect()
        };
        lost.iter().flat_map(|claim| self.drop_device_claim(&claim.unit, &claim.uid)).collect()
    }

    /// The claims on devices of a unit, which may no longer exist.
    pub(crate) fn device_claims(&self, unit: &str) -> Vec<Arc<ObservedDeviceClaim>> {
        let inner = self.read();
        let claims = inner.slots.get(unit).map(|slot| &slot.device_claims);
        claims.into_iter().flatten().map(|known| known.claim.clone()).collect()
    }

    pub(crate) fn put_mirror(&self, observed: ObservedMirror) -> Vec<Key> {
        let unit = observed.unit.clone();
        let mut inner = self.write();
        let slot = inner.slots.entry(unit.clone()).or_default();
        match slot.mirrors.iter_mut().find(|known| known.name == observed.name) {
            Some(known) if **known == observed => return Vec::new(),
            Some(known) => *known = Arc::new(observed),
            None => slot.mirrors.push(Arc::new(observed)),
        }
        vec![Key::Unit(unit)]
    }

    pub(crate) fn drop_mirror(&self, unit: &str, name: &str) -> Vec<Key> {
        let mut inner = self.write();
        if let Some(slot) = inner.slots.get_mut(unit) {
            slot.mirrors.retain(|mirror| mirror.name != name);
            if slot.is_empty() {
                inner.slots.remove(unit);
            }
        }
        vec![Key::Unit(unit.to_owned())]
    }

    /// Drops the mirrors that are missing from a complete list.
    pub(crate) fn retain_mirrors(&self, seen: &HashSet<String>) -> Vec<Key> {
        let lost: Vec<Arc<ObservedMirror>> = {
            let inner = self.read();
            let mirrors = inner.slots.values().flat_map(|slot| slot.mirrors.iter().cloned());
            mirrors.filter(|mirror| !seen.contains(&mirror.name)).collect()
        };
        lost.iter().flat_map(|mirror| self.drop_mirror(&mirror.unit, &mirror.name)).collect()
    }
}

//! What the watches have told, kept as views and indexed the way decisions ask.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crds::{GpuStorage, GpuUnit};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::resource::v1::ResourceClaim;
use kube::ResourceExt as _;
use tokio::time::Instant;

use crate::unit::devices;
use crate::unit::plan::Observed;
use crate::view::{ClaimView, DeviceClaimView, Dra, MirrorView, NodeView, PodView, Role, StorageView};

/// How many removed pods and claims are remembered, so that a late answer does not bring one back.
const GONE_KEPT: usize = 16_384;

/// A thing to look at.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Key {
    /// A unit by name.
    Unit(String),
    /// A storage by name.
    Storage(String),
    /// A tenant's namespace by name.
    Tenant(String),
}

impl Key {
    /// The kind of object, for metrics.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Unit(_) => "unit",
            Self::Storage(_) => "storage",
            Self::Tenant(_) => "tenant",
        }
    }
}

/// An object of a tenant's namespace that the operator applied: its hash and the version it is known in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Applied {
    pub(crate) hash: String,
    pub(crate) version: String,
    /// Somebody else changed it since.
    pub(crate) tampered: bool,
    /// Whether root inside containers is allowed (namespaces).
    pub(crate) root_inside: bool,
}

#[derive(Default)]
struct Slot {
    unit: Option<Arc<GpuUnit>>,
    pods: Vec<Arc<PodView>>,
    /// Claims on devices, each with the version it is known in.
    device_claims: Vec<(Arc<DeviceClaimView>, String)>,
    mirrors: Vec<Arc<MirrorView>>,
    settled_since: Option<Timestamp>,
    preempted: bool,
    /// The start or restart that was asked for last, and when this process heard of it.
    asked: Option<(i64, i64, Instant)>,
}

impl Slot {
    fn is_empty(&self) -> bool {
        self.unit.is_none()
            && self.pods.is_empty()
            && self.device_claims.is_empty()
            && self.mirrors.is_empty()
    }
}

#[derive(Default)]
struct Inner {
    slots: HashMap<String, Slot>,
    nodes: HashMap<String, NodeView>,
    storages: HashMap<String, Arc<GpuStorage>>,
    claims: HashMap<String, ClaimView>,
    /// By namespace and `kind/name`.
    applied: HashMap<String, BTreeMap<String, Applied>>,
    gone: HashSet<String>,
    gone_order: VecDeque<String>,
    began: Option<Timestamp>,
    /// Whether each of the kinds that claimed devices need can be watched.
    dra: BTreeMap<String, Dra>,
}

impl Inner {
    /// Remembers that an object is gone.
    fn bury(&mut self, uid: &str) {
        if self.gone.insert(uid.to_owned()) {
            self.gone_order.push_back(uid.to_owned());
            if self.gone_order.len() > GONE_KEPT
                && let Some(oldest) = self.gone_order.pop_front()
            {
                self.gone.remove(&oldest);
            }
        }
    }
}

/// The cache; clones share it.
#[derive(Clone, Default)]
pub(crate) struct Cache(Arc<RwLock<Inner>>);

/// Whether what is known is as new as what is seen. Versions are numbers wherever they can be compared at
/// all; where they are not, what is seen counts.
fn is_known(known: Option<&str>, seen: Option<&str>) -> bool {
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<u64>().ok());
    matches!((number(known), number(seen)), (Some(known), Some(seen)) if known >= seen)
}

impl Cache {
    fn read(&self) -> RwLockReadGuard<'_, Inner> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Inner> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks the time from which on this process could act on what it sees.
    pub(crate) fn begin(&self, now: Timestamp) {
        self.write().began = Some(now);
    }

    /// Takes in a unit, from a watch or from the answer to a write; older versions are ignored.
    pub(crate) fn put_unit(&self, mut unit: GpuUnit) -> Vec<Key> {
        unit.metadata.managed_fields = None;
        let name = unit.name_any();
        let mut inner = self.write();
        let slot = inner.slots.entry(name.clone()).or_default();
        if let Some(known) = &slot.unit
            && known.uid() == unit.uid()
            && is_known(known.resource_version().as_deref(), unit.resource_version().as_deref())
        {
            return Vec::new();
        }
        let asked = unit.spec.instance.as_ref().map(|instance| (instance.attempt, instance.restart));
        if slot.asked.map(|(attempt, restart, _)| (attempt, restart)) != asked {
            slot.asked = asked.map(|(attempt, restart)| (attempt, restart, Instant::now()));
        }
        slot.unit = Some(Arc::new(unit));
        vec![Key::Unit(name)]
    }

    pub(crate) fn drop_unit(&self, name: &str, uid: Option<&str>) -> Vec<Key> {
        let mut inner = self.write();
        if let Some(slot) = inner.slots.get_mut(name) {
            let same = slot.unit.as_ref().is_none_or(|unit| uid.is_none() || unit.uid().as_deref() == uid);
            if same {
                slot.unit = None;
            }
            if slot.is_empty() {
                inner.slots.remove(name);
            }
        }
        vec![Key::Unit(name.to_owned())]
    }

    /// Takes in a pod from a watch.
    pub(crate) fn put_pod(&self, pod: &Pod) -> Vec<Key> {
        let Some(view) = PodView::of(pod) else { return Vec::new() };
        self.put_pod_view(view, true)
    }

    /// Takes in a pod from the answer to its creation, unless the watch knows it or its end already.
    pub(crate) fn put_created(&self, pod: &Pod) {
        if let Some(view) = PodView::of(pod) {
            self.put_pod_view(view, false);
        }
    }

    /// A pod of the unit was deleted by this process: that counts before a watch tells it, and no older
    /// event takes it back.
    pub(crate) fn deleted_pod(&self, unit: &str, uid: &str) {
        let mut inner = self.write();
        let Some(slot) = inner.slots.get_mut(unit) else { return };
        if let Some(known) = slot.pods.iter_mut().find(|known| known.uid == uid) {
            Arc::make_mut(known).deleting = true;
        }
    }

    fn put_pod_view(&self, mut view: PodView, watched: bool) -> Vec<Key> {
        let unit = view.unit.clone();
        let mut inner = self.write();
        if !watched && inner.gone.contains(&view.uid) {
            return Vec::new();
        }
        let slot = inner.slots.entry(unit.clone()).or_default();
        match slot.pods.iter_mut().find(|known| known.uid == view.uid) {
            Some(_) if !watched => return Vec::new(),
            Some(known) => {
                view.deleting |= known.deleting;
                if **known == view {
                    return Vec::new();
                }
                *known = Arc::new(view);
            }
            None => slot.pods.push(Arc::new(view)),
        }
        vec![Key::Unit(unit)]
    }

    pub(crate) fn drop_pod(&self, pod: &Pod, now: Timestamp) -> Vec<Key> {
        let Some(view) = PodView::of(pod) else { return Vec::new() };
        self.drop_pod_of(&view.unit, &view.uid, Some(&view), now)
    }

    fn drop_pod_of(&self, unit: &str, uid: &str, last: Option<&PodView>, now: Timestamp) -> Vec<Key> {
        let mut inner = self.write();
        inner.bury(uid);
        if let Some(slot) = inner.slots.get_mut(unit) {
            let known = slot.pods.iter().find(|pod| pod.uid == uid).cloned();
            slot.pods.retain(|pod| pod.uid != uid);
            slot.settled_since = Some(now);
            if let Some(view) = last.or(known.as_deref()).filter(|view| view.role == Role::Placeholder) {
                slot.preempted = view.disruption.as_deref() == Some("PreemptionByScheduler");
            }
            if slot.is_empty() {
                inner.slots.remove(unit);
            }
        }
        vec![Key::Unit(unit.to_owned())]
    }

    /// After a complete list: forgets the pods that were not in it.
    pub(crate) fn keep_pods(&self, seen: &HashSet<String>, now: Timestamp) -> Vec<Key> {
        let lost: Vec<(String, String)> = {
            let inner = self.read();
            let pods = inner.slots.values().flat_map(|slot| &slot.pods);
            pods.filter(|pod| !seen.contains(&pod.uid))
                .map(|pod| (pod.unit.clone(), pod.uid.clone()))
                .collect()
        };
        lost.iter().flat_map(|(unit, uid)| self.drop_pod_of(unit, uid, None, now)).collect()
    }

    /// After a complete list: forgets the units that were not in it.
    pub(crate) fn keep_units(&self, seen: &HashSet<String>) -> Vec<Key> {
        let lost: Vec<String> = {
            let inner = self.read();
            let known = inner.slots.iter().filter(|(_, slot)| slot.unit.is_some());
            known.map(|(name, _)| name.clone()).filter(|name| !seen.contains(name)).collect()
        };
        lost.iter().flat_map(|name| self.drop_unit(name, None)).collect()
    }

    pub(crate) fn put_node(&self, name: &str, view: Option<NodeView>) -> Vec<Key> {
        let mut inner = self.write();
        let changed = match view {
            Some(view) => inner.nodes.insert(name.to_owned(), view.clone()) != Some(view),
            None => inner.nodes.remove(name).is_some(),
        };
        if !changed {
            return Vec::new();
        }
        let touches = |pod: &Arc<PodView>| {
            pod.node.as_deref() == Some(name) || pod.required_node.as_deref() == Some(name)
        };
        let claims = |(claim, _): &(Arc<DeviceClaimView>, String)| claim.node.as_deref() == Some(name);
        let units = inner
            .slots
            .iter()
            .filter(|(_, slot)| slot.pods.iter().any(touches) || slot.device_claims.iter().any(claims));
        units.map(|(unit, _)| Key::Unit(unit.clone())).collect()
    }

    /// Takes in a claim on devices, from a watch or from the answer to a write; older versions are ignored.
    pub(crate) fn put_device_claim(&self, claim: &ResourceClaim) -> Vec<Key> {
        let Some(view) = DeviceClaimView::of(claim) else { return Vec::new() };
        let version = claim.resource_version().unwrap_or_default();
        let unit = view.unit.clone();
        let mut inner = self.write();
        if inner.gone.contains(&view.uid) {
            return Vec::new();
        }
        let slot = inner.slots.entry(unit.clone()).or_default();
        match slot.device_claims.iter_mut().find(|(known, _)| known.uid == view.uid) {
            Some((_, known)) if is_known(Some(known), Some(&version)) => return Vec::new(),
            Some((known, at)) => {
                *at = version;
                if **known == view {
                    return Vec::new();
                }
                *known = Arc::new(view);
            }
            None => slot.device_claims.push((Arc::new(view), version)),
        }
        vec![Key::Unit(unit)]
    }

    pub(crate) fn drop_device_claim(&self, unit: &str, uid: &str) -> Vec<Key> {
        let mut inner = self.write();
        inner.bury(uid);
        if let Some(slot) = inner.slots.get_mut(unit) {
            slot.device_claims.retain(|(claim, _)| claim.uid != uid);
            if slot.is_empty() {
                inner.slots.remove(unit);
            }
        }
        vec![Key::Unit(unit.to_owned())]
    }

    /// After a complete list: forgets the claims on devices that were not in it.
    pub(crate) fn keep_device_claims(&self, seen: &HashSet<String>) -> Vec<Key> {
        let lost: Vec<Arc<DeviceClaimView>> = {
            let inner = self.read();
            let claims = inner.slots.values().flat_map(|slot| &slot.device_claims);
            claims.map(|(claim, _)| claim.clone()).filter(|claim| !seen.contains(&claim.uid)).collect()
        };
        lost.iter().flat_map(|claim| self.drop_device_claim(&claim.unit, &claim.uid)).collect()
    }

    /// Claims on devices of a unit, also of one that does not exist any more.
    pub(crate) fn device_claims(&self, unit: &str) -> Vec<Arc<DeviceClaimView>> {
        let inner = self.read();
        let claims = inner.slots.get(unit).map(|slot| &slot.device_claims);
        claims.into_iter().flatten().map(|(claim, _)| claim.clone()).collect()
    }

    pub(crate) fn put_mirror(&self, view: MirrorView) -> Vec<Key> {
        let unit = view.unit.clone();
        let mut inner = self.write();
        let slot = inner.slots.entry(unit.clone()).or_default();
        match slot.mirrors.iter_mut().find(|known| known.name == view.name) {
            Some(known) if **known == view => return Vec::new(),
            Some(known) => *known = Arc::new(view),
            None => slot.mirrors.push(Arc::new(view)),
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

    /// After a complete list: forgets the mirrors that were not in it.
    pub(crate) fn keep_mirrors(&self, seen: &HashSet<String>) -> Vec<Key> {
        let lost: Vec<Arc<MirrorView>> = {
            let inner = self.read();
            let mirrors = inner.slots.values().flat_map(|slot| slot.mirrors.iter().cloned());
            mirrors.filter(|mirror| !seen.contains(&mirror.name)).collect()
        };
        lost.iter().flat_map(|mirror| self.drop_mirror(&mirror.unit, &mirror.name)).collect()
    }

    /// Whether a kind that claimed devices need can be watched; gives the units that this is news for.
    pub(crate) fn put_dra(&self, kind: &str, dra: Dra) -> Vec<Key> {
        let mut inner = self.write();
        if inner.dra.insert(kind.to_owned(), dra) == Some(dra) {
            return Vec::new();
        }
        let claimed = |unit: &Arc<GpuUnit>| devices::are_claimed(&unit.spec);
        let units = inner.slots.iter().filter(|(_, slot)| slot.unit.as_ref().is_some_and(claimed));
        units.map(|(unit, _)| Key::Unit(unit.clone())).collect()
    }

    pub(crate) fn node_names(&self) -> Vec<String> {
        self.read().nodes.keys().cloned().collect()
    }

    pub(crate) fn put_storage(&self, mut storage: GpuStorage) -> Vec<Key> {
        storage.metadata.managed_fields = None;
        let name = storage.name_any();
        let mut inner = self.write();
        if let Some(known) = inner.storages.get(&name)
            && known.uid() == storage.uid()
            && is_known(known.resource_version().as_deref(), storage.resource_version().as_deref())
        {
            return Vec::new();
        }
        inner.storages.insert(name.clone(), Arc::new(storage));
        Self::touched_by_storage(&inner, &name)
    }

    pub(crate) fn drop_storage(&self, name: &str) -> Vec<Key> {
        let mut inner = self.write();
        inner.storages.remove(name);
        Self::touched_by_storage(&inner, name)
    }

    pub(crate) fn put_claim(&self, name: &str, view: Option<ClaimView>) -> Vec<Key> {
        let mut inner = self.write();
        match view {
            Some(view) => inner.claims.insert(name.to_owned(), view),
            None => inner.claims.remove(name),
        };
        Self::touched_by_storage(&inner, name)
    }

    pub(crate) fn storage_names(&self) -> Vec<String> {
        self.read().storages.keys().cloned().collect()
    }

    pub(crate) fn claim_names(&self) -> Vec<String> {
        self.read().claims.keys().cloned().collect()
    }

    fn touched_by_storage(inner: &Inner, name: &str) -> Vec<Key> {
        let waits = |unit: &Arc<GpuUnit>| {
            let volumes = unit.spec.instance.iter().flat_map(|instance| &instance.volumes);
            volumes.filter_map(|volume| volume.storage.as_deref()).any(|storage| storage == name)
        };
        let units = inner.slots.iter().filter(|(_, slot)| slot.unit.as_ref().is_some_and(waits));
        units.map(|(unit, _)| Key::Unit(unit.clone())).chain([Key::Storage(name.to_owned())]).collect()
    }

    /// An object of a tenant's namespace as a watch shows it; `None`: it is gone. `own`: the version that
    /// the operator's own write gave it.
    pub(crate) fn put_applied(
        &self,
        namespace: &str,
        object: &str,
        seen: Option<Applied>,
        own: bool,
    ) -> Vec<Key> {
        let mut inner = self.write();
        let objects = inner.applied.entry(namespace.to_owned()).or_default();
        let known = objects.get(object).cloned();
        let Some(mut seen) = seen else {
            let was = objects.remove(object).is_some();
            if objects.is_empty() {
                inner.applied.remove(namespace);
            }
            return if was { vec![Key::Tenant(namespace.to_owned())] } else { Vec::new() };
        };
        if let Some(known) = known.filter(|_| !own) {
            if is_known(Some(&known.version), Some(&seen.version)) {
                return Vec::new();
            }
            seen.tampered = true;
        }
        let tampered = seen.tampered;
        objects.insert(object.to_owned(), seen);
        if tampered { vec![Key::Tenant(namespace.to_owned())] } else { Vec::new() }
    }

    /// What is known of a tenant's namespace: by `kind/name`.
    pub(crate) fn applied(&self, namespace: &str) -> BTreeMap<String, Applied> {
        self.read().applied.get(namespace).cloned().unwrap_or_default()
    }

    pub(crate) fn applied_names(&self, kind: &str) -> Vec<(String, String)> {
        let inner = self.read();
        let all = inner
            .applied
            .iter()
            .flat_map(|(namespace, objects)| objects.keys().map(move |object| (namespace, object)));
        all.filter(|(_, object)| object.starts_with(kind))
            .map(|(namespace, object)| (namespace.clone(), object.clone()))
            .collect()
    }

    /// The unit whose home the namespace is.
    pub(crate) fn at_home(&self, namespace: &str) -> Option<Arc<GpuUnit>> {
        self.unit(namespace).filter(|unit| devices::home(unit).is_some())
    }

    /// A tenant has units or storages that need its namespace.
    pub(crate) fn tenant_in_use(&self, namespace: &str) -> bool {
        let inner = self.read();
        let by_storage = inner.storages.values().any(|storage| storage.spec.tenant_id == namespace);
        let of_tenant = |unit: &Arc<GpuUnit>| {
            unit.spec.instance.as_ref().is_some_and(|instance| instance.tenant_id == namespace)
        };
        by_storage || inner.slots.values().any(|slot| slot.unit.as_ref().is_some_and(of_tenant))
    }

    pub(crate) fn unit(&self, name: &str) -> Option<Arc<GpuUnit>> {
        self.read().slots.get(name)?.unit.clone()
    }

    pub(crate) fn units(&self) -> Vec<Arc<GpuUnit>> {
        self.read().slots.values().filter_map(|slot| slot.unit.clone()).collect()
    }

    /// The pods of a unit, also of one that does not exist any more.
    pub(crate) fn pods(&self, unit: &str) -> Vec<Arc<PodView>> {
        self.read().slots.get(unit).map(|slot| slot.pods.clone()).unwrap_or_default()
    }

    /// When this process heard of the start or restart that the unit is asked for now.
    pub(crate) fn asked_at(&self, unit: &str) -> Option<Instant> {
        self.read().slots.get(unit)?.asked.map(|(_, _, at)| at)
    }

    pub(crate) fn storage(&self, name: &str) -> Option<(Arc<GpuStorage>, Option<ClaimView>)> {
        let inner = self.read();
        Some((inner.storages.get(name)?.clone(), inner.claims.get(name).cloned()))
    }

    /// Everything there is to look at.
    pub(crate) fn keys(&self) -> Vec<Key> {
        let inner = self.read();
        let units = inner.slots.keys().cloned().map(Key::Unit);
        let storages = inner.storages.keys().cloned().map(Key::Storage);
        units.chain(storages).chain(inner.applied.keys().cloned().map(Key::Tenant)).collect()
    }

    /// What a decision about the unit looks at.
    pub(crate) fn observe(&self, unit: &GpuUnit, now: Timestamp) -> Observed {
        let inner = self.read();
        let slot = inner.slots.get(&unit.name_any());
        let pods: Vec<PodView> =
            slot.map(|slot| slot.pods.iter().map(|pod| (**pod).clone()).collect()).unwrap_or_default();
        let claims: Vec<DeviceClaimView> = slot
            .map(|slot| slot.device_claims.iter().map(|(claim, _)| (**claim).clone()).collect())
            .unwrap_or_default();
        let of_pods = pods.iter().flat_map(|pod| pod.node.iter().chain(pod.required_node.iter()));
        let names: BTreeSet<&String> =
            of_pods.chain(claims.iter().filter_map(|claim| claim.node.as_ref())).collect();
        let nodes = names
            .into_iter()
            .filter_map(|name| Some((name.clone(), inner.nodes.get(name)?.clone())))
            .collect();
        let wanted = unit
            .spec
            .instance
            .iter()
            .flat_map(|instance| &instance.volumes)
            .filter_map(|volume| volume.storage.as_ref());
        let storages = wanted
            .filter_map(|name| {
                let storage = inner.storages.get(name)?;
                let claim = inner
                    .claims
                    .get(name)
                    .filter(|claim| claim.namespace == storage.spec.tenant_id && !claim.deleting);
                let view = StorageView {
                    tenant: storage.spec.tenant_id.clone(),
                    mountable: storage.metadata.deletion_timestamp.is_none()
                        && claim.is_some_and(|claim| claim.phase != "Lost"),
                    volume: claim
                        .filter(|claim| claim.phase == "Bound")
                        .and_then(|claim| claim.volume.clone()),
                };
                Some((name.clone(), view))
            })
            .collect();
        Observed {
            now,
            settled_since: slot.and_then(|slot| slot.settled_since).max(inner.began).unwrap_or(now),
            preempted: slot.is_some_and(|slot| slot.preempted),
            pods,
            nodes,
            storages,
            dra: inner.dra.values().copied().min().unwrap_or_default(),
            claims,
            mirrors: slot
                .map(|slot| slot.mirrors.iter().map(|mirror| (**mirror).clone()).collect())
                .unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crds::names;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_deletion_of_our_own_counts_at_once_and_no_older_event_takes_it_back() {
        let pod = |node: Option<&str>| -> Pod {
            let labels = json!({(names::LABEL_UNIT): "u", (names::LABEL_ROLE): names::ROLE_PLACEHOLDER});
            let metadata = json!({"namespace": "n", "name": "p", "uid": "1", "labels": labels});
            serde_json::from_value(
                json!({"metadata": metadata, "spec": {"nodeName": node, "containers": []}}),
            )
            .unwrap()
        };
        let cache = Cache::default();
        cache.put_pod(&pod(None));
        cache.deleted_pod("u", "1");
        assert!(cache.pods("u")[0].deleting);
        // it was bound just before
        cache.put_pod(&pod(Some("a")));
        let known = cache.pods("u");
        assert_eq!((known[0].node.as_deref(), known[0].deleting), (Some("a"), true));
    }
}

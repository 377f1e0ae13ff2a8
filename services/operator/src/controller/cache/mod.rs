//! The cache: what the watches have observed, indexed the way plans need it.
//!
//! Each `put_…`, `drop_…` and `retain_…` returns the objects to reconcile because of the change.

mod applied;
mod claims;
mod downloads;
mod pods;
mod snapshot;
mod storages;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crds::{GpuStorage, GpuUnit, Instance};
use jiff::Timestamp;
use kube::ResourceExt as _;
use plans::observation::{
    DraSupport, ObservedDeviceClaim, ObservedDownload, ObservedMirror, ObservedNode, ObservedPod,
    ObservedRuntimeClass, ObservedVolumeClaim,
};
use plans::unit::snapshot::PlaceCheck;
use tokio::time::Instant;

pub(crate) use applied::Applied;

/// Number of deleted pods and claims that are kept, so that a late response does not restore one.
const TOMBSTONES_MAX: usize = 16_384;

/// The key of an object to reconcile.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Key {
    /// A unit by name.
    Unit(String),
    /// A storage by name.
    Storage(String),
    /// A tenant's or unit's namespace by name.
    Namespace(String),
}

impl Key {
    /// The kind of object, for metrics.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Unit(_) => "unit",
            Self::Storage(_) => "storage",
            Self::Namespace(_) => "namespace",
        }
    }
}

/// A start or restart that a unit was asked for.
#[derive(Clone, Copy, Debug)]
struct Request {
    attempt: i64,
    restart: i64,
    /// When this process observed it.
    at: Instant,
}

/// A claim on devices and the resource version it was observed in.
#[derive(Clone, Debug)]
struct VersionedClaim {
    claim: Arc<ObservedDeviceClaim>,
    version: String,
}

/// The cached objects of one unit.
#[derive(Default)]
struct Slot {
    unit: Option<Arc<GpuUnit>>,
    pods: Vec<Arc<ObservedPod>>,
    device_claims: Vec<VersionedClaim>,
    mirrors: Vec<Arc<ObservedMirror>>,
    pod_gone_at: Option<Timestamp>,
    preempted: bool,
    place_check: Option<PlaceCheck>,
    request: Option<Request>,
}

impl Slot {
    /// Keeps the time of the first observation of a request.
    fn observe_request(&mut self, instance: Option<&Instance>) {
        self.request = instance.map(|instance| {
            let (attempt, restart) = (instance.attempt, instance.restart);
            let known = self.request.filter(|known| (known.attempt, known.restart) == (attempt, restart));
            known.unwrap_or_else(|| Request { attempt, restart, at: Instant::now() })
        });
    }

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
    nodes: HashMap<String, ObservedNode>,
    runtime_classes: BTreeMap<String, ObservedRuntimeClass>,
    storages: HashMap<String, Arc<GpuStorage>>,
    volume_claims: HashMap<String, ObservedVolumeClaim>,
    /// Pods of downloads, by storage.
    downloads: HashMap<String, Vec<ObservedDownload>>,
    /// By namespace and `kind/name`.
    applied: HashMap<String, BTreeMap<String, Applied>>,
    tombstones: Tombstones,
    /// UIDs of pods that were created since all pods were listed.
    fresh_pods: HashSet<String>,
    /// The scheduler has answered about one of them.
    scheduler_heard: bool,
    began: Option<Timestamp>,
    /// By kind: since when it is watched without interruption; `None` while it is not.
    watched: BTreeMap<String, Option<Timestamp>>,
    /// Whether each kind that claimed devices need can be watched.
    dra: BTreeMap<String, DraSupport>,
}

/// UIDs of deleted objects, the oldest first.
#[derive(Default)]
struct Tombstones {
    uids: HashSet<String>,
    order: VecDeque<String>,
}

impl Tombstones {
    fn add(&mut self, uid: &str) {
        if self.uids.insert(uid.to_owned()) {
            self.order.push_back(uid.to_owned());
            if self.order.len() > TOMBSTONES_MAX
                && let Some(oldest) = self.order.pop_front()
            {
                self.uids.remove(&oldest);
            }
        }
    }

    fn contains(&self, uid: &str) -> bool {
        self.uids.contains(uid)
    }
}

/// The cache. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Cache(Arc<RwLock<Inner>>);

/// Whether the known version is at least as new as the observed one. Versions are compared as numbers; if they are not
/// numbers, the observed one counts.
fn is_known(known: Option<&str>, observed: Option<&str>) -> bool {
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<u64>().ok());
    matches!((number(known), number(observed)), (Some(known), Some(observed)) if known >= observed)
}

impl Cache {
    fn read(&self) -> RwLockReadGuard<'_, Inner> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Inner> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the time from which this process can act on its observations.
    pub(crate) fn begin(&self, now: Timestamp) {
        self.write().began = Some(now);
    }

    /// Puts since when a kind is watched without interruption; `None` if it is not.
    pub(crate) fn put_watched(&self, kind: &str, since: Option<Timestamp>) {
        let mut inner = self.write();
        if kind == "Pod" {
            inner.fresh_pods.clear();
            inner.scheduler_heard = false;
        }
        inner.watched.insert(kind.to_owned(), since);
    }

    /// Puts a unit from a watch or from the response to a write. Older versions are ignored.
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
        slot.observe_request(unit.spec.instance.as_ref());
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

    /// Drops the units that are missing from a complete list.
    pub(crate) fn retain_units(&self, seen: &HashSet<String>) -> Vec<Key> {
        let lost: Vec<String> = {
            let inner = self.read();
            let known = inner.slots.iter().filter(|(_, slot)| slot.unit.is_some());
            known.map(|(name, _)| name.clone()).filter(|name| !seen.contains(name)).collect()
        };
        lost.iter().flat_map(|name| self.drop_unit(name, None)).collect()
    }

    pub(crate) fn put_node(&self, name: &str, observed: Option<ObservedNode>) -> Vec<Key> {
        let mut inner = self.write();
        let changed = match observed {
            Some(observed) => inner.nodes.insert(name.to_owned(), observed.clone()) != Some(observed),
            None => inner.nodes.remove(name).is_some(),
        };
        if !changed {
            return Vec::new();
        }
        let is_on_node = |pod: &Arc<ObservedPod>| {
            pod.node.as_deref() == Some(name) || pod.required_node.as_deref() == Some(name)
        };
        let has_devices = |known: &VersionedClaim| known.claim.node.as_deref() == Some(name);
        let units = inner.slots.iter().filter(|(_, slot)| {
            slot.pods.iter().any(is_on_node) || slot.device_claims.iter().any(has_devices)
        });
        units.map(|(unit, _)| Key::Unit(unit.clone())).collect()
    }

    /// Puts a runtime class. All units report whether they can use it.
    pub(crate) fn put_runtime_class(&self, name: &str, observed: Option<ObservedRuntimeClass>) -> Vec<Key> {
        let mut inner = self.write();
        let changed = match observed {
            Some(observed) => {
                inner.runtime_classes.insert(name.to_owned(), observed.clone()) != Some(observed)
            }
            None => inner.runtime_classes.remove(name).is_some(),
        };
        let units = inner.slots.iter().filter(|(_, slot)| changed && slot.unit.is_some());
        units.map(|(unit, _)| Key::Unit(unit.clone())).collect()
    }

    pub(crate) fn runtime_class_names(&self) -> Vec<String> {
        self.read().runtime_classes.keys().cloned().collect()
    }

    /// Puts whether a kind that claimed devices need can be watched.
    pub(crate) fn put_dra(&self, kind: &str, dra: DraSupport) -> Vec<Key> {
        let mut inner = self.write();
        if inner.dra.insert(kind.to_owned(), dra) == Some(dra) {
            return Vec::new();
        }
        let claimed = |unit: &Arc<GpuUnit>| unit.spec.claims_devices();
        let units = inner.slots.iter().filter(|(_, slot)| slot.unit.as_ref().is_some_and(claimed));
        units.map(|(unit, _)| Key::Unit(unit.clone())).collect()
    }

    /// Puts the answer to a question of the unit's plan.
    pub(crate) fn put_place_check(&self, unit: &str, check: PlaceCheck) {
        if let Some(slot) = self.write().slots.get_mut(unit) {
            slot.place_check = Some(check);
        }
    }

    pub(crate) fn node_names(&self) -> Vec<String> {
        self.read().nodes.keys().cloned().collect()
    }

    pub(crate) fn unit(&self, name: &str) -> Option<Arc<GpuUnit>> {
        self.read().slots.get(name)?.unit.clone()
    }

    pub(crate) fn units(&self) -> Vec<Arc<GpuUnit>> {
        self.read().slots.values().filter_map(|slot| slot.unit.clone()).collect()
    }

    /// When this process observed the current start or restart request of the unit.
    pub(crate) fn requested_at(&self, unit: &str) -> Option<Instant> {
        self.read().slots.get(unit)?.request.map(|request| request.at)
    }

    /// All objects.
    pub(crate) fn keys(&self) -> Vec<Key> {
        let inner = self.read();
        let units = inner.slots.keys().cloned().map(Key::Unit);
        let storages = inner.storages.keys().chain(inner.downloads.keys()).cloned().map(Key::Storage);
        units.chain(storages).chain(inner.applied.keys().cloned().map(Key::Namespace)).collect()
    }
}

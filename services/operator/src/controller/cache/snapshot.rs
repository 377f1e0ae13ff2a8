//! The snapshot for the plan of one unit.

use std::collections::{BTreeMap, BTreeSet};

use crds::{GpuStorage, GpuUnit};
use jiff::Timestamp;
use kube::ResourceExt as _;
use plans::observation::{ObservedNode, ObservedPod, ObservedStorage, ObservedVolumeClaim, Role};
use plans::unit::snapshot::Snapshot;

use super::{Cache, Inner, Slot};

/// The kinds that places depend on.
const WATCHED: [&str; 2] = ["Node", "Pod"];

impl Cache {
    /// The snapshot for the plan of a unit.
    pub(crate) fn snapshot(&self, unit: &GpuUnit, now: Timestamp) -> Snapshot {
        let inner = self.read();
        let empty = Slot::default();
        let slot = inner.slots.get(&unit.name_any()).unwrap_or(&empty);
        Snapshot {
            now,
            observed_since: inner.observed_since().unwrap_or(now),
            pod_gone_at: slot.pod_gone_at,
            preempted: slot.preempted,
            outage: inner.is_outage(),
            place_check: slot.place_check.clone(),
            scheduler_heard: inner.scheduler_heard,
            pods: slot.pods_that(|role| role.uses_place()),
            guards: slot.pods_that(|role| !role.uses_place()),
            nodes: inner.nodes_of(slot),
            storages: inner.storages_of(unit),
            runtime_classes: inner.runtime_classes.clone(),
            dra: inner.dra.values().copied().min().unwrap_or_default(),
            claims: slot.device_claims.iter().map(|known| (*known.claim).clone()).collect(),
            mirrors: slot.mirrors.iter().map(|mirror| (**mirror).clone()).collect(),
        }
    }
}

impl Slot {
    fn pods_that(&self, has_role: impl Fn(Role) -> bool) -> Vec<ObservedPod> {
        self.pods.iter().filter(|pod| has_role(pod.role)).map(|pod| (**pod).clone()).collect()
    }
}

impl Inner {
    /// Since when everything that places depend on is watched without interruption, and this process may act on it.
    /// `None` while a watch is interrupted.
    fn observed_since(&self) -> Option<Timestamp> {
        let watched = WATCHED.map(|kind| self.watched.get(kind).copied().flatten());
        let all = watched.into_iter().chain([self.began]);
        all.reduce(|latest, since| Some(latest?.max(since?))).flatten()
    }

    /// Whether most nodes are not ready: all of them, or more than two and at least 55 percent. These are the limits of
    /// Kubernetes's node controller.
    fn is_outage(&self) -> bool {
        let down = self.nodes.values().filter(|node| !node.ready).count();
        let all = self.nodes.len();
        down > 0 && (down == all || (down > 2 && down * 100 >= all * 55))
    }

    /// The existing nodes that the unit's status, pods and claims refer to.
    fn nodes_of(&self, slot: &Slot) -> BTreeMap<String, ObservedNode> {
        let of_status = slot.unit.as_ref().and_then(|unit| unit.status.as_ref()?.node.as_ref());
        let of_pods = slot.pods.iter().flat_map(|pod| pod.node.iter().chain(pod.required_node.iter()));
        let of_claims = slot.device_claims.iter().filter_map(|known| known.claim.node.as_ref());
        let names: BTreeSet<&String> = of_pods.chain(of_claims).chain(of_status).collect();
        names.into_iter().filter_map(|name| Some((name.clone(), self.nodes.get(name)?.clone()))).collect()
    }

    /// The existing storages that the unit's instance mounts.
    fn storages_of(&self, unit: &GpuUnit) -> BTreeMap<String, ObservedStorage> {
        let volumes = unit.spec.instance.iter().flat_map(|instance| &instance.volumes);
        let names = volumes.filter_map(|volume| volume.storage.as_ref());
        names
            .filter_map(|name| {
                Some((name.clone(), observe(self.storages.get(name)?, self.volume_claims.get(name))))
            })
            .collect()
    }
}

fn observe(storage: &GpuStorage, claim: Option<&ObservedVolumeClaim>) -> ObservedStorage {
    let claim = claim.filter(|claim| claim.namespace == storage.spec.tenant_id && !claim.deleting);
    ObservedStorage {
        tenant: storage.spec.tenant_id.clone(),
        mountable: storage.metadata.deletion_timestamp.is_none()
            && claim.is_some_and(|claim| claim.phase != "Lost"),
        volume: claim.filter(|claim| claim.phase == "Bound").and_then(|claim| claim.volume.clone()),
    }
}

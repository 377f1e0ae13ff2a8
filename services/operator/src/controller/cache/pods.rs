//! Pods of units.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use crds::GpuUnit;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use plans::observation::{ObservedPod, Role};

use super::{Cache, Inner, Key, Slot, is_known};

impl Cache {
    /// Puts a pod from a watch.
    pub(crate) fn put_pod(&self, pod: &Pod) -> Vec<Key> {
        let Some(observed) = ObservedPod::of(pod) else { return Vec::new() };
        self.put_observed_pod(observed, true)
    }

    /// Puts a pod from the response to its creation, unless the watch has observed it or its deletion already.
    pub(crate) fn put_created(&self, pod: &Pod) {
        if let Some(observed) = ObservedPod::of(pod) {
            self.put_observed_pod(observed, false);
        }
    }

    /// Marks a pod as being deleted by this process. No older event reverts that.
    pub(crate) fn mark_deleting(&self, unit: &str, uid: &str) {
        let mut inner = self.write();
        let Some(slot) = inner.slots.get_mut(unit) else { return };
        if let Some(known) = slot.pods.iter_mut().find(|known| known.uid == uid) {
            Arc::make_mut(known).deleting = true;
        }
    }

    /// Marks a pod as bound by this process. A bound pod keeps its node, so no older event reverts that.
    pub(crate) fn mark_bound(&self, unit: &str, namespace: &str, name: &str, node: &str) {
        let mut inner = self.write();
        let Some(slot) = inner.slots.get_mut(unit) else { return };
        let mut pods = slot.pods.iter_mut();
        if let Some(known) = pods.find(|known| known.namespace == namespace && known.name == name) {
            Arc::make_mut(known).node = Some(node.to_owned());
        }
    }

    fn put_observed_pod(&self, mut observed: ObservedPod, watched: bool) -> Vec<Key> {
        let unit = observed.unit.clone();
        let mut inner = self.write();
        if !watched && inner.tombstones.contains(&observed.uid) {
            return Vec::new();
        }
        inner.hear_scheduler(&observed);
        let slot = inner.slots.entry(unit.clone()).or_default();
        match slot.pods.iter_mut().find(|known| known.uid == observed.uid) {
            Some(_) if !watched => return Vec::new(),
            // the first word of the watch about a write of this process, or a list after a gap
            Some(known) if known.version == observed.version && !known.version.is_empty() => {}
            Some(known) if is_known(Some(&known.version), Some(&observed.version)) => return Vec::new(),
            Some(known) => {
                observed.deleting |= known.deleting;
                observed.node = observed.node.or_else(|| known.node.clone());
                // a new version alone is no news
                Arc::make_mut(known).version.clone_from(&observed.version);
                if **known == observed {
                    return Vec::new();
                }
                *known = Arc::new(observed);
            }
            None => slot.pods.push(Arc::new(observed)),
        }
        vec![Key::Unit(unit)]
    }

    pub(crate) fn drop_pod(&self, pod: &Pod, now: Timestamp) -> Vec<Key> {
        let Some(observed) = ObservedPod::of(pod) else { return Vec::new() };
        self.drop_pod_by_uid(&observed.unit, &observed.uid, Some(&observed), now)
    }

    fn drop_pod_by_uid(&self, unit: &str, uid: &str, last: Option<&ObservedPod>, now: Timestamp) -> Vec<Key> {
        let mut inner = self.write();
        inner.tombstones.add(uid);
        inner.fresh_pods.remove(uid);
        if let Some(slot) = inner.slots.get_mut(unit) {
            let known = slot.pods.iter().find(|pod| pod.uid == uid).cloned();
            slot.pods.retain(|pod| pod.uid != uid);
            if last.or(known.as_deref()).is_none_or(|pod| pod.role.uses_place()) {
                slot.pod_gone_at = Some(now);
            }
            if let Some(observed) =
                last.or(known.as_deref()).filter(|observed| observed.role == Role::Placeholder)
            {
                slot.preempted = observed.disruption.as_deref() == Some("PreemptionByScheduler");
            }
            if slot.is_empty() {
                inner.slots.remove(unit);
            }
        }
        vec![Key::Unit(unit.to_owned())]
    }

    /// Drops the pods that are missing from a complete list.
    pub(crate) fn retain_pods(&self, seen: &HashSet<String>, now: Timestamp) -> Vec<Key> {
        let lost: Vec<(String, String)> = {
            let inner = self.read();
            let pods = inner.slots.values().flat_map(|slot| &slot.pods);
            pods.filter(|pod| !seen.contains(&pod.uid))
                .map(|pod| (pod.unit.clone(), pod.uid.clone()))
                .collect()
        };
        lost.iter().flat_map(|(unit, uid)| self.drop_pod_by_uid(unit, uid, None, now)).collect()
    }

    /// Other units with no pod on the node and one of the instances' class that has waited for it for longer than this
    /// unit's, by name.
    pub(crate) fn rivals(&self, unit: &str, node: &str) -> BTreeMap<String, Arc<GpuUnit>> {
        let inner = self.read();
        let is_there =
            |slot: &Slot| slot.pods.iter().any(|pod| pod.node.as_deref() == Some(node) && !pod.deleting);
        let waits =
            |pod: &&Arc<ObservedPod>| pod.awaits_place() && pod.required_node.as_deref() == Some(node);
        let waits_since =
            |slot: &Slot| slot.pods.iter().filter(waits).map(|pod| (pod.created_at, pod.uid.clone())).min();
        let own = inner.slots.get(unit).and_then(waits_since);
        let others = inner.slots.iter().filter(|(name, slot)| {
            *name != unit
                && !is_there(slot)
                && waits_since(slot).is_some_and(|other| own.as_ref().is_none_or(|own| other < *own))
        });
        others.filter_map(|(name, slot)| Some((name.clone(), slot.unit.clone()?))).collect()
    }

    /// The pods of a unit, which may no longer exist.
    pub(crate) fn pods(&self, unit: &str) -> Vec<Arc<ObservedPod>> {
        self.read().slots.get(unit).map(|slot| slot.pods.clone()).unwrap_or_default()
    }
}

impl Inner {
    /// Keeps whether the scheduler follows the cluster since the last list of all pods: whether it has placed or refused a
    /// pod that was created after it.
    fn hear_scheduler(&mut self, pod: &ObservedPod) {
        if self.scheduler_heard || !self.watched.get("Pod").is_some_and(Option::is_some) {
            return;
        }
        let is_known = |slot: &Slot| slot.pods.iter().any(|known| known.uid == pod.uid);
        if !self.slots.get(&pod.unit).is_some_and(is_known) {
            self.fresh_pods.insert(pod.uid.clone());
        }
        // the operator binds only pods that require a node
        let is_placed = pod.node.is_some() && pod.required_node.is_none();
        self.scheduler_heard = (pod.is_tried() || is_placed) && self.fresh_pods.contains(&pod.uid);
    }
}

#[cfg(test)]
mod tests {
    use crds::names;
    use k8s_openapi::api::core::v1::Pod;
    use serde_json::json;

    use super::*;

    fn pod(version: &str, node: Option<&str>) -> Pod {
        let labels = json!({(names::LABEL_UNIT): "u", (names::LABEL_ROLE): names::ROLE_PLACEHOLDER});
        let metadata = json!({
            "namespace": "n", "name": "p", "uid": "1", "resourceVersion": version, "labels": labels,
        });
        serde_json::from_value(json!({"metadata": metadata, "spec": {"nodeName": node, "containers": []}}))
            .unwrap()
    }

    #[test]
    fn a_deletion_of_our_own_counts_at_once_and_no_older_event_takes_it_back() {
        let cache = Cache::default();
        cache.put_pod(&pod("1", None));
        cache.mark_deleting("u", "1");
        assert!(cache.pods("u")[0].deleting);
        // it was bound just before its deletion
        cache.put_pod(&pod("2", Some("a")));
        let known = cache.pods("u");
        assert_eq!((known[0].node.as_deref(), known[0].deleting), (Some("a"), true));
    }

    #[test]
    fn a_binding_of_our_own_counts_at_once_and_no_older_event_takes_it_back() {
        let cache = Cache::default();
        cache.put_pod(&pod("1", None));
        cache.mark_bound("u", "n", "another", "a");
        assert_eq!(cache.pods("u")[0].node, None);
        cache.mark_bound("u", "n", "p", "a");
        assert_eq!(cache.pods("u")[0].node.as_deref(), Some("a"));
        // it was nominated just before its binding
        cache.put_pod(&pod("2", None));
        let known = cache.pods("u");
        assert_eq!((known[0].node.as_deref(), known[0].version.as_str()), (Some("a"), "2"));
    }
}

//! Preemption: the pods that must be removed from a node for a pod of higher priority.

use super::fit::{NodeInfo, PodInfo, has_room, used_without};

/// The pods to remove from a node; `None` if preemption does not help there.
pub(super) fn victims<'a>(
    node: &'a NodeInfo,
    reserved: &[&PodInfo],
    pod: &PodInfo,
) -> Option<Vec<&'a PodInfo>> {
    let mut lower: Vec<&PodInfo> = node.pods.values().filter(|p| p.priority < pod.priority).collect();
    if lower.is_empty() {
        return None;
    }
    // pods of high priority are spared first; of equal ones the older
    lower.sort_by(|a, b| b.priority.cmp(&a.priority).then(a.created.cmp(&b.created)).then(a.uid.cmp(&b.uid)));
    let fits = |gone: &[&PodInfo]| {
        has_room(node, &used_without(node, gone), node.pods.len() - gone.len(), reserved, pod).is_empty()
    };
    if !fits(&lower) {
        return None;
    }
    let mut gone = lower.clone();
    for candidate in lower {
        let spared: Vec<&PodInfo> = gone.iter().copied().filter(|p| p.uid != candidate.uid).collect();
        if fits(&spared) {
            gone = spared;
        }
    }
    // resources are not the obstacle
    (!gone.is_empty()).then_some(gone)
}

/// The cost of removing pods: highest priority, then sum, then count.
pub(super) fn cost(victims: &[&PodInfo]) -> (i64, i64, usize) {
    let highest = victims.iter().map(|p| p.priority).max().unwrap_or(i64::MIN);
    (highest, victims.iter().map(|p| p.priority.saturating_add(1 << 31)).sum(), victims.len())
}

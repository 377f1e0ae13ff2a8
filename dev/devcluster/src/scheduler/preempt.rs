//! Preemption: on which node the fewest and least important pods would have to go.

use super::fit::{NodeInfo, PodInfo, has_room, used_without};

/// The pods to remove from a node so that the pod fits; `None` when nothing there helps.
pub(super) fn victims<'a>(
    node: &'a NodeInfo,
    reserved: &[&PodInfo],
    pod: &PodInfo,
) -> Option<Vec<&'a PodInfo>> {
    let mut lower: Vec<&PodInfo> = node.pods.values().filter(|p| p.priority < pod.priority).collect();
    if lower.is_empty() {
        return None;
    }
    // the most important are spared first; of equals the older
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
    // with nothing to remove the obstacle is another one
    (!gone.is_empty()).then_some(gone)
}

/// Smaller is better: highest victim priority, then sum, then count.
pub(super) fn cost(victims: &[&PodInfo]) -> (i64, i64, usize) {
    let highest = victims.iter().map(|p| p.priority).max().unwrap_or(i64::MIN);
    (highest, victims.iter().map(|p| p.priority.saturating_add(1 << 31)).sum(), victims.len())
}

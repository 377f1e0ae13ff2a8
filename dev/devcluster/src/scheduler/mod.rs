//! The scheduler: assigns pods without a node to nodes with room, pods of high priority first. A pod that does not fit
//! waits for a change that could help. A nominated pod (`status.nominatedNodeName`) keeps its place against pods of
//! the same or lower priority.

mod attempt;
mod cache;
mod claims;
mod fit;
mod preempt;

use crate::error::Failure;
use crate::faults::Part;
use crate::hub::Hub;
use crate::isolation::isolated;
use crate::store::{Event, Inner, Key, Object, Op};
use cache::Cache;
pub(crate) use claims::CLAIMS;
use fit::{NodeInfo, PodInfo};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Runs until the cluster stops.
pub(crate) async fn run(hub: Arc<Hub>) {
    let mut feed = hub.store.feed(&["nodes", CLAIMS, claims::SLICES, "pods"]);
    let mut cache = Cache::default();
    let mut faults = hub.faults.follow();
    loop {
        let reaches = hub.faults.reaches(&Part::Scheduler);
        let next = if reaches { schedule(&hub, &mut cache) } else { None };
        let retry = async {
            match next {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = hub.stop.cancelled() => return,
            () = faults.next() => if hub.faults.scheduler_is_starting() {
                feed.restart();
            },
            () = retry => {}
            event = hub.faults.next(&Part::Scheduler, &mut feed) => {
                let starts = hub.faults.scheduler_is_starting();
                if starts && matches!(event, Event::Changes(_)) {
                    feed.restart();
                    continue;
                }
                if let Event::Resync(objects) = &event && let Some(name) = replaced(&cache, objects) {
                    tracing::error!(pod = name, "the scheduler exits: a bound pod was replaced by another of its name");
                    hub.faults.scheduler_has_died();
                    cache = Cache::default();
                    continue;
                }
                observe(&mut cache, &event, starts);
                hub.faults.scheduler_has_started();
            }
        }
    }
}

/// The name of a bound pod in whose place there is another pod of the same name. As kube-scheduler 1.36 (kubernetes
/// pull request 141255), the scheduler takes the two for one pod when it has not seen the deletion between them, finds
/// it on another node than expected, and exits.
fn replaced(cache: &Cache, objects: &[Arc<Object>]) -> Option<String> {
    let found: HashMap<Key, &str> = objects
        .iter()
        .filter(|object| object.value["kind"] == "Pod")
        .map(|pod| (pod.key(), pod.uid()))
        .collect();
    let other = |pod: &&PodInfo| found.get(&pod.key).is_some_and(|uid| *uid != pod.uid);
    cache.bound_pods().find(other).map(|pod| format!("{}/{}", pod.key.0, pod.key.1))
}

/// `starts`: it has no memory of backoffs.
fn observe(cache: &mut Cache, event: &Event, starts: bool) {
    let mut helps = false;
    let mut see = |cache: &mut Cache, object: &Arc<Object>, gone: bool| {
        let observed = isolated("scheduler", object, || cache.observe(object, gone));
        helps |= observed.unwrap_or_default();
    };
    match event {
        Event::Resync(objects) => {
            let before = std::mem::take(cache);
            objects.iter().for_each(|object| see(cache, object, false));
            if !starts {
                cache.keep_backoff(&before);
            }
        }
        Event::Changes(changes) => {
            changes.iter().for_each(|c| see(cache, &c.object, c.op == Op::Deleted));
        }
    }
    if helps {
        cache.wake_all();
    }
}

/// Assigns a pod to a node on request.
pub(crate) fn assign(tx: &mut Inner, pod: &Arc<Object>, node: &str) -> Result<(), Failure> {
    attempt::assign(tx, &PodInfo::of(pod), node).map(drop)
}

/// The pods that a node's kubelet has admitted.
pub(crate) struct Admitted(NodeInfo);

impl Admitted {
    pub(crate) fn to(node: &Object) -> Self {
        Self(NodeInfo::of(node))
    }

    pub(crate) fn contains(&self, uid: &str) -> bool {
        self.0.pods.contains_key(uid)
    }

    /// The first resource of the node, as it is now, that a pod does not find beside the others.
    pub(crate) fn missing(&mut self, node: &Object, pod: &Arc<Object>) -> Option<String> {
        self.0.refresh(node);
        fit::lacking(&self.0, &self.0.used, self.0.pods.len(), &[], &PodInfo::of(pod)).into_iter().next()
    }

    pub(crate) fn add(&mut self, pod: &Arc<Object>) {
        self.0.add(PodInfo::of(pod));
    }

    pub(crate) fn remove(&mut self, uid: &str) {
        self.0.remove(uid);
    }

    /// Removes the pods that do not exist.
    pub(crate) fn keep(&mut self, existing: &HashSet<&str>) {
        let gone = self.0.pods.keys().filter(|uid| !existing.contains(uid.as_str()));
        for uid in gone.cloned().collect::<Vec<_>>() {
            self.0.remove(&uid);
        }
    }
}

/// Tries every pod that is due. Returns when the next one is.
fn schedule(hub: &Hub, cache: &mut Cache) -> Option<tokio::time::Instant> {
    loop {
        let due = cache.due();
        if due.is_empty() {
            return cache.next_due();
        }
        for uid in due {
            if !hub.faults.reaches(&Part::Scheduler) {
                return None;
            }
            let Some(pod) = cache.waiting(&uid).cloned() else { continue };
            let tried = isolated("scheduler", &pod.object, || attempt::attempt(hub, cache, &pod));
            if tried.is_none() {
                cache.park(&uid);
            }
        }
    }
}

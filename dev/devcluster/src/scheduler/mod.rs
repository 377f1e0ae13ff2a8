//! The scheduler: assigns pods without a node to nodes with room, pods of high priority first. A pod that does not fit
//! waits for a change that could help. A nominated pod (`status.nominatedNodeName`) keeps its place against pods of
//! the same or lower priority.
//!
//! When its watch breaks, it continues with its cached state and lists again later: deletions come first, as in
//! client-go, and pods are tried before new objects follow.

mod attempt;
mod cache;
mod claims;
mod fit;
mod preempt;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use objects::error::Failure;
use objects::resource_claim::CLAIMS;
use objects::store::{Event, Feed, Inner, Key, Object, Op};
use tokio::time::Instant;

use crate::faults::Part;
use crate::hub::Hub;
use crate::isolation::isolated;
use cache::Cache;
use fit::{NodeInfo, PodInfo};

/// Runs until the cluster stops.
pub(crate) async fn run(hub: Arc<Hub>) {
    let mut feed = hub.store.feed(&["nodes", CLAIMS, claims::SLICES, "pods"]);
    let mut cache = Cache::default();
    let mut faults = hub.faults.follow();
    let mut api_returns = hub.faults.api_returns();
    // when it lists again after an outage of the API server
    let mut lists_at = Instant::now();
    loop {
        let reaches = hub.faults.reaches(&Part::Scheduler);
        let next = if reaches { schedule(&hub, &mut cache, &mut feed).await } else { None };
        let retry = async {
            match next {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        let happened = async {
            tokio::time::sleep_until(lists_at).await;
            hub.faults.next(&Part::Scheduler, &mut feed).await
        };
        tokio::select! {
            () = hub.stop.cancelled() => return,
            () = faults.next() => {
                let known_returns = std::mem::replace(&mut api_returns, hub.faults.api_returns());
                if hub.faults.scheduler_is_starting() {
                    feed.restart();
                    lists_at = Instant::now();
                } else if known_returns != api_returns {
                    lists_at = Instant::now() + Duration::from_millis(hub.config.scheduler_reconnect_ms);
                }
            }
            () = retry => {}
            event = happened => {
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
                if starts {
                    cache = Cache::default();
                } else if let Event::Resync(objects) = &event && cache.forget_missing(objects) {
                    cache.wake_all();
                    try_due(&hub, &mut cache);
                }
                observe(&mut cache, &event);
                hub.faults.scheduler_has_started();
            }
        }
    }
}

/// The name of a bound pod in whose place there is another pod of the same name. As kube-scheduler 1.36
/// (kubernetes pull request 141255), the scheduler mistakes the two for one pod when it has not seen the
/// deletion between them, finds it on another node than expected, and exits.
fn replaced(cache: &Cache, objects: &[Arc<Object>]) -> Option<String> {
    let found: HashMap<Key, &str> = objects
        .iter()
        .filter(|object| object.value["kind"] == "Pod")
        .map(|pod| (pod.key(), pod.uid()))
        .collect();
    let other = |pod: &&PodInfo| found.get(&pod.key).is_some_and(|uid| *uid != pod.uid);
    cache.bound_pods().find(other).map(|pod| format!("{}/{}", pod.key.0, pod.key.1))
}

fn observe(cache: &mut Cache, event: &Event) {
    let mut helps = false;
    let mut see = |object: &Arc<Object>, gone: bool| {
        let observed = isolated("scheduler", object, || cache.observe(object, gone));
        helps |= observed.unwrap_or_default();
    };
    match event {
        Event::Resync(objects) => objects.iter().for_each(|object| see(object, false)),
        Event::Changes(changes) => changes.iter().for_each(|c| see(&c.object, c.op == Op::Deleted)),
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

    /// The first resource of the node, in its current state, that is not sufficient for a pod in addition to
    /// the others.
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
async fn schedule(hub: &Hub, cache: &mut Cache, feed: &mut Feed) -> Option<Instant> {
    let cycle = Duration::from_millis(hub.config.scheduler_cycle_ms);
    if cycle.is_zero() {
        return try_due(hub, cache);
    }
    while let Some(uid) = cache.due().into_iter().next() {
        let nodes = cache.nodes.clone();
        tokio::time::sleep(cycle).await;
        if !hub.faults.reaches(&Part::Scheduler) || !catch_up(cache, feed) {
            return None;
        }
        let current = std::mem::replace(&mut cache.nodes, nodes);
        attempt(hub, cache, &uid);
        cache.nodes = current;
        // its own binding, too
        catch_up(cache, feed);
    }
    cache.next_due()
}

/// Applies the changes until now. Returns false if everything must be listed again.
fn catch_up(cache: &mut Cache, feed: &mut Feed) -> bool {
    while let Some(event) = feed.poll() {
        if matches!(event, Event::Resync(_)) {
            feed.restart();
            return false;
        }
        observe(cache, &event);
    }
    true
}

/// Tries every pod that is due, one at a moment. Returns when the next one is.
fn try_due(hub: &Hub, cache: &mut Cache) -> Option<Instant> {
    loop {
        let due = cache.due();
        if due.is_empty() {
            return cache.next_due();
        }
        for uid in due {
            if !hub.faults.reaches(&Part::Scheduler) {
                return None;
            }
            attempt(hub, cache, &uid);
        }
    }
}

fn attempt(hub: &Hub, cache: &mut Cache, uid: &str) {
    let Some(pod) = cache.waiting(uid).cloned() else { return };
    let tried = isolated("scheduler", &pod.object, || attempt::attempt(hub, cache, &pod));
    if tried.is_none() {
        cache.park(uid);
    }
}

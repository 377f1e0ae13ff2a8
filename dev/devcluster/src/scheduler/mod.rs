//! The scheduler: pods without a node, most important first, onto nodes with room. It sleeps until something
//! happens that could change an answer; nominated pods (`status.nominatedNodeName`) hold their place against pods
//! of the same or lower priority.

mod claims;
mod fit;
mod preempt;

use crate::controllers::events;
use crate::error::Failure;
use crate::hub::Hub;
use crate::node::status::set_condition;
use crate::store::{Change, Inner, Object, Op};
use crate::verbs::{self, Write, delete};
pub(crate) use fit::tolerates;
use fit::{Misfit, NodeInfo, PodInfo};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How many feasible nodes are compared before the best of them is taken.
const ENOUGH: usize = 64;
const FIRST_BACKOFF: Duration = Duration::from_millis(2);
const LAST_BACKOFF: Duration = Duration::from_secs(1);

/// Puts a pod on a node (the binding subresource, and the scheduler's last step).
pub(crate) fn bind(
    hub: &Hub,
    tx: &mut Inner,
    namespace: &str,
    name: &str,
    node: &str,
) -> Result<Arc<Object>, Failure> {
    let resource = hub.kind("pods");
    let pod = tx.get("pods", namespace, name).ok_or_else(|| resource.not_found(name))?;
    if let Some(there) = pod.value["spec"]["nodeName"].as_str().filter(|n| !n.is_empty()) {
        return Err(Failure::conflict(
            "",
            "pods/binding",
            name,
            &format!("pod {name} is already assigned to node \"{there}\""),
        ));
    }
    if pod.terminating() {
        return Err(Failure::conflict(
            "",
            "pods/binding",
            name,
            &format!("pod {name} is being deleted, cannot be assigned to a host"),
        ));
    }
    if pod.value["spec"]["schedulingGates"].as_array().is_some_and(|g| !g.is_empty()) {
        return Err(Failure::conflict(
            "",
            "pods/binding",
            name,
            &format!("pod {name} has non-empty .spec.schedulingGates"),
        ));
    }
    let mut value = pod.value.clone();
    value["spec"]["nodeName"] = node.into();
    if let Some(status) = value["status"].as_object_mut() {
        status.shift_remove("nominatedNodeName");
    }
    set_condition(&mut value["status"], "PodScheduled", "True", "", "");
    let w = Write { subresource: "binding", ..Write::internal(&resource, namespace, name, "kube-scheduler") };
    verbs::system_update(tx, &w, &pod, value)
}

struct Waiting {
    pod: PodInfo,
    attempts: u32,
    not_before: Instant,
    /// Looked at since the last event that could help.
    parked: bool,
}

/// A node, the pods that would have to go there, and how bad that is.
type Candidate<'a> = ((i64, i64, usize), &'a NodeInfo, Vec<&'a PodInfo>);

#[derive(Default)]
struct Cache {
    nodes: BTreeMap<String, NodeInfo>,
    waiting: HashMap<String, Waiting>,
    /// Node of each bound pod.
    places: HashMap<String, String>,
    /// Pods with a promised place, by node.
    nominated: HashMap<String, Vec<String>>,
    turn: usize,
}

/// Runs until the cluster stops.
pub(crate) async fn run(hub: Arc<Hub>) {
    'anew: loop {
        let (nodes, mut node_feed) = hub.store.subscribe("nodes");
        let (_, mut claim_feed) = hub.store.subscribe(claims::CLAIMS);
        let (_, mut slice_feed) = hub.store.subscribe(claims::SLICES);
        let (pods, mut pod_feed) = hub.store.subscribe("pods");
        let mut cache = Cache::default();
        nodes.iter().for_each(|n| cache.node(n));
        for pod in &pods {
            cache.pod(pod);
        }
        loop {
            let next = cache.schedule(&hub);
            let sleep = async {
                match next {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = hub.stop.cancelled() => return,
                () = sleep => {}
                changes = pod_feed.next() => {
                    let Ok(changes) = changes else { continue 'anew };
                    let mut helps = false;
                    for c in &changes {
                        helps |= cache.pod_change(c);
                    }
                    if helps {
                        cache.unpark();
                    }
                }
                changes = claim_feed.next() => {
                    if changes.is_err() { continue 'anew }
                    cache.unpark();
                }
                changes = slice_feed.next() => {
                    if changes.is_err() { continue 'anew }
                    cache.unpark();
                }
                changes = node_feed.next() => {
                    let Ok(changes) = changes else { continue 'anew };
                    for c in &changes {
                        if c.op == Op::Deleted {
                            cache.nodes.remove(c.object.name());
                        } else {
                            cache.node(&c.object);
                        }
                    }
                    cache.unpark();
                }
            }
        }
    }
}

impl Cache {
    fn node(&mut self, object: &Arc<Object>) {
        match self.nodes.get_mut(object.name()) {
            Some(node) => node.refresh(object),
            None => drop(self.nodes.insert(object.name().to_owned(), NodeInfo::of(object))),
        }
    }

    fn unpark(&mut self) {
        self.waiting.values_mut().for_each(|w| w.parked = false);
    }

    fn drop_nomination(&mut self, uid: &str) {
        self.nominated.retain(|_, list| {
            list.retain(|u| u != uid);
            !list.is_empty()
        });
    }

    /// Takes a pod over; true when it makes room for others.
    fn pod(&mut self, object: &Arc<Object>) -> bool {
        let info = PodInfo::of(object);
        let over = matches!(object.value["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
        let mut helps = false;
        if (over || !info.node.is_empty())
            && let Some(w) = self.waiting.remove(&info.uid)
        {
            helps |= !w.pod.nominated.is_empty();
            self.drop_nomination(&info.uid);
        }
        if over {
            return self.leave(&info.uid) || helps;
        }
        if !info.node.is_empty() {
            self.places.insert(info.uid.clone(), info.node.clone());
            if let Some(node) = self.nodes.get_mut(&info.node) {
                node.add(info);
            }
            return helps;
        }
        let gated = object.value["spec"]["schedulingGates"].as_array().is_some_and(|g| !g.is_empty());
        if info.terminating || gated || object.value["spec"]["schedulerName"] != "default-scheduler" {
            helps |= self.waiting.remove(&info.uid).is_some_and(|w| !w.pod.nominated.is_empty());
            self.drop_nomination(&info.uid);
            return helps;
        }
        let before = self.waiting.get(&info.uid);
        // its own condition being written is nothing new
        let same = before.is_some_and(|w| {
            w.pod.nominated == info.nominated
                && w.pod.object.value["spec"] == object.value["spec"]
                && w.pod.object.value["status"]["resourceClaimStatuses"]
                    == object.value["status"]["resourceClaimStatuses"]
        });
        if before.is_some_and(|w| w.pod.nominated != info.nominated)
            || before.is_none() && !info.nominated.is_empty()
        {
            helps |= before.is_some_and(|w| !w.pod.nominated.is_empty());
            self.drop_nomination(&info.uid);
            if !info.nominated.is_empty() {
                self.nominated.entry(info.nominated.clone()).or_default().push(info.uid.clone());
            }
        }
        let now = Instant::now();
        match self.waiting.get_mut(&info.uid) {
            Some(w) => {
                if !same {
                    (w.attempts, w.not_before, w.parked) = (0, now, false);
                }
                w.pod = info;
            }
            None => {
                let w = Waiting { pod: info, attempts: 0, not_before: now, parked: false };
                self.waiting.insert(w.pod.uid.clone(), w);
            }
        }
        helps
    }

    fn leave(&mut self, uid: &str) -> bool {
        let Some(node) = self.places.remove(uid) else { return false };
        self.nodes.get_mut(&node).is_some_and(|n| n.remove(uid).is_some())
    }

    fn pod_change(&mut self, change: &Change) -> bool {
        if change.op != Op::Deleted {
            return self.pod(&change.object);
        }
        let uid = change.object.uid();
        let promised = self.waiting.remove(uid).is_some_and(|w| !w.pod.nominated.is_empty());
        self.drop_nomination(uid);
        self.leave(uid) || promised
    }

    /// Tries every waiting pod whose time has come; gives when the next one's comes.
    fn schedule(&mut self, hub: &Hub) -> Option<Instant> {
        loop {
            let now = Instant::now();
            let mut due: Vec<(i64, String, String)> = self
                .waiting
                .values()
                .filter(|w| !w.parked && w.not_before <= now)
                .map(|w| (-w.pod.priority, w.pod.created.clone(), w.pod.uid.clone()))
                .collect();
            if due.is_empty() {
                return self.waiting.values().filter(|w| !w.parked).map(|w| w.not_before).min();
            }
            due.sort();
            for (_, _, uid) in due {
                self.attempt(hub, &uid);
            }
        }
    }

    fn reserved<'a>(&'a self, node: &str, pod: &PodInfo) -> Vec<&'a PodInfo> {
        let list = self.nominated.get(node).map(Vec::as_slice).unwrap_or_default();
        list.iter()
            .filter(|u| **u != pod.uid)
            .filter_map(|u| self.waiting.get(u).map(|w| &w.pod))
            .filter(|p| p.priority >= pod.priority)
            .collect()
    }

    fn misfits(&self, node: &NodeInfo, pod: &PodInfo, plan: Option<&claims::Plan>) -> Vec<Misfit> {
        if let Err(why) = fit::admits(node, pod) {
            return vec![why];
        }
        let mut missing =
            fit::has_room(node, &node.used, node.pods.len(), &self.reserved(&node.name, pod), pod);
        if plan.is_some_and(|p| !p.allows(&node.name)) {
            missing.push(claims::MISFIT.into());
        }
        missing
    }

    fn attempt(&mut self, hub: &Hub, uid: &str) {
        let Some(waiting) = self.waiting.get(uid) else { return };
        let pod = waiting.pod.clone();
        // the lock is held by this statement alone: what follows takes it anew
        let planned = claims::plan(&hub.store.lock(), &pod);
        let plan = match planned {
            Ok(plan) => plan,
            Err(why) => {
                let message = format!("0/{} nodes are available: {why}.", self.nodes.len());
                self.park(uid);
                self.report(hub, &pod, &message, None);
                return;
            }
        };
        if let Some(node) = self.place(&pod, plan.as_ref()) {
            let bound = {
                let mut tx = hub.store.lock();
                claims::reserve(hub, &mut tx, &pod, &node)
                    .and_then(|()| bind(hub, &mut tx, &pod.key.0, &pod.key.1, &node))
            };
            match bound {
                Ok(object) => {
                    self.pod(&object);
                    events::record(
                        hub,
                        &object,
                        "Normal",
                        "Scheduled",
                        &format!("Successfully assigned {}/{} to {node}", pod.key.0, pod.key.1),
                        "default-scheduler",
                    );
                }
                Err(error) => {
                    tracing::debug!(%error, pod = pod.key.1, "not bound");
                    // the feed brings what changed
                    self.park(uid);
                }
            }
            return;
        }
        let mut counted: BTreeMap<String, usize> = BTreeMap::new();
        let mut claims_in_the_way = false;
        for node in self.nodes.values() {
            let misfits = self.misfits(node, &pod, plan.as_ref());
            claims_in_the_way |= matches!(&misfits[..], [only] if only == claims::MISFIT);
            for misfit in misfits {
                *counted.entry(misfit).or_default() += 1;
            }
        }
        if let Some(plan) = plan.as_ref().filter(|_| claims_in_the_way) {
            claims::release(hub, &pod, plan);
        }
        let total = self.nodes.len();
        let mut message = if total == 0 {
            "no nodes available to schedule pods".to_owned()
        } else {
            fit::explain(total, &counted)
        };
        let mut nominate = None;
        if pod.never_preempts {
            message.push_str(" preemption: not eligible due to preemptionPolicy=Never.");
        } else if let Some(node) = self.preempt(hub, &pod, plan.as_ref()) {
            nominate = Some(node);
        } else if total > 0 {
            message.push_str(&format!(" preemption: 0/{total} nodes are available: {total} No preemption victims found for incoming pod."));
        }
        self.park(uid);
        self.report(hub, &pod, &message, nominate.as_deref());
    }

    /// Not again before something happened, and then not at once.
    fn park(&mut self, uid: &str) {
        if let Some(w) = self.waiting.get_mut(uid) {
            w.parked = true;
            w.not_before =
                Instant::now() + (FIRST_BACKOFF * 2u32.saturating_pow(w.attempts.min(12))).min(LAST_BACKOFF);
            w.attempts += 1;
        }
    }

    /// The nominated node if it fits, else the best of the first feasible ones.
    fn place(&mut self, pod: &PodInfo, plan: Option<&claims::Plan>) -> Option<String> {
        if let Some(node) = self.nodes.get(&pod.nominated)
            && self.misfits(node, pod, plan).is_empty()
        {
            return Some(node.name.clone());
        }
        let total = self.nodes.len();
        if total == 0 {
            return None;
        }
        let start = self.turn % total;
        self.turn = self.turn.wrapping_add(1);
        let mut best: Option<(i64, i128, String)> = None;
        let mut found = 0;
        for node in self.nodes.values().skip(start).chain(self.nodes.values().take(start)) {
            if !self.misfits(node, pod, plan).is_empty() {
                continue;
            }
            let score = (-fit::preference(node, pod), node.load());
            if best.as_ref().is_none_or(|b| score < (b.0, b.1)) {
                best = Some((score.0, score.1, node.name.clone()));
            }
            found += 1;
            if found >= ENOUGH {
                break;
            }
        }
        best.map(|(_, _, name)| name)
    }

    /// Deletes the pods that stand in the way on the cheapest node; gives that node.
    fn preempt(&self, hub: &Hub, pod: &PodInfo, plan: Option<&claims::Plan>) -> Option<String> {
        // victims of an earlier attempt are still going: their place is promised already
        if let Some(node) = self.nodes.get(&pod.nominated)
            && node.pods.values().any(|p| p.terminating && p.priority < pod.priority)
        {
            return Some(pod.nominated.clone());
        }
        let mut best: Option<Candidate<'_>> = None;
        for node in self.nodes.values() {
            if fit::admits(node, pod).is_err() || plan.is_some_and(|p| !p.allows(&node.name)) {
                continue;
            }
            let Some(victims) = preempt::victims(node, &self.reserved(&node.name, pod), pod) else {
                continue;
            };
            let cost = preempt::cost(&victims);
            if best.as_ref().is_none_or(|b| cost < b.0) {
                best = Some((cost, node, victims));
            }
        }
        let (_, node, victims) = best?;
        let resource = hub.kind("pods");
        for victim in victims {
            let message = format!("Preempted by pod {} on node {}", pod.uid, node.name);
            events::record(hub, &victim.object, "Normal", "Preempted", &message, "default-scheduler");
            let marked = crate::node::status::update(hub, &victim.object, "kube-scheduler", |s| {
                let why = format!(
                    "default-scheduler: preempting to accommodate a higher priority pod {}",
                    pod.key.1
                );
                set_condition(s, "DisruptionTarget", "True", "PreemptionByScheduler", &why);
            });
            let options = delete::Options {
                preconditions: Some(delete::Preconditions {
                    uid: Some(victim.uid.clone()),
                    resource_version: None,
                }),
                ..delete::Options::default()
            };
            let w = Write::internal(&resource, &victim.key.0, &victim.key.1, "kube-scheduler");
            let gone = delete::delete(hub, &mut hub.store.lock(), &w, &options).map(drop);
            if let Err(error) = marked.map(drop).and(gone) {
                tracing::debug!(%error, pod = victim.key.1, "victim is gone already");
            }
        }
        Some(node.name.clone())
    }

    fn report(&mut self, hub: &Hub, pod: &PodInfo, message: &str, nominate: Option<&str>) {
        let result = crate::node::status::update(hub, &pod.object, "kube-scheduler", |s| {
            let same =
                s["conditions"].as_array().into_iter().flatten().any(|c| {
                    c["type"] == "PodScheduled" && c["message"] == message && c["status"] == "False"
                });
            if !same {
                set_condition(s, "PodScheduled", "False", "Unschedulable", message);
            }
            if let Some(node) = nominate {
                s["nominatedNodeName"] = Value::String(node.to_owned());
            }
            if !s["phase"].is_string() {
                s["phase"] = json!("Pending");
            }
        });
        match result {
            Ok(object) => {
                if object.rv != pod.object.rv {
                    events::record(hub, &object, "Warning", "FailedScheduling", message, "default-scheduler");
                }
                // a fresh nomination counts at once, not when the feed brings it
                if nominate.is_some()
                    && let Some(w) = self.waiting.get_mut(&pod.uid)
                {
                    let info = PodInfo::of(&object);
                    if w.pod.nominated != info.nominated {
                        w.pod = info.clone();
                        self.drop_nomination(&pod.uid);
                        self.nominated.entry(info.nominated).or_default().push(pod.uid.clone());
                    }
                }
            }
            Err(error) => tracing::debug!(%error, pod = pod.key.1, "pod is gone"),
        }
    }
}

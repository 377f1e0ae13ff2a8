//! One attempt to schedule a pod: bind it, preempt others for it, or report why it does not fit.

use std::collections::BTreeMap;
use std::sync::Arc;

use objects::error::Failure;
use objects::json::{items, remove, set_default, text};
use objects::store::{Inner, Object};

use super::cache::Cache;
use super::fit::{self, Misfit, NodeInfo, PodInfo};
use super::{claims, preempt};
use crate::faults::Part;
use crate::hub::Hub;
use crate::report::{record, set_condition, update_pod};
use crate::verbs::delete::{Options, Preconditions};
use crate::verbs::system;

/// Number of feasible nodes that are compared.
const ENOUGH: usize = 64;
const SCHEDULER: &str = "kube-scheduler";
const REPORTER: &str = "default-scheduler";

/// A node with the pods to remove from it, and the cost of that.
struct Candidate<'a> {
    cost: (i64, i64, usize),
    node: &'a NodeInfo,
    victims: Vec<&'a PodInfo>,
}

pub(super) fn attempt(hub: &Hub, cache: &mut Cache, pod: &PodInfo) {
    let plan = claims::plan(&hub.store.lock(), pod);
    let plan = match plan {
        Ok(plan) => plan,
        Err(why) => {
            let message = format!("0/{} nodes are available: {why}.", cache.nodes.len());
            cache.park(&pod.uid);
            report(hub, cache, pod, &message, None);
            return;
        }
    };
    if let Some(node) = choose(cache, pod, plan.as_ref()) {
        // the lock is released before the event is recorded
        let bound = if hub.faults.reaches(&Part::Scheduler) {
            bind(&mut hub.store.lock(), pod, &node)
        } else {
            Err(Failure::internal("the scheduler is stopped"))
        };
        match bound {
            Ok(object) => {
                cache.set_pod(&object);
                let message = format!("Successfully assigned {}/{} to {node}", pod.key.0, pod.key.1);
                record(hub, &object, "Normal", "Scheduled", &message, REPORTER);
            }
            Err(error) => {
                tracing::debug!(%error, pod = pod.key.1, "cannot bind pod");
                cache.back_off(&pod.uid);
            }
        }
        return;
    }
    let total = cache.nodes.len();
    let mut counted: BTreeMap<String, usize> = BTreeMap::new();
    for misfit in cache.nodes.values().flat_map(|node| misfits(cache, node, pod, plan.as_ref())) {
        *counted.entry(misfit).or_default() += 1;
    }
    let mut message = if total == 0 {
        "no nodes available to schedule pods".to_owned()
    } else {
        fit::explain(total, &counted)
    };
    let mut nominated = None;
    if pod.never_preempts {
        message.push_str(" preemption: not eligible due to preemptionPolicy=Never.");
    } else {
        nominated = preempt_others(hub, cache, pod, plan.as_ref());
        if nominated.is_none() && total > 0 {
            message.push_str(&format!(" preemption: 0/{total} nodes are available: {total} No preemption victims found for incoming pod."));
        }
    }
    cache.park(&pod.uid);
    report(hub, cache, pod, &message, nominated.as_deref());
}

fn misfits(cache: &Cache, node: &NodeInfo, pod: &PodInfo, plan: Option<&claims::Plan>) -> Vec<Misfit> {
    if let Err(why) = fit::admits(node, pod) {
        return vec![why];
    }
    let reserved = cache.reserved(&node.name, pod);
    let mut missing = fit::has_room(node, &node.used, node.pods.len(), &reserved, pod);
    if plan.is_some_and(|p| !p.allows(&node.name)) {
        missing.push(claims::MISFIT.into());
    }
    missing
}

/// The nominated node if the pod fits there, otherwise the least loaded of the first feasible nodes.
fn choose(cache: &mut Cache, pod: &PodInfo, plan: Option<&claims::Plan>) -> Option<String> {
    let fits = |node: &&NodeInfo| misfits(cache, node, pod, plan).is_empty();
    if let Some(node) = cache.nodes.get(&pod.nominated).filter(fits) {
        return Some(node.name.clone());
    }
    let start = cache.turn % cache.nodes.len().max(1);
    let nodes = cache.nodes.values().skip(start).chain(cache.nodes.values().take(start));
    let best = nodes.filter(fits).take(ENOUGH).min_by_key(|node| node.load());
    let best = best.map(|node| node.name.clone());
    cache.turn = cache.turn.wrapping_add(1);
    best
}

/// Allocates and reserves the claims of a pod and assigns it to a node.
fn bind(tx: &mut Inner, pod: &PodInfo, node: &str) -> Result<Arc<Object>, Failure> {
    unassigned(tx, pod)?;
    claims::reserve(tx, pod, node)?;
    assign(tx, pod, node)
}

fn unassigned(tx: &Inner, pod: &PodInfo) -> Result<Arc<Object>, Failure> {
    let current = tx.get("pods", &pod.key.0, &pod.key.1).filter(|p| p.uid() == pod.uid);
    let conflict = |why: &str| Failure::conflict("", "pods/binding", &pod.key.1, why);
    let current = current.ok_or_else(|| conflict("the pod is gone"))?;
    if current.terminating() || !text(&current.value["spec"]["nodeName"]).is_empty() {
        return Err(conflict("the pod is being deleted or already assigned"));
    }
    Ok(current)
}

/// Assigns a pod to a node.
pub(super) fn assign(tx: &mut Inner, pod: &PodInfo, node: &str) -> Result<Arc<Object>, Failure> {
    let current = unassigned(tx, pod)?;
    let mut value = current.value.clone();
    value["spec"]["nodeName"] = node.into();
    remove(&mut value["status"], "nominatedNodeName");
    set_condition(&mut value["status"], "PodScheduled", "True", "", "");
    Ok(system::update(tx, "pods", &current, value, SCHEDULER))
}

/// Deletes the pods that are in the way on the cheapest node. Returns that node.
fn preempt_others(hub: &Hub, cache: &Cache, pod: &PodInfo, plan: Option<&claims::Plan>) -> Option<String> {
    if cache.victims_terminate(pod) {
        return Some(pod.nominated.clone());
    }
    let candidates = cache.nodes.values().filter_map(|node| {
        if fit::admits(node, pod).is_err() || plan.is_some_and(|p| !p.allows(&node.name)) {
            return None;
        }
        let victims = preempt::victims(node, &cache.reserved(&node.name, pod), pod)?;
        Some(Candidate { cost: preempt::cost(&victims), node, victims })
    });
    let Candidate { node, victims, .. } = candidates.min_by_key(|c| c.cost)?;
    for victim in victims {
        let message = format!("Preempted by pod {} on node {}", pod.uid, node.name);
        record(hub, &victim.object, "Normal", "Preempted", &message, REPORTER);
        let why = format!("{REPORTER}: preempting to accommodate a higher priority pod {}", pod.key.1);
        update_pod(hub, &victim.object, SCHEDULER, |s| {
            set_condition(s, "DisruptionTarget", "True", "PreemptionByScheduler", &why);
        });
        let options = Options { preconditions: Some(Preconditions::uid(&victim.uid)), ..Options::default() };
        if let Err(error) = system::delete(hub, &mut hub.store.lock(), "pods", &victim.key, &options) {
            tracing::debug!(%error, pod = victim.key.1, "victim is already gone");
        }
    }
    Some(node.name.clone())
}

/// Writes why a pod is not scheduled, and its nomination, to its status.
fn report(hub: &Hub, cache: &mut Cache, pod: &PodInfo, message: &str, nominated: Option<&str>) {
    let updated = update_pod(hub, &pod.object, SCHEDULER, |s| {
        let same = items(&s["conditions"])
            .iter()
            .any(|c| c["type"] == "PodScheduled" && c["message"] == message && c["status"] == "False");
        if !same {
            set_condition(s, "PodScheduled", "False", "Unschedulable", message);
        }
        if let Some(node) = nominated {
            s["nominatedNodeName"] = node.into();
        }
        set_default(s, "phase", "Pending");
    });
    let Some(object) = updated else { return };
    if object.rv != pod.object.rv {
        record(hub, &object, "Warning", "FailedScheduling", message, REPORTER);
    }
    if nominated.is_some() {
        cache.renominate(&object);
    }
}

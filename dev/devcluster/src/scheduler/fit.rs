//! Whether a pod fits a node: resources (with what nominated pods have reserved), selectors, affinity, taints.

use crate::quantity::parse_milli;
use crate::store::{Key, Object, selectors::expression_matches};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Amounts by resource, in thousandths. Few enough that a list beats a map.
pub(super) type Amounts = Vec<(Arc<str>, i128)>;

pub(super) fn amount(list: &Amounts, name: &str) -> i128 {
    list.iter().find(|(n, _)| &**n == name).map_or(0, |(_, v)| *v)
}

fn add(list: &mut Amounts, other: &Amounts, sign: i128) {
    for (name, v) in other {
        match list.iter_mut().find(|(n, _)| n == name) {
            Some((_, sum)) => *sum += sign * v,
            None => list.push((name.clone(), sign * v)),
        }
    }
}

/// What the scheduler needs of a pod.
#[derive(Clone)]
pub(super) struct PodInfo {
    pub key: Key,
    pub uid: String,
    pub priority: i64,
    pub never_preempts: bool,
    pub created: String,
    pub requests: Amounts,
    pub node: String,
    pub nominated: String,
    pub terminating: bool,
    /// Kept whole for the rarer questions.
    pub object: Arc<Object>,
}

impl PodInfo {
    pub(super) fn of(object: &Arc<Object>) -> Self {
        let spec = &object.value["spec"];
        let mut requests: Amounts = Vec::new();
        for c in spec["containers"].as_array().into_iter().flatten() {
            let list = c["resources"]["requests"].as_object().into_iter().flatten();
            let list: Amounts = list
                .filter_map(|(k, v)| Some((Arc::from(k.as_str()), v.as_str().and_then(parse_milli)?)))
                .collect();
            add(&mut requests, &list, 1);
        }
        let overhead = spec["overhead"].as_object().into_iter().flatten();
        let overhead: Amounts = overhead
            .filter_map(|(k, v)| Some((Arc::from(k.as_str()), v.as_str().and_then(parse_milli)?)))
            .collect();
        add(&mut requests, &overhead, 1);
        let text = |v: &Value| v.as_str().unwrap_or("").to_owned();
        Self {
            key: object.key(),
            uid: object.uid().to_owned(),
            priority: spec["priority"].as_i64().unwrap_or(0),
            never_preempts: spec["preemptionPolicy"] == "Never",
            created: object.meta("creationTimestamp").to_owned(),
            requests,
            node: text(&spec["nodeName"]),
            nominated: text(&object.value["status"]["nominatedNodeName"]),
            terminating: object.terminating(),
            object: object.clone(),
        }
    }
    fn spec(&self) -> &Value {
        &self.object.value["spec"]
    }
}

/// A node with what is on it.
pub(super) struct NodeInfo {
    pub name: String,
    pub labels: Value,
    pub unschedulable: bool,
    pub taints: Vec<Value>,
    pub allocatable: Amounts,
    pub slots: i128,
    pub used: Amounts,
    pub pods: HashMap<String, PodInfo>,
}

impl NodeInfo {
    pub(super) fn of(object: &Object) -> Self {
        let mut node = Self {
            name: object.name().to_owned(),
            labels: Value::Null,
            unschedulable: false,
            taints: Vec::new(),
            allocatable: Vec::new(),
            slots: 0,
            used: Vec::new(),
            pods: HashMap::new(),
        };
        node.refresh(object);
        node
    }
    /// Takes over a changed node object; what is on the node stays.
    pub(super) fn refresh(&mut self, object: &Object) {
        let (spec, status) = (&object.value["spec"], &object.value["status"]);
        self.labels = object.value["metadata"]["labels"].clone();
        self.unschedulable = spec["unschedulable"] == true;
        self.taints = spec["taints"].as_array().cloned().unwrap_or_default();
        let allocatable =
            if status["allocatable"].is_object() { &status["allocatable"] } else { &status["capacity"] };
        let list = allocatable.as_object().into_iter().flatten();
        self.allocatable = list
            .filter_map(|(k, v)| Some((Arc::from(k.as_str()), v.as_str().and_then(parse_milli)?)))
            .collect();
        self.slots = amount(&self.allocatable, "pods") / 1000;
    }
    pub(super) fn add(&mut self, pod: PodInfo) {
        self.remove(&pod.uid);
        add(&mut self.used, &pod.requests, 1);
        self.pods.insert(pod.uid.clone(), pod);
    }
    pub(super) fn remove(&mut self, uid: &str) -> Option<PodInfo> {
        let pod = self.pods.remove(uid)?;
        add(&mut self.used, &pod.requests, -1);
        Some(pod)
    }
    /// The larger of the used shares of cpu and memory.
    pub(super) fn load(&self) -> i128 {
        let share = |r: &str| amount(&self.used, r) * 1000 / amount(&self.allocatable, r).max(1);
        share("cpu").max(share("memory"))
    }
}

/// Why a node is no place for a pod.
pub(super) type Misfit = String;

/// Everything but resources.
pub(super) fn admits(node: &NodeInfo, pod: &PodInfo) -> Result<(), Misfit> {
    let spec = pod.spec();
    let tolerations = spec["tolerations"].as_array().map(Vec::as_slice).unwrap_or_default();
    let cordon = serde_json::json!({ "key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule" });
    if node.unschedulable && !tolerations.iter().any(|t| tolerates(t, &cordon)) {
        return Err(Misfit::from("node(s) were unschedulable"));
    }
    for taint in &node.taints {
        if taint["effect"] != "PreferNoSchedule" && !tolerations.iter().any(|t| tolerates(t, taint)) {
            let (key, value) = (taint["key"].as_str().unwrap_or(""), taint["value"].as_str().unwrap_or(""));
            return Err(Misfit::from(format!("node(s) had untolerated taint {{{key}: {value}}}")));
        }
    }
    if !selects(node, spec) {
        return Err(Misfit::from("node(s) didn't match Pod's node affinity/selector"));
    }
    Ok(())
}

/// Whether a toleration bears a taint.
pub(crate) fn tolerates(toleration: &Value, taint: &Value) -> bool {
    let key = toleration["key"].as_str().unwrap_or("");
    let exists = toleration["operator"] == "Exists";
    let effect = toleration["effect"].as_str().unwrap_or("");
    (effect.is_empty() || taint["effect"] == effect)
        && (key.is_empty() && exists || taint["key"] == key)
        && (exists || toleration["value"].as_str().unwrap_or("") == taint["value"].as_str().unwrap_or(""))
}

fn term_matches(term: &Value, node: &NodeInfo) -> bool {
    let labels = term["matchExpressions"].as_array();
    let fields = term["matchFields"].as_array();
    if labels.is_none_or(Vec::is_empty) && fields.is_none_or(Vec::is_empty) {
        return false;
    }
    let name = Value::String(node.name.clone());
    labels.into_iter().flatten().all(|e| expression_matches(e, &node.labels[e["key"].as_str().unwrap_or("")]))
        && fields.into_iter().flatten().all(|e| e["key"] == "metadata.name" && expression_matches(e, &name))
}

fn selects(node: &NodeInfo, spec: &Value) -> bool {
    let plain = spec["nodeSelector"].as_object().is_none_or(|m| m.iter().all(|(k, v)| &node.labels[k] == v));
    let required = &spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"];
    plain && required.as_array().is_none_or(|terms| terms.iter().any(|t| term_matches(t, node)))
}

/// The sum of weights of the preferred terms a node satisfies.
pub(super) fn preference(node: &NodeInfo, pod: &PodInfo) -> i64 {
    let preferred =
        &pod.spec()["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"];
    let terms = preferred.as_array().into_iter().flatten();
    terms.filter(|t| term_matches(&t["preference"], node)).filter_map(|t| t["weight"].as_i64()).sum()
}

/// Whether the resources are there, beside what is used and what `reserved` pods are promised.
pub(super) fn has_room(
    node: &NodeInfo,
    used: &Amounts,
    pods: usize,
    reserved: &[&PodInfo],
    pod: &PodInfo,
) -> Vec<Misfit> {
    let mut missing = Vec::new();
    let crowd = i128::try_from(pods + reserved.len() + 1).unwrap_or(i128::MAX);
    if crowd > node.slots {
        missing.push("Too many pods".into());
    }
    for (name, want) in pod.requests.iter().filter(|(_, v)| *v > 0) {
        let promised: i128 = reserved.iter().map(|p| amount(&p.requests, name)).sum();
        let total = amount(&node.allocatable, name);
        if amount(used, name) + promised + want > total {
            missing.push(format!("Insufficient {name}"));
        }
    }
    missing
}

/// What is used when some pods are thought away.
pub(super) fn used_without(node: &NodeInfo, gone: &[&PodInfo]) -> Amounts {
    let mut used = node.used.clone();
    for pod in gone {
        add(&mut used, &pod.requests, -1);
    }
    used
}

/// `0/3 nodes are available: 3 Insufficient nvidia.com/gpu.`
pub(super) fn explain(total: usize, misfits: &BTreeMap<String, usize>) -> String {
    let mut parts: Vec<String> = misfits.iter().map(|(text, n)| format!("{n} {text}")).collect();
    parts.sort();
    if parts.is_empty() {
        return format!("0/{total} nodes are available.");
    }
    format!("0/{total} nodes are available: {}.", parts.join(", "))
}

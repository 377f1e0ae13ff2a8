//! Whether a pod fits a node: resources (including those reserved for nominated pods), selectors, affinity, taints.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use objects::json::{entries, items, quantity, text, texts};
use objects::pod::tolerates;
use objects::store::{Key, Object};
use serde_json::Value;

/// Amounts by resource, in thousandths. A list, because a pod has few.
pub(super) type Amounts = Vec<(Arc<str>, i128)>;

pub(super) fn amount(list: &Amounts, name: &str) -> i128 {
    list.iter().find(|(n, _)| &**n == name).map_or(0, |(_, v)| *v)
}

fn amounts(quantities: &Value) -> Amounts {
    entries(quantities).filter_map(|(name, v)| Some((Arc::from(name.as_str()), quantity(v)?))).collect()
}

fn add(list: &mut Amounts, other: &Amounts, sign: i128) {
    for (name, v) in other {
        match list.iter_mut().find(|(n, _)| n == name) {
            Some((_, sum)) => *sum += sign * v,
            None => list.push((name.clone(), sign * v)),
        }
    }
}

/// The scheduler's view of a pod.
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
    pub object: Arc<Object>,
}

impl PodInfo {
    pub(super) fn of(object: &Arc<Object>) -> Self {
        let spec = &object.value["spec"];
        let mut requests: Amounts = Vec::new();
        for c in items(&spec["containers"]) {
            add(&mut requests, &amounts(&c["resources"]["requests"]), 1);
        }
        add(&mut requests, &amounts(&spec["overhead"]), 1);
        let text = |v: &Value| text(v).to_owned();
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

/// The scheduler's view of a node, with its pods.
#[derive(Clone)]
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
    /// Updates the node from its object; keeps its pods.
    pub(super) fn refresh(&mut self, object: &Object) {
        let (spec, status) = (&object.value["spec"], &object.value["status"]);
        self.labels = object.value["metadata"]["labels"].clone();
        self.unschedulable = spec["unschedulable"] == true;
        self.taints = items(&spec["taints"]).to_vec();
        let allocatable =
            if status["allocatable"].is_object() { &status["allocatable"] } else { &status["capacity"] };
        self.allocatable = amounts(allocatable);
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
    /// The larger of the used shares of CPU and memory, in thousandths.
    pub(super) fn load(&self) -> i128 {
        let share = |r: &str| amount(&self.used, r) * 1000 / amount(&self.allocatable, r).max(1);
        share("cpu").max(share("memory"))
    }
}

/// The reason why a pod does not fit a node.
pub(super) type Misfit = String;

/// Checks everything but resources.
pub(super) fn admits(node: &NodeInfo, pod: &PodInfo) -> Result<(), Misfit> {
    let spec = pod.spec();
    let tolerations = items(&spec["tolerations"]);
    let cordon = serde_json::json!({ "key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule" });
    if node.unschedulable && !tolerations.iter().any(|t| tolerates(t, &cordon)) {
        return Err(Misfit::from("node(s) were unschedulable"));
    }
    for taint in &node.taints {
        if taint["effect"] != "PreferNoSchedule" && !tolerations.iter().any(|t| tolerates(t, taint)) {
            let (key, value) = (text(&taint["key"]), text(&taint["value"]));
            return Err(Misfit::from(format!("node(s) had untolerated taint {{{key}: {value}}}")));
        }
    }
    if !selects(node, spec) {
        return Err(Misfit::from("node(s) didn't match Pod's node affinity/selector"));
    }
    let spread = items(&spec["topologySpreadConstraints"]).iter();
    let mut keys =
        spread.filter(|c| c["whenUnsatisfiable"] == "DoNotSchedule").map(|c| text(&c["topologyKey"]));
    if keys.any(|key| node.labels[key].is_null()) {
        return Err(Misfit::from(
            "node(s) didn't match pod topology spread constraints (missing required label)",
        ));
    }
    Ok(())
}

/// Whether a value satisfies an entry of `matchExpressions`.
fn expression_matches(expression: &Value, found: &Value) -> bool {
    let found = found.as_str();
    let values = || texts(&expression["values"]);
    let number = |s: Option<&str>| s.and_then(|s| s.parse::<i64>().ok());
    match text(&expression["operator"]) {
        "In" => found.is_some_and(|t| values().any(|v| v == t)),
        "NotIn" => !found.is_some_and(|t| values().any(|v| v == t)),
        "Exists" => found.is_some(),
        "DoesNotExist" => found.is_none(),
        "Gt" => number(found).zip(number(values().next())).is_some_and(|(a, b)| a > b),
        "Lt" => number(found).zip(number(values().next())).is_some_and(|(a, b)| a < b),
        _ => false,
    }
}

fn term_matches(term: &Value, node: &NodeInfo) -> bool {
    let labels = term["matchExpressions"].as_array();
    let fields = term["matchFields"].as_array();
    if labels.is_none_or(Vec::is_empty) && fields.is_none_or(Vec::is_empty) {
        return false;
    }
    let name = Value::String(node.name.clone());
    labels.into_iter().flatten().all(|e| expression_matches(e, &node.labels[text(&e["key"])]))
        && fields.into_iter().flatten().all(|e| e["key"] == "metadata.name" && expression_matches(e, &name))
}

fn selects(node: &NodeInfo, spec: &Value) -> bool {
    let plain = spec["nodeSelector"].as_object().is_none_or(|m| m.iter().all(|(k, v)| &node.labels[k] == v));
    let required = &spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"];
    plain && required.as_array().is_none_or(|terms| terms.iter().any(|t| term_matches(t, node)))
}

/// Reasons why a pod does not fit a node, in the words of the scheduler.
pub(super) fn has_room(
    node: &NodeInfo,
    used: &Amounts,
    pods: usize,
    reserved: &[&PodInfo],
    pod: &PodInfo,
) -> Vec<Misfit> {
    let misfit = |resource: String| match resource.as_str() {
        "pods" => Misfit::from("Too many pods"),
        _ => format!("Insufficient {resource}"),
    };
    lacking(node, used, pods, reserved, pod).into_iter().map(misfit).collect()
}

/// The missing resources, if `used` is used and the `reserved` pods get theirs too.
pub(super) fn lacking(
    node: &NodeInfo,
    used: &Amounts,
    pods: usize,
    reserved: &[&PodInfo],
    pod: &PodInfo,
) -> Vec<String> {
    let mut missing = Vec::new();
    let crowd = i128::try_from(pods + reserved.len() + 1).unwrap_or(i128::MAX);
    if crowd > node.slots {
        missing.push("pods".to_owned());
    }
    for (name, want) in pod.requests.iter().filter(|(_, v)| *v > 0) {
        let reserved: i128 = reserved.iter().map(|p| amount(&p.requests, name)).sum();
        let total = amount(&node.allocatable, name);
        if amount(used, name) + reserved + want > total {
            missing.push(name.to_string());
        }
    }
    missing
}

/// The used resources without some pods.
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

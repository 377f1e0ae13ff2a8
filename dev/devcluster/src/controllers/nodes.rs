//! Nodes: registration from the configuration, heartbeats, and the eviction of pods from failed nodes.

use super::gc;
use crate::config::NodeConfig;
use crate::error::Failure;
use crate::hub::Hub;
use crate::isolation::isolated;
use crate::json::{items, remove, text};
use crate::pod::{container, is_over, tolerates};
use crate::report::{expire, record, set_condition, set_ready, update_pod};
use crate::store::{Inner, Object};
use crate::time::{now, now_micro};
use crate::verbs::delete::Options;
use crate::verbs::system;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

const HEARTBEAT: Duration = Duration::from_secs(300);
const LEASES: &str = "leases.coordination.k8s.io";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

/// Creates or updates a node of the configuration.
pub(crate) fn register(hub: &Hub, tx: &mut Inner, config: &NodeConfig) -> Result<(), Failure> {
    let mut capacity: BTreeMap<&str, String> = BTreeMap::from([
        ("cpu", config.cpu.clone()),
        ("memory", config.memory.clone()),
        ("ephemeral-storage", config.ephemeral_storage.clone()),
        ("pods", config.pods.to_string()),
    ]);
    capacity.extend(config.extended.iter().map(|(k, n)| (k.as_str(), n.to_string())));
    let arch = std::env::consts::ARCH.replace("x86_64", "amd64").replace("aarch64", "arm64");
    let mut labels: BTreeMap<&str, &str> = BTreeMap::from([
        ("kubernetes.io/hostname", config.name.as_str()),
        ("kubernetes.io/os", "linux"),
        ("kubernetes.io/arch", arch.as_str()),
    ]);
    labels.extend(config.labels.iter().map(|(k, v)| (k.as_str(), v.as_str())));
    let object = match tx.get("nodes", "", &config.name) {
        Some(object) => object,
        None => {
            let node = json!({ "metadata": { "name": config.name, "labels": labels }, "spec": {} });
            system::create(hub, tx, "nodes", "", "kubelet", node)?
        }
    };
    let mut value = object.value.clone();
    for (key, label) in labels {
        value["metadata"]["labels"][key] = label.into();
    }
    value["status"]["capacity"] = json!(capacity);
    value["status"]["allocatable"] = json!(capacity);
    value["status"]["addresses"] = json!([
        { "type": "InternalIP", "address": "127.0.0.1" }, { "type": "Hostname", "address": config.name },
    ]);
    value["status"]["nodeInfo"] = json!({
        "kubeletVersion": "v1.34.0-devcluster", "operatingSystem": "linux", "architecture": std::env::consts::ARCH, "osImage": "devcluster",
        "containerRuntimeVersion": "process://1", "kernelVersion": "", "kubeProxyVersion": "", "machineID": "", "systemUUID": "", "bootID": "",
    });
    set_reachable(&mut value);
    system::update_status(tx, "nodes", &object, value, "kubelet");
    Ok(())
}

fn set_reachable(node: &mut Value) {
    set_condition(&mut node["status"], "Ready", "True", "KubeletReady", "the node is ready");
    if let Some(taints) = node["spec"]["taints"].as_array_mut() {
        taints.retain(|t| t["key"] != UNREACHABLE);
        if taints.is_empty() {
            remove(&mut node["spec"], "taints");
        }
    }
}

fn set_unreachable(node: &mut Value) {
    let message = "Kubelet stopped posting node status.";
    set_condition(&mut node["status"], "Ready", "Unknown", "NodeStatusUnknown", message);
    let mut taints = items(&node["spec"]["taints"]).to_vec();
    taints.retain(|t| t["key"] != UNREACHABLE);
    for effect in ["NoSchedule", "NoExecute"] {
        taints.push(json!({ "key": UNREACHABLE, "effect": effect, "timeAdded": now() }));
    }
    node["spec"]["taints"] = taints.into();
}

/// Heartbeats, failures and evictions.
pub(crate) async fn run(hub: Arc<Hub>) {
    let mut failures = hub.runtime.failures();
    let mut down: HashSet<String> = HashSet::new();
    let mut evictions: Vec<(Instant, String)> = Vec::new();
    let mut heartbeat = Instant::now();
    loop {
        let failed = failures.borrow_and_update().clone();
        for node in failed.difference(&down) {
            fail(&hub, node);
            evictions.push((Instant::now() + Duration::from_secs(hub.config.eviction_seconds), node.clone()));
        }
        for node in down.difference(&failed) {
            evictions.retain(|(_, n)| n != node);
            recover(&hub, node);
        }
        down = failed;
        let now = Instant::now();
        for (_, node) in evictions.extract_if(.., |(at, _)| *at <= now) {
            evict_all(&hub, &node);
        }
        if heartbeat <= now {
            renew_leases(&hub, &down);
            expire(&hub);
            heartbeat = now + HEARTBEAT;
        }
        let next = evictions.iter().map(|(at, _)| *at).fold(heartbeat, Instant::min);
        tokio::select! {
            () = hub.stop.cancelled() => return,
            () = tokio::time::sleep_until(next) => {}
            changed = failures.changed() => if changed.is_err() { return },
        }
    }
}

fn renew_leases(hub: &Hub, down: &HashSet<String>) {
    for node in hub.config.nodes.iter().filter(|n| !down.contains(&n.name)) {
        let mut tx = hub.store.lock();
        let spec = json!({ "holderIdentity": node.name, "leaseDurationSeconds": HEARTBEAT.as_secs() * 2, "renewTime": now_micro() });
        if let Some(old) = tx.get(LEASES, "kube-node-lease", &node.name) {
            let mut value = old.value.clone();
            value["spec"] = spec;
            system::update(&mut tx, LEASES, &old, value, "kubelet");
            continue;
        }
        let lease = json!({ "metadata": { "name": node.name }, "spec": spec });
        if let Err(error) = system::create(hub, &mut tx, LEASES, "kube-node-lease", "kubelet", lease) {
            tracing::debug!(%error, node = node.name, "cannot renew lease");
        }
    }
}

fn update_node(hub: &Hub, name: &str, change: impl FnOnce(&mut Value)) {
    let mut tx = hub.store.lock();
    if let Some(node) = tx.get("nodes", "", name) {
        let mut value = node.value.clone();
        change(&mut value);
        system::update(&mut tx, "nodes", &node, value, "node-controller");
    }
}

fn pods_of(hub: &Hub, node: &str) -> Vec<Arc<Object>> {
    hub.store.lock().list("pods", "").filter(|p| p.value["spec"]["nodeName"] == node).cloned().collect()
}

fn fail(hub: &Hub, name: &str) {
    update_node(hub, name, set_unreachable);
    for pod in pods_of(hub, name).iter().filter(|p| !is_over(&p.value)) {
        isolated("nodes", pod, || {
            let name = text(&container(&pod.value)["name"]);
            update_pod(hub, pod, "node-controller", |s| set_ready(s, name, false, false))
        });
    }
}

fn recover(hub: &Hub, name: &str) {
    update_node(hub, name, set_reachable);
    for pod in pods_of(hub, name).into_iter().filter(|p| p.terminating()) {
        gc::check_terminating(hub, "pods", pod.namespace());
    }
}

/// Deletes the pods of a failed node that do not tolerate its taint.
fn evict_all(hub: &Hub, name: &str) {
    let taint = json!({ "key": UNREACHABLE, "effect": "NoExecute" });
    for pod in &pods_of(hub, name) {
        let tolerations = items(&pod.value["spec"]["tolerations"]);
        if tolerations.iter().any(|t| tolerates(t, &taint) && t["tolerationSeconds"].is_null()) {
            continue;
        }
        isolated("nodes", pod, || {
            let message = format!("Deleting pod {}", pod.name());
            record(hub, pod, "Normal", "TaintManagerEviction", &message, "taint-eviction-controller");
            let options = Options { grace_period_seconds: Some(0), ..Options::default() };
            if let Err(error) = system::delete(hub, &mut hub.store.lock(), "pods", &pod.key(), &options) {
                tracing::debug!(%error, pod = pod.name(), "cannot evict pod");
            }
        });
    }
}

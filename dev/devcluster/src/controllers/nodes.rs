//! Node life: registration from the configuration, rare heartbeats, and what happens to the pods of a node that
//! fails (taint, then eviction after the configured seconds).

use super::{events, gc};
use crate::config::NodeConfig;
use crate::hub::{Hub, now, now_micro};
use crate::node::status::{set_condition, set_ready};
use crate::scheduler::tolerates;
use crate::store::Object;
use crate::verbs::{self, Write, delete};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

const HEARTBEAT: Duration = Duration::from_secs(300);
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

/// Makes or refreshes the node objects of the configuration.
pub(crate) fn register(hub: &Hub) {
    for config in &hub.config.nodes {
        if let Err(error) = register_one(hub, config) {
            tracing::error!(%error, node = config.name, "node not registered");
        }
    }
}

fn register_one(hub: &Hub, config: &NodeConfig) -> Result<(), crate::error::Failure> {
    let resource = hub.kind("nodes");
    let w = Write::internal(&resource, "", &config.name, "kubelet");
    let mut capacity: BTreeMap<String, String> = BTreeMap::from([
        ("cpu".to_owned(), config.cpu.clone()),
        ("memory".to_owned(), config.memory.clone()),
        ("ephemeral-storage".to_owned(), config.ephemeral_storage.clone()),
        ("pods".to_owned(), config.pods.to_string()),
    ]);
    capacity.extend(config.extended.iter().map(|(k, n)| (k.clone(), n.to_string())));
    let mut labels: BTreeMap<String, String> = BTreeMap::from([
        ("kubernetes.io/hostname".to_owned(), config.name.clone()),
        ("kubernetes.io/os".to_owned(), "linux".to_owned()),
        (
            "kubernetes.io/arch".to_owned(),
            std::env::consts::ARCH.replace("x86_64", "amd64").replace("aarch64", "arm64"),
        ),
    ]);
    labels.extend(config.labels.clone());
    let mut tx = hub.store.lock();
    let object = match tx.get("nodes", "", &config.name) {
        Some(object) => object,
        None => {
            verbs::create(
                hub,
                &mut tx,
                &w,
                json!({ "metadata": { "name": config.name, "labels": labels }, "spec": {} }),
            )?
            .object
        }
    };
    let mut value = object.value.clone();
    for (k, v) in labels {
        value["metadata"]["labels"][k] = v.into();
    }
    value["status"]["capacity"] = json!(capacity);
    value["status"]["allocatable"] = json!(capacity);
    value["status"]["addresses"] = json!([{ "type": "InternalIP", "address": "127.0.0.1" }, { "type": "Hostname", "address": config.name }]);
    value["status"]["nodeInfo"] = json!({
        "kubeletVersion": "v1.34.0-devcluster", "operatingSystem": "linux", "architecture": std::env::consts::ARCH, "osImage": "devcluster",
        "containerRuntimeVersion": "process://1", "kernelVersion": "", "kubeProxyVersion": "", "machineID": "", "systemUUID": "", "bootID": "",
    });
    revive(&mut value);
    verbs::system_update(&mut tx, &w.status(), &object, value).map(drop)
}

fn revive(node: &mut Value) {
    set_condition(&mut node["status"], "Ready", "True", "KubeletReady", "the node is ready");
    if let Some(taints) = node["spec"]["taints"].as_array_mut() {
        taints.retain(|t| t["key"] != UNREACHABLE);
        if taints.is_empty() {
            node["spec"].as_object_mut().map(|s| s.shift_remove("taints"));
        }
    }
}

/// Heartbeats, failures and evictions.
pub(crate) async fn run(hub: Arc<Hub>) {
    let mut failures = hub.nodes.failures();
    let mut down: HashSet<String> = HashSet::new();
    let mut evictions: Vec<(Instant, String)> = Vec::new();
    let mut beat = Instant::now();
    loop {
        let failed = failures.borrow_and_update().clone();
        for node in failed.difference(&down) {
            lose(&hub, node);
            evictions.push((Instant::now() + Duration::from_secs(hub.config.eviction_seconds), node.clone()));
        }
        for node in down.difference(&failed) {
            evictions.retain(|(_, n)| n != node);
            recover(&hub, node);
        }
        down = failed;
        let now = Instant::now();
        evictions.retain(|(at, node)| {
            if *at <= now {
                evict_all(&hub, node);
            }
            *at > now
        });
        if beat <= now {
            heartbeat(&hub, &down);
            events::expire(&hub);
            beat = now + HEARTBEAT;
        }
        let next = evictions.iter().map(|(at, _)| *at).min().map_or(beat, |e| e.min(beat));
        tokio::select! {
            () = hub.stop.cancelled() => return,
            () = tokio::time::sleep_until(next) => {}
            changed = failures.changed() => if changed.is_err() { return },
        }
    }
}

fn heartbeat(hub: &Hub, down: &HashSet<String>) {
    let resource = hub.kind("leases.coordination.k8s.io");
    for node in hub.config.nodes.iter().filter(|n| !down.contains(&n.name)) {
        let w = Write::internal(&resource, "kube-node-lease", &node.name, "kubelet");
        let mut tx = hub.store.lock();
        let spec = json!({ "holderIdentity": node.name, "leaseDurationSeconds": HEARTBEAT.as_secs() * 2, "renewTime": now_micro() });
        let result = match tx.get(&resource.id, "kube-node-lease", &node.name) {
            Some(old) => {
                let mut value = old.value.clone();
                value["spec"] = spec;
                verbs::system_update(&mut tx, &w, &old, value).map(drop)
            }
            None => {
                verbs::create(hub, &mut tx, &w, json!({ "metadata": { "name": node.name }, "spec": spec }))
                    .map(drop)
            }
        };
        if let Err(error) = result {
            tracing::debug!(%error, node = node.name, "lease not renewed");
        }
    }
}

fn change_node(hub: &Hub, name: &str, change: impl FnOnce(&mut Value)) {
    let resource = hub.kind("nodes");
    let mut tx = hub.store.lock();
    let Some(node) = tx.get("nodes", "", name) else { return };
    let mut value = node.value.clone();
    change(&mut value);
    let w = Write::internal(&resource, "", name, "node-controller");
    if let Err(error) = verbs::system_update(&mut tx, &w, &node, value) {
        tracing::error!(%error, node = name, "node not written");
    }
}

fn pods_of(hub: &Hub, node: &str) -> Vec<Arc<Object>> {
    hub.store.lock().list("pods", "").filter(|p| p.value["spec"]["nodeName"] == node).cloned().collect()
}

fn lose(hub: &Hub, name: &str) {
    change_node(hub, name, |node| {
        set_condition(
            &mut node["status"],
            "Ready",
            "Unknown",
            "NodeStatusUnknown",
            "Kubelet stopped posting node status.",
        );
        let mut taints = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
        taints.retain(|t| t["key"] != UNREACHABLE);
        for effect in ["NoSchedule", "NoExecute"] {
            taints.push(json!({ "key": UNREACHABLE, "effect": effect, "timeAdded": now() }));
        }
        node["spec"]["taints"] = taints.into();
    });
    for pod in pods_of(hub, name) {
        let container = pod.value["spec"]["containers"][0]["name"].as_str().unwrap_or("").to_owned();
        let done = matches!(pod.value["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
        let result = if done {
            Ok(pod)
        } else {
            crate::node::status::update(hub, &pod, "node-controller", |s| {
                set_ready(s, &container, false, false);
            })
        };
        if let Err(error) = result {
            tracing::debug!(%error, "pod is gone");
        }
    }
}

fn recover(hub: &Hub, name: &str) {
    change_node(hub, name, revive);
    // deletions that waited for the node end now
    for pod in pods_of(hub, name).into_iter().filter(|p| p.terminating()) {
        gc::look_again(hub, "pods", pod.namespace());
    }
}

/// Pods that do not bear the taint are deleted; with their node gone they end without its help.
fn evict_all(hub: &Hub, name: &str) {
    let resource = hub.kind("pods");
    let taint = json!({ "key": UNREACHABLE, "effect": "NoExecute" });
    for pod in pods_of(hub, name) {
        let tolerations = pod.value["spec"]["tolerations"].as_array().cloned().unwrap_or_default();
        if tolerations.iter().any(|t| tolerates(t, &taint) && t["tolerationSeconds"].is_null()) {
            continue;
        }
        events::record(
            hub,
            &pod,
            "Normal",
            "TaintManagerEviction",
            &format!("Deleting pod {}", pod.name()),
            "taint-eviction-controller",
        );
        let w = Write::internal(&resource, pod.namespace(), pod.name(), "node-controller");
        let options = delete::Options { grace_period_seconds: Some(0), ..delete::Options::default() };
        if let Err(error) = delete::delete(hub, &mut hub.store.lock(), &w, &options) {
            tracing::debug!(%error, pod = pod.name(), "pod not evicted");
        }
    }
}

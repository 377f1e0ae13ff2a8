//! Nodes: registration from the configuration, and what follows when a node fails or its kubelet is silent.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use objects::error::Failure;
use objects::json::{items, remove};
use objects::pod::{NODE_NOT_READY, is_over, tolerates};
use objects::store::{Inner, Object};
use objects::time::now;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::gc;
use crate::config::NodeConfig;
use crate::faults::Part;
use crate::hub::Hub;
use crate::isolation::isolated;
use crate::node::heartbeats;
use crate::report::{expire, record, set_condition, update_pod};
use crate::verbs::delete::Options;
use crate::verbs::system;

const CHECK: Duration = Duration::from_millis(250);
/// Pause between two removals of old events.
const EXPIRY: Duration = Duration::from_secs(300);
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
    // the default handler has no name
    let handlers = std::iter::once("").chain(config.runtime_handlers.iter().map(String::as_str));
    let handlers = handlers.map(|name| json!({ "name": name, "features": { "userNamespaces": true } }));
    value["status"]["runtimeHandlers"] = handlers.collect();
    heartbeats::set_ready(&mut value);
    remove_taints(&mut value);
    system::update_status(tx, "nodes", &object, value, "kubelet");
    Ok(())
}

fn remove_taints(node: &mut Value) {
    if let Some(taints) = node["spec"]["taints"].as_array_mut() {
        taints.retain(|t| t["key"] != UNREACHABLE);
        if taints.is_empty() {
            remove(&mut node["spec"], "taints");
        }
    }
}

fn set_unreachable(node: &mut Value) {
    heartbeats::set_unknown(node);
    let mut taints = items(&node["spec"]["taints"]).to_vec();
    taints.retain(|t| t["key"] != UNREACHABLE);
    for effect in ["NoSchedule", "NoExecute"] {
        taints.push(json!({ "key": UNREACHABLE, "effect": effect, "timeAdded": now() }));
    }
    node["spec"]["taints"] = taints.into();
}

/// When the pods of a lost node are evicted; `None` once they were.
type Lost = HashMap<String, Option<Instant>>;

/// Nodes without heartbeats and nodes that have failed: reported as not ready, and their pods evicted.
pub(crate) async fn run(hub: Arc<Hub>) {
    let (mut failures, mut faults) = (hub.runtime.failures(), hub.faults.follow());
    let mut lost = Lost::new();
    let mut checked = Instant::now();
    let mut expiry = checked;
    loop {
        // this process may stop anywhere between two reads of the clock
        let now = Instant::now();
        hub.kubelets.heard.excuse((now - checked).saturating_sub(CHECK));
        checked = now;
        if hub.faults.reaches(&Part::Controllers) {
            check(&hub, &mut lost, now);
            if expiry <= Instant::now() {
                expire(&hub);
                expiry += EXPIRY;
            }
        }
        tokio::select! {
            () = hub.stop.cancelled() => return,
            () = tokio::time::sleep(CHECK) => {}
            () = faults.next() => {}
            changed = failures.changed() => if changed.is_err() { return },
        }
    }
}

fn check(hub: &Hub, lost: &mut Lost, now: Instant) {
    let nodes: Vec<Arc<Object>> = hub.store.lock().list("nodes", "").cloned().collect();
    lost.retain(|name, _| nodes.iter().any(|node| node.name() == name));
    for node in &nodes {
        let name = node.name();
        let failed = hub.runtime.has_failed(name);
        let marked = items(&node.value["spec"]["taints"]).iter().any(|t| t["key"] == UNREACHABLE);
        if !failed && !heartbeats::are_overdue(hub, name, now) {
            lost.remove(name);
            if marked {
                isolated("nodes", node, || recover(hub, name));
            }
            continue;
        }
        let eviction = match lost.get(name) {
            Some(eviction) => *eviction,
            None => {
                isolated("nodes", node, || fail(hub, name));
                Some(now + Duration::from_secs(hub.config.eviction_seconds))
            }
        };
        let due = eviction.is_some_and(|at| at <= now);
        if due {
            evict_all(hub, name, failed);
        }
        lost.insert(name.to_owned(), eviction.filter(|_| !due));
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
            update_pod(hub, pod, "node-controller", |s| {
                if items(&s["conditions"]).iter().any(|c| c["type"] == "Ready" && c["status"] == "True") {
                    set_condition(s, "Ready", "False", NODE_NOT_READY, "");
                }
            })
        });
    }
}

fn recover(hub: &Hub, name: &str) {
    update_node(hub, name, remove_taints);
    for pod in pods_of(hub, name).into_iter().filter(|p| p.terminating()) {
        gc::check_terminating(hub, "pods", pod.namespace());
    }
}

/// Deletes the pods of a lost node that do not tolerate its taint. A kubelet that is only silent ends them on its return;
/// those of a failed node are gone.
fn evict_all(hub: &Hub, name: &str, failed: bool) {
    let taint = json!({ "key": UNREACHABLE, "effect": "NoExecute" });
    for pod in &pods_of(hub, name) {
        let tolerations = items(&pod.value["spec"]["tolerations"]);
        if tolerations.iter().any(|t| tolerates(t, &taint) && t["tolerationSeconds"].is_null()) {
            continue;
        }
        isolated("nodes", pod, || {
            let message = format!("Deleting pod {}", pod.name());
            record(hub, pod, "Normal", "TaintManagerEviction", &message, "taint-eviction-controller");
            let options = Options { grace_period_seconds: failed.then_some(0), ..Options::default() };
            if let Err(error) = system::delete(hub, &mut hub.store.lock(), "pods", &pod.key(), &options) {
                tracing::debug!(%error, pod = pod.name(), "cannot evict pod");
            }
        });
    }
}

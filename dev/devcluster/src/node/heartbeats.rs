//! The heartbeats of kubelets: each renews the lease of its node, and reports a node as ready that had become unknown.

use std::sync::Arc;
use std::time::Duration;

use objects::json::items;
use objects::store::Object;
use objects::time::now_micro;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::kind_of;
use crate::faults::Part;
use crate::hub::Hub;
use crate::report::set_condition;
use crate::verbs::system;

const LEASES: &str = "leases.coordination.k8s.io";
/// The condition of a node whose kubelet is silent.
const UNKNOWN: &str = "NodeStatusUnknown";

fn grace(hub: &Hub) -> Duration {
    Duration::from_secs(hub.config.node_grace_seconds)
}

/// Whether a kubelet has been silent for too long at `now`. A node without a kubelet keeps the state that clients give it.
pub(crate) fn are_overdue(hub: &Hub, node: &str, now: Instant) -> bool {
    kind_of(hub, node).is_some() && hub.kubelets.heard.silence(node, now) > grace(hub)
}

pub(crate) async fn run(hub: Arc<Hub>) {
    let (mut failures, mut faults) = (hub.runtime.failures(), hub.faults.follow());
    let mut connected = true;
    loop {
        let reaches = hub.faults.reaches(&Part::ApiServer);
        if reaches && !connected {
            hub.stop
                .run_until_cancelled(tokio::time::sleep(Duration::from_millis(hub.config.reconnect_ms)))
                .await;
        }
        connected = reaches;
        let nodes: Vec<Arc<Object>> = hub.store.lock().list("nodes", "").cloned().collect();
        for node in nodes {
            let silent = hub.runtime.has_failed(node.name()) || !hub.faults.kubelet_reaches(node.name());
            if !silent && kind_of(&hub, node.name()).is_some() {
                beat(&hub, &node);
            }
        }
        tokio::select! {
            () = hub.stop.cancelled() => return,
            () = tokio::time::sleep(grace(&hub) / 4) => {}
            () = faults.next() => {}
            changed = failures.changed() => if changed.is_err() { return },
        }
    }
}

fn beat(hub: &Hub, node: &Object) {
    hub.kubelets.heard.put(node.name());
    let mut tx = hub.store.lock();
    let seconds = hub.config.node_grace_seconds;
    let spec =
        json!({ "holderIdentity": node.name(), "leaseDurationSeconds": seconds, "renewTime": now_micro() });
    if let Some(old) = tx.get(LEASES, "kube-node-lease", node.name()) {
        let mut value = old.value.clone();
        value["spec"] = spec;
        system::update(&mut tx, LEASES, &old, value, "kubelet");
    } else {
        let lease = json!({ "metadata": { "name": node.name() }, "spec": spec });
        if let Err(error) = system::create(hub, &mut tx, LEASES, "kube-node-lease", "kubelet", lease) {
            tracing::debug!(%error, node = node.name(), "cannot renew lease");
        }
    }
    let Some(node) = tx.get("nodes", "", node.name()) else { return };
    let unknown = |c: &Value| c["type"] == "Ready" && c["reason"] == UNKNOWN;
    if items(&node.value["status"]["conditions"]).iter().any(unknown) {
        let mut value = node.value.clone();
        set_ready(&mut value);
        system::update_status(&mut tx, "nodes", &node, value, "kubelet");
    }
}

/// Reports a node as ready.
pub(crate) fn set_ready(node: &mut Value) {
    set_condition(&mut node["status"], "Ready", "True", "KubeletReady", "the node is ready");
}

/// Reports that nothing is known about a node.
pub(crate) fn set_unknown(node: &mut Value) {
    let message = "Kubelet stopped posting node status.";
    set_condition(&mut node["status"], "Ready", "Unknown", UNKNOWN, message);
}

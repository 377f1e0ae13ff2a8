//! `nodes/proxy`: of a kubelet's own API, `/stats/summary`, with what the processes of the node's pods use.
//!
//! CPU, memory and disk are those of the pod's process group and folder. Pods have no network of their own, so its
//! counters are the machine's, the same for all pods.

use std::sync::Arc;

use axum::response::Response;
use http::StatusCode;
use objects::error::Failure;
use objects::json::text;
use objects::pod::container;
use objects::store::Object;
use objects::time::now;
use serde_json::{Value, json};

use super::json_response;
use super::request::Target;
use crate::hub::Hub;
use crate::runtime::{reaper, usage};

/// The interface over which the pods of the cluster are reached.
const DEFAULT_INTERFACE: &str = "lo";

/// Answers `GET /api/v1/nodes/{name}/proxy/stats/summary`; `path` is that of the request.
pub(crate) async fn serve(hub: &Arc<Hub>, target: &Target, path: &str) -> Result<Response, Failure> {
    let node = &target.name;
    let resource = &target.resource;
    if hub.store.lock().get("nodes", "", node).is_none() {
        return Err(resource.not_found(node));
    }
    if !path.trim_end_matches('/').ends_with("/proxy/stats/summary") {
        let why = "the development cluster serves only stats/summary of a kubelet";
        return Err(Failure::bad_request(why));
    }
    if hub.runtime.has_failed(node) || !hub.faults.kubelet_reaches(node) {
        return Err(Failure::unavailable("error trying to reach service: the kubelet does not answer"));
    }
    let pods: Vec<Arc<Object>> = {
        let tx = hub.store.lock();
        let own = tx.list("pods", "").filter(|pod| text(&pod.value["spec"]["nodeName"]) == node.as_str());
        own.cloned().collect()
    };
    let (hub, node) = (hub.clone(), node.clone());
    let measured = tokio::task::spawn_blocking(move || summary(&hub, &node, &pods)).await;
    let summary = measured.map_err(|error| Failure::internal(format!("measuring pods: {error}")))?;
    Ok(json_response(StatusCode::OK, &summary))
}

fn summary(hub: &Hub, node: &str, pods: &[Arc<Object>]) -> Value {
    let groups = usage::groups();
    let pods: Vec<Value> = pods.iter().filter_map(|pod| of_pod(hub, pod, &groups)).collect();
    json!({ "node": { "nodeName": node }, "pods": pods })
}

/// The numbers of a pod; none if its process does not run.
fn of_pod(
    hub: &Hub,
    pod: &Object,
    groups: &std::collections::HashMap<i32, usage::GroupUsage>,
) -> Option<Value> {
    let home = hub.runtime.pod_dir(pod.uid());
    let pid = reaper::recorded(&home)?;
    let used = groups.get(&pid)?;
    let time = now();
    let disk = usage::disk_bytes(&home);
    let cpu = json!({ "time": time, "usageCoreNanoSeconds": used.cpu_nanoseconds });
    let memory = json!({
        "time": time, "workingSetBytes": used.memory_bytes, "rssBytes": used.memory_bytes,
        "usageBytes": used.memory_bytes,
    });
    let interfaces = usage::interfaces(pid);
    let interface = |interface: &usage::Interface| {
        json!({
            "name": interface.name, "rxBytes": interface.received_bytes, "txBytes": interface.sent_bytes,
        })
    };
    let mut network = interfaces.iter().find(|each| each.name == DEFAULT_INTERFACE).map(interface);
    if let Some(network) = &mut network {
        network["time"] = time.clone().into();
        network["interfaces"] = interfaces.iter().map(interface).collect();
    }
    let mut stats = json!({
        "podRef": { "name": pod.name(), "namespace": pod.namespace(), "uid": pod.uid() },
        "startTime": pod.value["status"]["startTime"],
        "containers": [{
            "name": container(&pod.value)["name"],
            "startTime": pod.value["status"]["containerStatuses"][0]["state"]["running"]["startedAt"],
            "cpu": cpu, "memory": memory, "rootfs": { "time": time, "usedBytes": disk },
        }],
        "cpu": cpu, "memory": memory, "ephemeral-storage": { "time": time, "usedBytes": disk },
    });
    if let Some(network) = network {
        stats["network"] = network;
    }
    Some(stats)
}

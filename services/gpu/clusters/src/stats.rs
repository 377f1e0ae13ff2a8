//! What a node reports of its pods: the kubelet's `/stats/summary`, through the API server.

use std::time::Duration;

use crds::names::CONTAINER;
use gpu_core::unit::PodRef;
use ids::InstanceId;
use jiff::Timestamp;
use serde::Deserialize;

use super::{Cluster, PodError};

/// How long a node may take to answer.
const ANSWER: Duration = Duration::from_secs(5);

/// A running instance, and where its numbers are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningPod {
    pub instance: InstanceId,
    pub node: String,
    pub pod: PodRef,
}

/// A node's report of a pod at one time. Counters grow from the start of the container.
#[derive(Debug, Clone, PartialEq)]
pub struct PodStats {
    pub pod: PodRef,
    /// When the node measured the container.
    pub at: Timestamp,
    pub cpu_nanoseconds: Option<u64>,
    /// The node's own rate: billionths of a core.
    pub cpu_nanocores: Option<u64>,
    pub memory_bytes: Option<u64>,
    /// Bytes used by the container's file system, its log and its `emptyDir` volumes.
    pub disk_bytes: Option<u64>,
    pub network: Option<NetworkStats>,
}

/// Counters of a pod's network interfaces, at a time of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NetworkStats {
    pub at: Timestamp,
    pub received_bytes: u64,
    pub sent_bytes: u64,
}

impl Cluster {
    /// Returns the instances that are ready now, if the watch is connected.
    pub fn running_pods(&self) -> Vec<RunningPod> {
        self.read(|cache| {
            let units = cache.units.values().filter(|_| cache.connected);
            let running = units.filter_map(|unit| {
                Some(RunningPod {
                    instance: unit.running_instance()?,
                    node: unit.node.clone()?,
                    pod: PodRef::of(unit.instance.as_ref()?)?,
                })
            });
            running.collect()
        })
    }

    /// Returns a node's report of all its pods.
    pub async fn node_stats(&self, node: &str) -> Result<Vec<PodStats>, PodError> {
        let request = http::Request::get(format!("/api/v1/nodes/{node}/proxy/stats/summary"))
            .body(Vec::new())
            .map_err(|error| PodError::from(kube::Error::HttpError(error)))?;
        let client = self.clients.client(&self.name).await?;
        let answer = tokio::time::timeout(ANSWER, client.request::<Summary>(request)).await;
        let summary = answer.unwrap_or_else(|elapsed| Err(kube::Error::Service(elapsed.into())))?;
        Ok(summary.pods.into_iter().filter_map(PodSummary::stats).collect())
    }
}

#[derive(Deserialize)]
struct Summary {
    #[serde(default)]
    pods: Vec<PodSummary>,
}

#[derive(Deserialize)]
struct PodSummary {
    #[serde(rename = "podRef")]
    pod: PodName,
    #[serde(default)]
    containers: Vec<ContainerSummary>,
    network: Option<Network>,
    #[serde(rename = "ephemeral-storage")]
    disk: Option<FileSystem>,
}

#[derive(Deserialize)]
struct PodName {
    name: String,
    namespace: String,
}

#[derive(Deserialize)]
struct ContainerSummary {
    name: String,
    cpu: Option<Cpu>,
    memory: Option<Memory>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Cpu {
    time: Timestamp,
    usage_nano_cores: Option<u64>,
    usage_core_nano_seconds: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Memory {
    working_set_bytes: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Network {
    time: Timestamp,
    rx_bytes: Option<u64>,
    tx_bytes: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FileSystem {
    used_bytes: Option<u64>,
}

impl PodSummary {
    /// Returns the numbers of the service's container; none before the node has measured it.
    fn stats(self) -> Option<PodStats> {
        let container = self.containers.into_iter().find(|container| container.name == CONTAINER)?;
        let cpu = container.cpu?;
        Some(PodStats {
            pod: PodRef::new(&self.pod.namespace, &self.pod.name),
            at: cpu.time,
            cpu_nanoseconds: cpu.usage_core_nano_seconds,
            cpu_nanocores: cpu.usage_nano_cores,
            memory_bytes: container.memory.and_then(|memory| memory.working_set_bytes),
            disk_bytes: self.disk.and_then(|disk| disk.used_bytes),
            network: self.network.and_then(|network| {
                Some(NetworkStats {
                    at: network.time,
                    received_bytes: network.rx_bytes?,
                    sent_bytes: network.tx_bytes?,
                })
            }),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// As a kubelet answers, with one pod that has just started.
    #[test]
    fn a_summary_has_the_numbers_of_the_service_container() {
        let summary = json!({
            "node": { "nodeName": "n1", "cpu": { "time": "2026-01-01T00:00:09Z", "usageNanoCores": 1 } },
            "pods": [
                { "podRef": { "name": "p", "namespace": "ten-1", "uid": "u" }, "startTime": "2026-01-01T00:00:00Z",
                  "containers": [
                      { "name": "sidecar", "cpu": { "time": "2026-01-01T00:00:07Z", "usageCoreNanoSeconds": 9 } },
                      { "name": "main", "cpu": { "time": "2026-01-01T00:00:08Z", "usageNanoCores": 5, "usageCoreNanoSeconds": 7 },
                        "memory": { "time": "2026-01-01T00:00:08Z", "workingSetBytes": 11, "rssBytes": 10 } }],
                  "network": { "time": "2026-01-01T00:00:06Z", "name": "eth0", "rxBytes": 3, "txBytes": 4, "interfaces": [] },
                  "ephemeral-storage": { "time": "2026-01-01T00:00:08Z", "usedBytes": 12 } },
                { "podRef": { "name": "new", "namespace": "ten-1", "uid": "v" }, "containers": [{ "name": "main" }] },
            ],
        });
        let summary: Summary = serde_json::from_value(summary).unwrap();
        let stats: Vec<_> = summary.pods.into_iter().filter_map(PodSummary::stats).collect();
        let at = |second| format!("2026-01-01T00:00:0{second}Z").parse().unwrap();
        let expected = PodStats {
            pod: PodRef::new("ten-1", "p"),
            at: at(8),
            cpu_nanoseconds: Some(7),
            cpu_nanocores: Some(5),
            memory_bytes: Some(11),
            disk_bytes: Some(12),
            network: Some(NetworkStats { at: at(6), received_bytes: 3, sent_bytes: 4 }),
        };
        assert_eq!(stats, [expected]);
    }
}

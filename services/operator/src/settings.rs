//! What the decisions depend on beside the objects themselves.

use std::time::Duration;

use k8s_openapi::api::core::v1::Toleration;
use serde::Deserialize;

/// Settings of the decisions; everything has a default that suits an ordinary cluster.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Image of the placeholder pods.
    pub pause_image: String,
    /// Seconds a pod may take to win the place that was cleared for it before the hand-off counts as lost.
    pub hand_off_seconds: u64,
    /// Seconds a node may be not ready before it counts as lost (the cluster has waited itself before
    /// it says so).
    pub node_lost_seconds: u64,
    /// User and group inside a container that does not need root.
    pub run_as: i64,
    /// Scheduler of the pods; the cluster's default when absent.
    pub scheduler: Option<String>,
    /// Taint keys that units tolerate with any value and effect.
    pub tolerated_taints: Vec<String>,
    /// Lines of a failed container's log that are kept.
    pub log_tail_lines: i64,
    /// Namespace of the gateway, the only place that traffic to instances comes from.
    pub gateway_namespace: String,
    /// Label `app.kubernetes.io/name` of the gateway's pods.
    pub gateway_name: String,
    /// Ranges that instances may not reach, beside their own node's.
    pub private_ranges: Vec<String>,
    /// The most pods a tenant's namespace may hold.
    pub tenant_pods: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            pause_image: "registry.k8s.io/pause:3.10".to_owned(),
            hand_off_seconds: 5,
            node_lost_seconds: 15,
            run_as: 1000,
            scheduler: None,
            tolerated_taints: vec!["nvidia.com/gpu".to_owned(), "atelier.dev/gpu".to_owned()],
            log_tail_lines: 40,
            gateway_namespace: crds::names::SYSTEM_NAMESPACE.to_owned(),
            gateway_name: "atelier-gateway".to_owned(),
            private_ranges: [
                "0.0.0.0/8",
                "10.0.0.0/8",
                "100.64.0.0/10",
                "127.0.0.0/8",
                "169.254.0.0/16",
                "172.16.0.0/12",
                "192.0.0.0/24",
                "192.168.0.0/16",
                "198.18.0.0/15",
                "224.0.0.0/4",
                "240.0.0.0/4",
                "::1/128",
                "fc00::/7",
                "fe80::/10",
                "ff00::/8",
                "64:ff9b::/96",
            ]
            .map(str::to_owned)
            .to_vec(),
            tenant_pods: 500,
        }
    }
}

impl Settings {
    /// How long a pod may take to win its place.
    #[must_use]
    pub const fn hand_off(&self) -> Duration {
        Duration::from_secs(self.hand_off_seconds)
    }

    /// How long a node may be not ready.
    #[must_use]
    pub const fn node_lost(&self) -> Duration {
        Duration::from_secs(self.node_lost_seconds)
    }

    /// The tolerations of every pod of a unit.
    #[must_use]
    pub fn tolerations(&self) -> Option<Vec<Toleration>> {
        let all: Vec<_> = self
            .tolerated_taints
            .iter()
            .map(|key| Toleration {
                key: Some(key.clone()),
                operator: Some("Exists".to_owned()),
                ..Toleration::default()
            })
            .collect();
        (!all.is_empty()).then_some(all)
    }
}

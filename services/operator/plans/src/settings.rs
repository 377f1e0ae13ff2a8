//! Settings that plans depend on.

use std::time::Duration;

use k8s_openapi::api::core::v1::Toleration;
use serde::Deserialize;

/// Isolation of the images of the platform's catalogue.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PlatformCode {
    /// RuntimeClass of instances whose entry in the catalogue names none; the cluster's default runtime if absent.
    pub runtime_class: Option<String>,
    /// Whether the users in the containers are mapped to others of the node (`hostUsers: false`). The
    /// runtime, and the file systems of the volumes, must support this.
    pub user_namespace: bool,
}

/// Isolation of images of tenants' own, and of the programs that tenants run in images of the catalogue.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TenantCode {
    /// RuntimeClass (gVisor, Kata) of such instances, also of those whose entry in the catalogue names another one.
    pub runtime_class: Option<String>,
    /// Whether such instances may run in the cluster's default runtime if `runtime_class` is absent. Otherwise they do not
    /// start.
    pub accept_default_runtime: bool,
    /// Whether the users in the containers are mapped to others of the node (`hostUsers: false`). The
    /// runtime, and the file systems of the volumes, must support this.
    pub user_namespace: bool,
}

/// Settings of the operator. The defaults suit an ordinary cluster.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Image of placeholder pods.
    pub pause_image: String,
    /// Seconds within which a pod must be bound to the place that was freed for it. After that the unit no
    /// longer counts as held, and the place is given up if another pod has taken it. Longer than a scheduler
    /// waits between two attempts (10 s).
    pub hand_off_seconds: u64,
    /// Seconds within which a running scheduler has read the cluster again after it could not reach the API
    /// server. client-go waits for up to 30 s between two attempts.
    pub scheduler_return_seconds: u64,
    /// Seconds after which a node that is not ready counts as lost. Kubelets report every 10 s.
    pub node_lost_seconds: u64,
    /// Seconds from the first failure to pull an image after which a start fails. The kubelet first tries again after
    /// 10 s.
    pub image_pull_seconds: u64,
    /// User and group id inside containers without root.
    pub run_as: i64,
    /// Scheduler of the pods; the cluster's default if absent.
    pub scheduler: Option<String>,
    /// Taint keys that units tolerate with any value and effect.
    pub tolerated_taints: Vec<String>,
    /// Log lines of a failed container that are kept.
    pub log_tail_lines: i64,
    /// Namespace of the gateway, the only source of traffic to instances.
    pub gateway_namespace: String,
    /// Label `app.kubernetes.io/name` of the gateway's pods.
    pub gateway_name: String,
    /// CIDR ranges that instances cannot reach.
    pub private_ranges: Vec<String>,
    /// Most pods in a tenant's namespace.
    pub tenant_pods: u32,
    /// Image of `atelier-fetch`, which downloads files onto volumes.
    pub fetch_image: String,
    /// Seconds after which the cluster ends a pod that downloads a file.
    pub fetch_seconds: i64,
    /// How images of the catalogue are isolated.
    pub platform_code: PlatformCode,
    /// How code of tenants is isolated.
    pub tenant_code: TenantCode,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            pause_image: "registry.k8s.io/pause:3.10".to_owned(),
            hand_off_seconds: 15,
            scheduler_return_seconds: 60,
            node_lost_seconds: 40,
            image_pull_seconds: 30,
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
                // NAT64 and 6to4: IPv4 addresses, private ones included, within IPv6
                "64:ff9b::/96",
                "64:ff9b:1::/48",
                "2002::/16",
            ]
            .map(str::to_owned)
            .to_vec(),
            tenant_pods: 500,
            fetch_image: concat!("atelier/fetch:", env!("CARGO_PKG_VERSION")).to_owned(),
            fetch_seconds: 1800,
            platform_code: PlatformCode::default(),
            tenant_code: TenantCode::default(),
        }
    }
}

impl Settings {
    /// Time within which a pod must be bound to its place.
    #[must_use]
    pub const fn hand_off(&self) -> Duration {
        Duration::from_secs(self.hand_off_seconds)
    }

    /// Time within which a running scheduler follows the cluster again.
    #[must_use]
    pub const fn scheduler_return(&self) -> Duration {
        Duration::from_secs(self.scheduler_return_seconds)
    }

    /// Time after which a node that is not ready counts as lost.
    #[must_use]
    pub const fn node_lost(&self) -> Duration {
        Duration::from_secs(self.node_lost_seconds)
    }

    /// Time from the first failure to pull an image after which a start fails.
    #[must_use]
    pub const fn image_pull(&self) -> Duration {
        Duration::from_secs(self.image_pull_seconds)
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

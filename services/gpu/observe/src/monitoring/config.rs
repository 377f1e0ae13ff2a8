//! Configuration of metrics: their sources, and how long samples are kept.

use std::{collections::BTreeMap, time::Duration};

use secrecy::SecretString;
use serde::Deserialize;

/// A Prometheus that scrapes the DCGM exporter and the kubelets (cAdvisor) of a cluster.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrometheusConfig {
    /// Base URL: the part before `/api/v1`.
    pub url: url::Url,
    /// Sent as `Authorization: Bearer …`.
    #[serde(default)]
    pub bearer_token: Option<SecretString>,
    /// Milliseconds that all queries of a request may take together.
    #[serde(default = "default_prometheus_timeout")]
    pub timeout_ms: u64,
    /// Maximum number of concurrent queries of this replica.
    #[serde(default = "default_prometheus_queries")]
    pub queries: usize,
    /// Maximum number of seconds between two scrapes of the exporters.
    #[serde(default = "default_scrape_interval")]
    pub scrape_interval_seconds: u32,
    /// Labels of all series of this cluster, for a Prometheus that has series of several clusters.
    #[serde(default)]
    pub matchers: BTreeMap<String, String>,
    /// Label of the pod's namespace in metrics of the DCGM exporter.
    #[serde(default = "default_gpu_namespace_label")]
    pub gpu_namespace_label: String,
    /// Label of the pod's name in metrics of the DCGM exporter.
    #[serde(default = "default_gpu_pod_label")]
    pub gpu_pod_label: String,
    /// Label of the GPU's number in metrics of the DCGM exporter.
    #[serde(default = "default_gpu_label")]
    pub gpu_label: String,
}

fn default_prometheus_timeout() -> u64 {
    5000
}

fn default_prometheus_queries() -> usize {
    16
}

fn default_scrape_interval() -> u32 {
    15
}

fn default_gpu_namespace_label() -> String {
    "exported_namespace".to_owned()
}

fn default_gpu_pod_label() -> String {
    "exported_pod".to_owned()
}

fn default_gpu_label() -> String {
    "gpu".to_owned()
}

/// Samples of reports from nodes about instances, in clusters without Prometheus.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MonitoringConfig {
    /// Seconds between two samples of an instance. They are kept for an hour.
    pub sample_seconds: u32,
    /// Days for which averages over five minutes are kept.
    pub days: u32,
}

impl Default for MonitoringConfig {
    fn default() -> Self {
        Self { sample_seconds: 15, days: 7 }
    }
}

impl MonitoringConfig {
    pub(crate) fn interval(self) -> Duration {
        Duration::from_secs(self.sample_seconds.max(1).into())
    }
}

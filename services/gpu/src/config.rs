//! This service's configuration.

use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf, time::Duration};

use auth::{AuthConfig, Callers};
use cache::CacheConfig;
use clients::{Endpoint, gpu::HostLabel};
use crds::ClusterConfig;
use db::DbConfig;
use encryption::EncryptionKey;
use ids::InstanceId;
use jiff::SignedDuration;
use secrecy::SecretString;
use serde::Deserialize;

/// Configuration of the gpu service.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Address to listen on.
    pub listen: SocketAddr,
    /// Database with the schema `gpu`.
    pub database: DbConfig,
    /// Access tokens that are accepted.
    pub auth: AuthConfig,
    /// Services that may call internal operations: name → token.
    #[serde(default)]
    pub callers: Callers,
    /// The Valkey or Redis in which replicas share what may be forgotten. Without it, each keeps it in memory.
    #[serde(default)]
    pub cache: Option<CacheConfig>,
    /// Keys that encrypt the secrets of instances at rest. The first encrypts, all decrypt. To replace one, insert the new
    /// key first; keep the old one while instances have secrets that were written before.
    pub encryption_keys: Vec<EncryptionKey>,
    /// The stock service.
    pub stock: Endpoint,
    /// The storage service.
    pub storage: Endpoint,
    /// The identity service, which knows the e-mail addresses of users. Without it, share links for one person name the user.
    #[serde(default)]
    pub identity: Option<Endpoint>,
    /// Host names of instances.
    pub apps: Apps,
    /// Clusters, by the names in the datacenters' `cluster`.
    #[serde(default)]
    pub clusters: BTreeMap<String, ClusterConfig>,
    /// Terminals.
    #[serde(default)]
    pub terminal: TerminalConfig,
    /// Open logs, terminals and event streams.
    #[serde(default)]
    pub streams: StreamsConfig,
    /// The log of events.
    #[serde(default)]
    pub events: EventsConfig,
    /// Units that stopped instances keep.
    #[serde(default)]
    pub holds: HoldsConfig,
    /// What tenants may spend.
    #[serde(default)]
    pub budgets: BudgetsConfig,
    /// The archive of instances' logs. Without it, only the logs of running containers can be read.
    #[serde(default)]
    pub log_archive: Option<LogArchiveConfig>,
    /// The SSH endpoint; none if absent.
    #[serde(default)]
    pub ssh: Option<SshConfig>,
    /// The Prometheus servers with the metrics of pods and GPUs, by cluster. A cluster without one is sampled.
    #[serde(default)]
    pub prometheus: BTreeMap<String, PrometheusConfig>,
    /// Samples of what the nodes of clusters without Prometheus report.
    #[serde(default)]
    pub monitoring: MonitoringConfig,
    /// Instances that stop when they are idle.
    #[serde(default)]
    pub idle: IdleConfig,
    /// How long entries of the audit log are kept.
    #[serde(default)]
    pub audit: audit::RetentionConfig,
    /// Where spans are exported to.
    #[serde(default)]
    pub telemetry: Option<service::TelemetryConfig>,
}

/// Instances that stop when they are idle.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct IdleConfig {
    /// Seconds before a stop at which it is announced.
    pub notice_seconds: u32,
    /// The shortest `after_seconds`: longer than the notice.
    pub min_after_seconds: u32,
    /// Seconds between two looks at an instance whose stop is announced.
    pub check_seconds: u32,
    /// Seconds between two reports of the connections that this replica carries.
    pub report_seconds: u32,
    /// Seconds without an observation after which nothing is known, and the idle time begins anew.
    pub unknown_seconds: u32,
    /// Seconds for which a replica that is silent may still carry connections.
    pub lost_seconds: u32,
}

impl Default for IdleConfig {
    fn default() -> Self {
        Self {
            notice_seconds: 600,
            min_after_seconds: 900,
            check_seconds: 15,
            report_seconds: 30,
            unknown_seconds: 120,
            lost_seconds: 900,
        }
    }
}

/// A Prometheus that scrapes the DCGM exporter and the kubelets (cAdvisor) of a cluster.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrometheusConfig {
    /// Base URL: what comes before `/api/v1`.
    pub url: url::Url,
    /// Sent as `Authorization: Bearer …`.
    #[serde(default)]
    pub bearer_token: Option<SecretString>,
    /// Milliseconds that all queries of a request may take together.
    #[serde(default = "default_prometheus_timeout")]
    pub timeout_ms: u64,
    /// Queries of this replica at a time.
    #[serde(default = "default_prometheus_queries")]
    pub queries: usize,
    /// Seconds between two scrapes of the exporters, at most.
    #[serde(default = "default_scrape_interval")]
    pub scrape_interval_seconds: u32,
    /// Labels that all series of this cluster have, where a Prometheus has those of several.
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

/// Samples of what the nodes of clusters without Prometheus report of instances.
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

/// The SSH endpoint: `ssh <instance>@<host>`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SshConfig {
    /// Address to listen on.
    pub listen: SocketAddr,
    /// Host name for users.
    pub host: String,
    /// Port for users; that of `listen` if absent.
    #[serde(default)]
    pub port: Option<u16>,
    /// File with the host key in OpenSSH format. Without it, the first replica makes one and keeps it in the database.
    #[serde(default)]
    pub host_key_file: Option<PathBuf>,
    /// The identity service, which says what a key's user may do.
    pub identity: Endpoint,
    /// Connections of this replica at a time, before and after log-in.
    #[serde(default = "default_connections")]
    pub connections: u32,
    /// Connections of a tenant to this replica at a time.
    #[serde(default = "default_connections_per_tenant")]
    pub connections_per_tenant: u32,
    /// Failed keys after which a connection is closed.
    #[serde(default = "default_auth_attempts")]
    pub auth_attempts: u32,
    /// Seconds that a client has to log in.
    #[serde(default = "default_handshake_seconds")]
    pub handshake_seconds: u64,
    /// Seconds without a byte in either direction after which a connection is closed.
    #[serde(default = "default_idle_seconds")]
    pub idle_seconds: u64,
}

fn default_connections() -> u32 {
    1000
}

fn default_connections_per_tenant() -> u32 {
    64
}

fn default_auth_attempts() -> u32 {
    10
}

fn default_handshake_seconds() -> u64 {
    30
}

fn default_idle_seconds() -> u64 {
    2 * 3600
}

impl SshConfig {
    pub(crate) fn handshake(&self) -> Duration {
        Duration::from_secs(self.handshake_seconds.max(1))
    }

    pub(crate) fn idle(&self) -> Duration {
        Duration::from_secs(self.idle_seconds.max(1))
    }
}

/// The archive of instances' logs: a bucket of the platform in an object store with S3.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogArchiveConfig {
    /// Base URL, `http(s)://host:port`.
    pub endpoint: String,
    /// Region for request signatures.
    #[serde(default = "default_region")]
    pub region: String,
    /// Name of the bucket. It is created if the key may do so.
    pub bucket: String,
    /// Access key of a user who owns the bucket.
    pub access_key: String,
    /// Secret key of that user.
    pub secret_key: SecretString,
    /// Days for which lines are kept.
    #[serde(default = "default_log_days")]
    pub days: u32,
    /// Compressed bytes that are kept of an instance. The oldest lines are deleted first.
    #[serde(default = "default_log_bytes")]
    pub bytes_per_instance: u64,
    /// Seconds between two readings of a log that is not followed.
    #[serde(default = "default_interval_seconds")]
    pub interval_seconds: u32,
    /// Seconds for which few new lines are left in the cluster, so that chunks are not too small.
    #[serde(default = "default_hold_seconds")]
    pub hold_seconds: u32,
    /// Logs of a cluster that are read at a time.
    #[serde(default = "default_collections")]
    pub collections: usize,
    /// Logs of a cluster that are followed at a time; half of them those of starting and ending containers.
    #[serde(default = "default_follows")]
    pub follows: usize,
}

fn default_region() -> String {
    "default".to_owned()
}

fn default_log_days() -> u32 {
    14
}

fn default_log_bytes() -> u64 {
    64 * 1024 * 1024
}

fn default_interval_seconds() -> u32 {
    10
}

fn default_hold_seconds() -> u32 {
    60
}

fn default_collections() -> usize {
    16
}

fn default_follows() -> usize {
    512
}

impl LogArchiveConfig {
    pub(crate) fn interval(&self) -> Duration {
        Duration::from_secs(self.interval_seconds.max(1).into())
    }

    pub(crate) fn hold(&self) -> Duration {
        Duration::from_secs(self.hold_seconds.into())
    }
}

/// Host names of instances: `<scheme>://<inst-…>.<domain>[:<port>]/`, and `<scheme>://p<port>-<inst-…>.<domain>[:<port>]/`
/// of their public ports.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Apps {
    /// `http` or `https`.
    pub scheme: String,
    /// Parent domain of the instances' host names.
    pub domain: String,
    /// Port; the scheme's default when absent.
    #[serde(default)]
    pub port: Option<u16>,
}

impl Apps {
    /// Returns the URL of an instance, or of one of its public ports, with a slash at the end.
    #[must_use]
    pub fn url(&self, instance: InstanceId, public_port: Option<u16>) -> String {
        let Self { scheme, domain, port } = self;
        let port = port.map(|port| format!(":{port}")).unwrap_or_default();
        let label = HostLabel { instance, port: public_port };
        format!("{scheme}://{label}.{domain}{port}/")
    }
}

/// Limits of open streams of a tenant in one replica.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StreamsConfig {
    /// Logs that are being read or followed at a time.
    pub logs_per_tenant: u32,
    /// Terminals that are open at a time.
    pub terminals_per_tenant: u32,
    /// Streams of events that are open at a time.
    pub events_per_tenant: u32,
    /// Seconds after which a stream of events is closed whose client takes nothing.
    pub slow_reader_seconds: u32,
    /// Seconds between two signs of life of a stream of events in which nothing happens.
    pub heartbeat_seconds: u32,
}

impl StreamsConfig {
    pub(crate) fn slow_reader(&self) -> Duration {
        Duration::from_secs(self.slow_reader_seconds.max(1).into())
    }

    pub(crate) fn heartbeat(&self) -> Duration {
        Duration::from_secs(self.heartbeat_seconds.max(1).into())
    }
}

/// Units that stopped instances keep.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HoldsConfig {
    /// Longest time for which a unit is kept, in seconds.
    pub max_seconds: u32,
}

impl Default for HoldsConfig {
    fn default() -> Self {
        Self { max_seconds: 7 * 86_400 }
    }
}

/// Times of budgets and allowances.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BudgetsConfig {
    /// Seconds before a stop at which it is announced.
    pub notice_seconds: u32,
    /// Seconds for which what is left has to pay for all instances, with the one that is to be started.
    pub start_ahead_seconds: u32,
    /// Seconds after a stop for which holds are kept if instances still run.
    pub stop_grace_seconds: u32,
    /// Seconds for which an allowance still counts that another service does not renew.
    pub outage_grace_seconds: u32,
}

impl Default for BudgetsConfig {
    fn default() -> Self {
        Self {
            notice_seconds: 300,
            start_ahead_seconds: 1200,
            stop_grace_seconds: 120,
            outage_grace_seconds: 3600,
        }
    }
}

impl BudgetsConfig {
    pub(crate) fn times(self) -> crate::budget::Times {
        crate::budget::Times { notice: self.notice(), start_ahead: self.start_ahead() }
    }

    pub(crate) fn notice(self) -> SignedDuration {
        SignedDuration::from_secs(self.notice_seconds.into())
    }

    pub(crate) fn start_ahead(self) -> SignedDuration {
        SignedDuration::from_secs(self.start_ahead_seconds.into())
    }

    pub(crate) fn stop_grace(self) -> SignedDuration {
        SignedDuration::from_secs(self.stop_grace_seconds.into())
    }

    pub(crate) fn outage_grace(self) -> SignedDuration {
        SignedDuration::from_secs(self.outage_grace_seconds.into())
    }
}

/// The log of events.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EventsConfig {
    /// Days for which events are kept, also those of deleted instances.
    pub retention_days: u32,
}

impl Default for EventsConfig {
    fn default() -> Self {
        Self { retention_days: 90 }
    }
}

impl EventsConfig {
    /// Returns for how many seconds events are kept: a day at least.
    pub(crate) fn retention_seconds(self) -> f64 {
        f64::from(self.retention_days.max(1)) * 86_400.0
    }
}

impl Default for StreamsConfig {
    fn default() -> Self {
        Self {
            logs_per_tenant: 64,
            terminals_per_tenant: 32,
            events_per_tenant: 64,
            slow_reader_seconds: 30,
            heartbeat_seconds: 15,
        }
    }
}

/// Limits of terminals.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TerminalConfig {
    /// Seconds without a byte in either direction after which a terminal is closed.
    pub idle_seconds: u64,
    /// Seconds after a lost connection for which the client can connect again.
    pub reconnect_seconds: u64,
}

impl Default for TerminalConfig {
    fn default() -> Self {
        Self { idle_seconds: 30 * 60, reconnect_seconds: 60 }
    }
}

impl TerminalConfig {
    pub(crate) fn reconnect(&self) -> Duration {
        Duration::from_secs(self.reconnect_seconds.max(1))
    }

    pub(crate) fn idle(&self) -> Duration {
        Duration::from_secs(self.idle_seconds.max(1))
    }
}

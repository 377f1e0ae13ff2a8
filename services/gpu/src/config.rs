//! This service's configuration: each slice has its own part.

use std::{collections::BTreeMap, net::SocketAddr};

use auth::{AuthConfig, Callers};
use cache::CacheConfig;
use crds::ClusterConfig;
use db::DbConfig;
use encryption::EncryptionKey;
use gpu_core::instance::IdleConfig;
use instances::{event::EventsConfig, instance::Apps, streams::StreamsConfig};
use peer::Endpoint;
use serde::Deserialize;

use access::{ssh::SshConfig, terminal::TerminalConfig};
use observe::{
    log::LogArchiveConfig,
    monitoring::{MonitoringConfig, PrometheusConfig},
};
use orders::order::{HoldsConfig, OrderConfig};
use usage::budget::BudgetsConfig;

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
    /// The Valkey or Redis in which replicas share data that may be lost. Without it, each replica keeps it in memory.
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
    /// Budgets of tenants.
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
    /// Samples of reports from nodes, in clusters without Prometheus.
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

impl Config {
    /// Returns what orders and their execution need.
    pub(crate) fn orders(&self) -> OrderConfig {
        OrderConfig { apps: self.apps.clone(), idle: self.idle, holds: self.holds, budgets: self.budgets }
    }
}

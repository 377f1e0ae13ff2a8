//! The configuration file.

use std::{net::SocketAddr, num::NonZeroU16};

use attempts::fleet::FleetConfig;
use auth::{AuthConfig, Callers};
use cache::CacheConfig;
use db::DbConfig;
use encryption::EncryptionKey;
use jobs_core::scheduler::SchedulerConfig;
use mq::MqConfig;
use peer::Endpoint;
use records::{event::StreamsConfig, progress::ProgressConfig};
use serde::Deserialize;
use webhook::WebhooksConfig;

/// The service's configuration.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Address to listen on.
    pub listen: SocketAddr,
    /// Address to listen on for workers. Only they need to reach it.
    pub worker_listen: SocketAddr,
    /// The service's schema.
    pub database: DbConfig,
    /// Whose access tokens are accepted.
    pub auth: AuthConfig,
    /// The storage service: outputs of jobs.
    pub storage: Endpoint,
    /// The message broker. Without it jobs are submitted over HTTP only.
    #[serde(default)]
    pub mq: Option<MqConfig>,
    /// Services that may call internal operations: name → token.
    #[serde(default)]
    pub callers: Callers,
    /// Jobs that have ended.
    #[serde(default)]
    pub ended: EndedConfig,
    /// Limits of tenants.
    #[serde(default)]
    pub limits: LimitsConfig,
    /// Scheduling, and when workers are lost.
    #[serde(default)]
    pub scheduler: SchedulerConfig,
    /// Workers that the platform runs itself. Without it, pools have registered workers only.
    #[serde(default)]
    pub fleet: Option<FleetConfig>,
    /// The stock service: prices of GPU specifications, and spare units. Without it jobs cost nothing, and pools have no lent workers.
    #[serde(default)]
    pub stock: Option<Endpoint>,
    /// The Valkey or Redis in which replicas share data that may be lost. Without it, each replica keeps it in memory.
    #[serde(default)]
    pub cache: Option<CacheConfig>,
    /// Progress of attempts.
    #[serde(default)]
    pub progress: ProgressConfig,
    /// Streams of events.
    #[serde(default)]
    pub streams: StreamsConfig,
    /// Keys that encrypt the secrets of webhooks at rest. The first encrypts, all decrypt. Without keys there are no webhooks.
    #[serde(default)]
    pub encryption_keys: Vec<EncryptionKey>,
    /// Where webhooks may be sent.
    #[serde(default)]
    pub webhooks: WebhooksConfig,
    /// How long entries of the audit log are kept.
    #[serde(default)]
    pub audit: audit::RetentionConfig,
    /// Where spans are exported to.
    #[serde(default)]
    pub telemetry: Option<service::TelemetryConfig>,
}

/// Jobs that have ended.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EndedConfig {
    /// Days for which they are kept, with their attempts (default 90).
    pub days: NonZeroU16,
}

impl Default for EndedConfig {
    fn default() -> Self {
        Self { days: const { NonZeroU16::new(90).unwrap() } }
    }
}

/// Limits of tenants.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsConfig {
    /// Approximate maximum number of open jobs of a tenant (default 100000).
    pub open_jobs_per_tenant: u32,
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self { open_jobs_per_tenant: 100_000 }
    }
}

//! The configuration file.

use std::{net::SocketAddr, num::NonZeroU16, time::Duration};

use auth::{AuthConfig, Callers};
use cache::CacheConfig;
use clients::Endpoint;
use db::DbConfig;
use encryption::EncryptionKey;
use secrecy::SecretString;
use serde::Deserialize;
use url::Url;

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
    /// What tenants may have.
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
    /// The Valkey or Redis in which replicas share what may be forgotten. Without it, each keeps it in memory.
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

/// The message broker: RabbitMQ 3.10 or later, whose users are decided about by `auth_listen`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MqConfig {
    /// `amqp://user:password@host:port/%2f`, or `amqps://…`, of a user that may do everything in the virtual host.
    pub url: SecretString,
    /// Address to listen on for the broker's questions about users. Only the broker needs to reach it.
    pub auth_listen: SocketAddr,
    /// Address of the broker for tenants, without a user.
    #[serde(default)]
    pub public_url: Option<String>,
    /// `http://user:password@host:15672` of the broker's management API, for a user with the tag `administrator`. With it the broker
    /// limits what each credential has open, and connections are closed whose credential has ended. Without it they stay open:
    /// what they publish is refused, and they go on reading events.
    #[serde(default)]
    pub management_url: Option<SecretString>,
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

/// What tenants may have.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsConfig {
    /// Jobs of a tenant that wait or run, about (default 100000).
    pub open_jobs_per_tenant: u32,
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self { open_jobs_per_tenant: 100_000 }
    }
}

/// Workers that the platform runs itself, as instances.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FleetConfig {
    /// The gpu service.
    pub gpu: Endpoint,
    /// Base URL of the listener for workers, as their instances reach it.
    pub jobs_url: Url,
    /// A worker that the queue does not ask for ends when it has been idle for so many seconds (default 300).
    #[serde(default = "idle_seconds")]
    pub idle_seconds: u32,
    /// Timeout in seconds for a worker to register once its instance runs; then it is replaced (default 900). Longer than the 10
    /// minutes that an engine may take to start.
    #[serde(default = "silent_seconds")]
    pub silent_seconds: u32,
}

fn idle_seconds() -> u32 {
    300
}

fn silent_seconds() -> u32 {
    900
}

impl FleetConfig {
    pub(crate) fn idle(&self) -> Duration {
        Duration::from_secs(self.idle_seconds.into())
    }

    pub(crate) fn silent(&self) -> Duration {
        Duration::from_secs(self.silent_seconds.into())
    }
}

/// Progress of attempts.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProgressConfig {
    /// Milliseconds for which a report of progress may be in the cache only, before its row is written (default 5000 with `[cache]`,
    /// 1000 without). 0: each is written at once.
    pub store_ms: Option<u32>,
}

/// Limits of streams of events, in one replica.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StreamsConfig {
    /// Streams of a tenant that are open at a time (default 64).
    pub per_tenant: u32,
    /// Seconds after which a stream is closed whose client takes nothing (default 30).
    pub slow_reader_seconds: u32,
    /// Seconds between two signs of life of a stream in which nothing happens (default 15).
    pub heartbeat_seconds: u32,
}

impl Default for StreamsConfig {
    fn default() -> Self {
        Self { per_tenant: 64, slow_reader_seconds: 30, heartbeat_seconds: 15 }
    }
}

impl StreamsConfig {
    pub(crate) fn slow_reader(&self) -> Duration {
        Duration::from_secs(self.slow_reader_seconds.max(1).into())
    }

    pub(crate) fn heartbeat(&self) -> Duration {
        Duration::from_secs(self.heartbeat_seconds.max(1).into())
    }
}

/// Where webhooks may be sent. Both are for development and tests.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WebhooksConfig {
    /// Whether to allow URLs that begin with `http:`.
    pub allow_http: bool,
    /// Whether to allow addresses of this machine and of private networks.
    pub allow_private: bool,
}

/// Times of the scheduler, in milliseconds.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SchedulerConfig {
    /// How long the lease of a pool's scheduler lasts unless it is renewed. After a crash nothing is assigned for this
    /// long (default 3000).
    pub lease_ms: u32,
    /// How often the scheduler reads what has changed (default 100).
    pub poll_ms: u32,
    /// A worker that is silent for this long gets no new job (default 10000).
    pub silent_ms: u32,
    /// A worker that is silent for this long is lost, and its job is tried again (default 45000).
    pub lost_ms: u32,
    /// Time for an attempt to leave its worker when it is told to; then the worker counts as lost (default 30000).
    pub leave_ms: u32,
    /// Delay before the second attempt of a job that has failed, three times as long before the third (default 5000).
    pub retry_ms: u32,
}

impl Default for SchedulerConfig {
    fn default() -> Self {
        Self {
            lease_ms: 3_000,
            poll_ms: 100,
            silent_ms: 10_000,
            lost_ms: 45_000,
            leave_ms: 30_000,
            retry_ms: 5_000,
        }
    }
}

impl SchedulerConfig {
    pub(crate) fn lease(&self) -> Duration {
        millis(self.lease_ms)
    }

    pub(crate) fn poll(&self) -> Duration {
        millis(self.poll_ms)
    }

    pub(crate) fn silent(&self) -> Duration {
        millis(self.silent_ms)
    }

    pub(crate) fn lost(&self) -> Duration {
        millis(self.lost_ms)
    }

    pub(crate) fn leave(&self) -> Duration {
        millis(self.leave_ms)
    }
}

fn millis(configured: u32) -> Duration {
    Duration::from_millis(configured.max(1).into())
}

//! The streams that a tenant has open at this replica: how many, and when they have to end.

use std::time::Duration;

use api::Problem;
use auth::{Member, RightsEnd, Verifier, rights_end};
use ids::TenantId;
use jiff::Timestamp;
use serde::Deserialize;
use service::{Streams, streams::Open};
use tokio_util::sync::CancellationToken;

/// Limits of open streams of a tenant in one replica.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StreamsConfig {
    /// Maximum number of logs that are read or followed at the same time.
    pub logs_per_tenant: u32,
    /// Maximum number of open terminals.
    pub terminals_per_tenant: u32,
    /// Maximum number of open streams of events.
    pub events_per_tenant: u32,
    /// Seconds after which a stream of events is closed if its client reads nothing.
    pub slow_reader_seconds: u32,
    /// Seconds between two comments in a stream of events without events.
    pub heartbeat_seconds: u32,
}

impl StreamsConfig {
    /// Returns how long a client may read nothing.
    pub fn slow_reader(&self) -> Duration {
        Duration::from_secs(self.slow_reader_seconds.max(1).into())
    }

    /// Returns the time between two heartbeats.
    pub fn heartbeat(&self) -> Duration {
        Duration::from_secs(self.heartbeat_seconds.max(1).into())
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

/// A kind of stream that a tenant opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StreamKind {
    Log,
    Terminal,
    Events,
}

/// The open streams of all tenants. Clones share them.
#[derive(Clone)]
pub struct TenantStreams {
    pub config: StreamsConfig,
    pub verifier: Verifier,
    /// Cancelled when shutdown begins; ends streams.
    pub shutdown: CancellationToken,
    pub clock: fn() -> Timestamp,
    pub open: Streams<(TenantId, StreamKind)>,
}

impl TenantStreams {
    /// Counts a stream of the tenant until the result is dropped.
    ///
    /// # Errors
    /// If the tenant has reached its limit.
    pub fn open(&self, tenant: TenantId, kind: StreamKind) -> Result<Open<(TenantId, StreamKind)>, Problem> {
        let limit = match kind {
            StreamKind::Log => self.config.logs_per_tenant,
            StreamKind::Terminal => self.config.terminals_per_tenant,
            StreamKind::Events => self.config.events_per_tenant,
        };
        self.open.open((tenant, kind), limit)
    }

    /// Completes when a stream of the caller has to end.
    pub fn rights_end(
        &self,
        member: &Member,
        reconnects: bool,
    ) -> impl Future<Output = RightsEnd> + Send + use<> {
        rights_end(&self.verifier, &member.principal, self.shutdown.clone(), (self.clock)(), reconnects)
    }
}

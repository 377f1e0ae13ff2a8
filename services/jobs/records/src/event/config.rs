//! The part of the configuration.

use std::time::Duration;

use serde::Deserialize;

/// Limits of streams of events, in one replica.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StreamsConfig {
    /// Maximum number of open streams of a tenant (default 64).
    pub per_tenant: u32,
    /// Seconds after which a stream is closed if its client reads nothing (default 30).
    pub slow_reader_seconds: u32,
    /// Seconds between two comments in a stream without events (default 15).
    pub heartbeat_seconds: u32,
}

impl Default for StreamsConfig {
    fn default() -> Self {
        Self { per_tenant: 64, slow_reader_seconds: 30, heartbeat_seconds: 15 }
    }
}

impl StreamsConfig {
    pub fn slow_reader(&self) -> Duration {
        Duration::from_secs(self.slow_reader_seconds.max(1).into())
    }

    pub fn heartbeat(&self) -> Duration {
        Duration::from_secs(self.heartbeat_seconds.max(1).into())
    }
}

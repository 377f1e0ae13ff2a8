//! The part of the configuration.

use std::time::Duration;

use peer::Endpoint;
use serde::Deserialize;
use url::Url;

/// Workers that the platform runs itself, as instances.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FleetConfig {
    /// The gpu service.
    pub gpu: Endpoint,
    /// Base URL of the listener for workers, as their instances reach it.
    pub jobs_url: Url,
    /// Seconds after which an idle worker is stopped if the queue does not need it (default 300).
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
    pub fn idle(&self) -> Duration {
        Duration::from_secs(self.idle_seconds.into())
    }

    pub fn silent(&self) -> Duration {
        Duration::from_secs(self.silent_seconds.into())
    }
}

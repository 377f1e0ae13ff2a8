//! Configuration of terminals.

use std::time::Duration;

use serde::Deserialize;

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

    /// Returns after how long a terminal without a byte in either direction is closed.
    pub fn idle(&self) -> Duration {
        Duration::from_secs(self.idle_seconds.max(1))
    }
}

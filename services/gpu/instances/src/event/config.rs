//! Configuration of the log of events.

use serde::Deserialize;

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
    /// Returns the number of seconds for which events are kept: at least a day.
    pub fn retention_seconds(self) -> f64 {
        f64::from(self.retention_days.max(1)) * 86_400.0
    }
}

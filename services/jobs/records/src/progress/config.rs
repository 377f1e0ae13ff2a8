//! The part of the configuration.

use serde::Deserialize;

/// Progress of attempts.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProgressConfig {
    /// Milliseconds for which a report of progress may be in the cache only, before its row is written (default 5000 with `[cache]`,
    /// 1000 without). 0: each is written at once.
    pub store_ms: Option<u32>,
}

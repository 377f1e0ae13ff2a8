//! The idle stop of an instance: its settings and its announcement. Pure. Whether the instance is idle is decided in
//! `idle`.

use jiff::Timestamp;
use problem::Checks;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Instances that stop when they are idle.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct IdleConfig {
    /// Seconds before a stop at which it is announced.
    pub notice_seconds: u32,
    /// The shortest `after_seconds`: longer than the notice.
    pub min_after_seconds: u32,
    /// Seconds between two checks of an instance with an announced stop.
    pub check_seconds: u32,
    /// Seconds between two reports of the connections through this replica.
    pub report_seconds: u32,
    /// Seconds without an observation after which the use is unknown, and the idle time starts again from zero.
    pub unknown_seconds: u32,
    /// Seconds for which a replica that does not report may still have connections.
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

/// The longest idle time after which an instance is stopped, in seconds.
const MAX_AFTER: u32 = 7 * 86_400;

/// When an instance is stopped because it is idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct IdleStopSettings {
    /// Seconds for which the instance has to be idle, 900 (unless configured otherwise) to 604,800.
    after_seconds: u32,
    /// The GPUs are idle while each of them is used less than this, in percent. In clusters without Prometheus the
    /// use of GPUs is not measured, and the CPU alone decides.
    #[serde(default = "default_percent")]
    #[schema(default = 5, minimum = 1, maximum = 100)]
    gpu_below_percent: u8,
    /// The CPU is idle while less than this is used, in percent of the cores of the unit.
    #[serde(default = "default_percent")]
    #[schema(default = 5, minimum = 1, maximum = 100)]
    cpu_below_percent: u8,
}

fn default_percent() -> u8 {
    5
}

impl IdleStopSettings {
    /// Adds what is wrong with the settings to the checks.
    pub fn check(&self, checks: &mut Checks, config: IdleConfig) {
        let range = config.min_after_seconds..=MAX_AFTER;
        let detail = format!(
            "must be {} to {MAX_AFTER} seconds: the stop is announced {} seconds before",
            config.min_after_seconds, config.notice_seconds
        );
        checks.require(range.contains(&self.after_seconds), "/idle_stop/after_seconds", &detail);
        let percent = |value: u8| (1..=100).contains(&value);
        let detail = "must be 1 to 100 percent";
        checks.require(percent(self.gpu_below_percent), "/idle_stop/gpu_below_percent", detail);
        checks.require(percent(self.cpu_below_percent), "/idle_stop/cpu_below_percent", detail);
    }
}

/// The setting of an instance, as stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IdleStop {
    /// Seconds for which the instance has to be idle.
    pub after_seconds: u32,
    /// Use of a GPU, in percent, from which on it is not idle.
    pub gpu_below_percent: u8,
    /// Use of the CPU, in percent of the cores of the unit, from which on it is not idle.
    pub cpu_below_percent: u8,
    /// The announced stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub announced: Option<Announced>,
}

impl From<IdleStopSettings> for IdleStop {
    fn from(settings: IdleStopSettings) -> Self {
        let IdleStopSettings { after_seconds, gpu_below_percent, cpu_below_percent } = settings;
        Self { after_seconds, gpu_below_percent, cpu_below_percent, announced: None }
    }
}

/// A stop that was announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Announced {
    /// Since when the instance is idle.
    pub idle_since: Timestamp,
    /// The instance is not stopped before.
    pub stop_at: Timestamp,
}

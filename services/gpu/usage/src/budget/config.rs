//! Configuration of budgets.

use gpu_core::budget::Times;
use jiff::SignedDuration;
use serde::Deserialize;

/// Times of budgets and allowances.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BudgetsConfig {
    /// Seconds before a stop at which it is announced.
    pub notice_seconds: u32,
    /// Seconds for which the rest of the budget must pay for all instances, including the one to be started.
    pub start_ahead_seconds: u32,
    /// Seconds after a stop for which holds are kept if instances still run.
    pub stop_grace_seconds: u32,
    /// Seconds for which an allowance still counts after another service has stopped renewing it.
    pub outage_grace_seconds: u32,
}

impl Default for BudgetsConfig {
    fn default() -> Self {
        Self {
            notice_seconds: 300,
            start_ahead_seconds: 1200,
            stop_grace_seconds: 120,
            outage_grace_seconds: 3600,
        }
    }
}

impl BudgetsConfig {
    /// Returns the times of the rule of budgets.
    pub fn times(self) -> Times {
        Times { notice: self.notice(), start_ahead: self.start_ahead() }
    }

    pub(crate) fn notice(self) -> SignedDuration {
        SignedDuration::from_secs(self.notice_seconds.into())
    }

    pub(crate) fn start_ahead(self) -> SignedDuration {
        SignedDuration::from_secs(self.start_ahead_seconds.into())
    }

    pub(crate) fn stop_grace(self) -> SignedDuration {
        SignedDuration::from_secs(self.stop_grace_seconds.into())
    }

    /// Returns for how long an allowance counts that is not renewed.
    pub fn outage_grace(self) -> SignedDuration {
        SignedDuration::from_secs(self.outage_grace_seconds.into())
    }
}

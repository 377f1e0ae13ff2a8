//! Configuration of orders.

use gpu_core::instance::IdleConfig;
use instances::instance::Apps;
use serde::Deserialize;

use usage::budget::BudgetsConfig;

/// Units that stopped instances keep.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HoldsConfig {
    /// Longest time for which a unit is kept, in seconds.
    pub max_seconds: u32,
}

impl Default for HoldsConfig {
    fn default() -> Self {
        Self { max_seconds: 7 * 86_400 }
    }
}

/// What orders and their execution need of the configuration.
#[derive(Debug, Clone)]
pub struct OrderConfig {
    /// Host names of instances.
    pub apps: Apps,
    /// Times of idle stops.
    pub idle: IdleConfig,
    /// Units that stopped instances keep.
    pub holds: HoldsConfig,
    /// Times of budgets and allowances.
    pub budgets: BudgetsConfig,
}

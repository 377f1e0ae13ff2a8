//! States of workers.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// State of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type), sqlx(type_name = "text", rename_all = "snake_case"))]
pub enum WorkerState {
    /// Its process has not registered yet, or was lost.
    Offline,
    /// Runs jobs.
    Ready,
}

/// Whether a worker may keep its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type), sqlx(type_name = "text", rename_all = "snake_case"))]
#[schema(as = WorkerTenure)]
pub enum Tenure {
    /// As any other instance.
    Firm,
    /// Its instance is interruptible: one that finds no free unit takes its unit.
    Lent,
}

/// Stage of a worker that the platform runs itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type), sqlx(type_name = "text", rename_all = "snake_case"))]
pub enum WorkerStage {
    /// Its instance is ordered.
    Ordered,
    /// It has an instance.
    Placed,
    /// It gets no job, and leaves when it has none.
    Draining,
    /// Its instance is being deleted.
    Leaving,
}

//! How far attempts are. Pure.

use ids::{JobId, TenantId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Progress of an attempt.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Progress {
    pub attempt: i32,
    pub phase: Phase,
    pub step: i32,
    pub steps: i32,
}

/// Progress of the latest attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JobProgress)]
pub struct ProgressView {
    /// Current phase of the work.
    pub phase: Phase,
    /// Steps that are done.
    #[schema(example = 12)]
    pub step: i32,
    /// Steps in all.
    #[schema(example = 20)]
    pub steps: i32,
}

/// Phase of the work on a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type), sqlx(type_name = "text", rename_all = "snake_case"))]
#[schema(as = JobPhase)]
pub enum Phase {
    /// Loads the model.
    Loading,
    /// Computes.
    Working,
    /// Uploads results.
    Uploading,
}

/// A report, and the time of its transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    pub attempt: i32,
    pub progress: ProgressView,
    pub at: Timestamp,
}

/// The question about a job whose attempt is open.
pub struct Question {
    pub tenant: TenantId,
    pub job: JobId,
    /// Its latest attempt.
    pub attempt: i32,
    /// The report in its row.
    pub stored: Option<Report>,
}

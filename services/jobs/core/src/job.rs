//! Jobs. Pure.

use ids::{JobId, ModelId, PoolId, TenantId};
use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{
    cost::{Amount, Money},
    kind::{Gang, Group, Kind, Level},
    needs::Needs,
    status::Status,
};

/// Cost of a job until now: of its attempts that have ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = JobCost)]
pub struct Cost {
    /// Sum of the costs of attempts.
    #[schema(value_type = String, example = "0.004")]
    pub amount: Amount,
    /// Currency (ISO 4217). Attempts with a price in an earlier currency are not included.
    #[schema(example = "USD")]
    pub currency: String,
    /// Seconds that are charged.
    #[schema(example = 72)]
    pub seconds: i64,
}

/// A job.
#[derive(Debug, Clone)]
pub struct Job {
    pub id: JobId,
    pub tenant: TenantId,
    pub pool: PoolId,
    pub application: String,
    pub method: String,
    pub kind: Kind,
    pub level: Level,
    pub priority: u8,
    pub group: Option<Group>,
    pub status: Status,
    /// Number of attempts.
    pub attempts: i32,
    pub deadline: Option<Timestamp>,
    /// The client's number of the request.
    pub req_no: Option<Uuid>,
    pub generation: i64,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    /// Maximum cost.
    pub max_cost: Option<Money>,
    /// Cost of its attempts that have ended; none if none had a price.
    pub cost: Option<Cost>,
    /// Its workers, if they are several.
    pub gang: Option<Gang>,
    /// Whether its progress is reported by messages and to webhooks.
    pub report_progress: bool,
    /// The base model that a worker has to have.
    pub needs: Option<Needs>,
    /// The model that it has made.
    pub result: Option<ModelId>,
}

impl Job {
    /// Whether this attempt is open.
    pub fn runs(&self, attempt: i32) -> bool {
        self.status.fence().is_some_and(|fence| fence.attempt == attempt)
    }
}

/// The counts of a job that decide whether it is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    pub failures: i16,
    pub preemptions: i16,
    /// Attempts whose worker had to leave its unit.
    pub recalls: i16,
    /// It was told to leave.
    pub is_leaving: bool,
    /// Its cost has reached the limit of the job.
    pub is_over_cost: bool,
    /// No job of its tenant may run, not even to its end.
    pub is_held: bool,
    /// Whether its attempts were lost on several nodes, if the open one is lost, too.
    pub is_at_fault: bool,
}

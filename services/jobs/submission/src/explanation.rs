//! Why a job waits, as JSON.

use ids::JobId;
use jiff::Timestamp;
use jobs_core::status::JobState;
use schedule::{Hold, Outlook, Quantiles, Waiting};
use serde::Serialize;
use utoipa::ToSchema;
use views::view::Found;

use super::elsewhere::Alternative;

/// An expected time: its median, and a range that contains four of five expected times.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub(crate) struct TimeRange {
    /// One of ten expected times is earlier.
    pub(crate) p10: Timestamp,
    /// One of two expected times is earlier.
    pub(crate) p50: Timestamp,
    /// Nine of ten expected times are earlier. Null if that is more than a day ahead.
    pub(crate) p90: Option<Timestamp>,
}

impl TimeRange {
    fn of(found: Quantiles) -> Option<Self> {
        Some(Self { p10: time(found.p10)?, p50: time(found.p50)?, p90: time(found.p90) })
    }
}

/// When a job is expected to start and to end.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub(crate) struct ExpectedTimes {
    /// Its start. Null if that is more than a day ahead.
    pub(crate) start: Option<TimeRange>,
    /// Its end. Null if that is more than a day ahead.
    pub(crate) end: Option<TimeRange>,
}

impl ExpectedTimes {
    pub(super) fn of(outlook: &Outlook) -> Self {
        let range = |quantiles: Option<Quantiles>| quantiles.and_then(TimeRange::of);
        Self { start: range(outlook.start), end: range(outlook.end) }
    }
}

/// The first rule that stops a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum JobExplanationCode {
    /// The tenant is suspended.
    TenantSuspended,
    /// The tenant has spent its budget.
    BudgetExhausted,
    /// The spending limit of the tenant is not known at the moment.
    AllowanceExpired,
    /// The next attempt is delayed.
    NotBefore,
    /// The tenant's jobs run on as many workers as they may.
    Quota,
    /// No worker of the pool has the model that the job names.
    ModelMissing,
    /// The pool has no worker that fits.
    NoUnit,
    /// The node of the group has no idle worker, or other groups hold all nodes.
    GroupNode,
    /// Workers are being reserved for the job.
    GatheringGang,
    /// Idle workers are reserved for another job.
    ReservedForGang,
    /// Urgent jobs of the tenant run on as many workers as they may; further ones rank as ordinary.
    UrgentSpent,
    /// Other jobs of the tenant go first.
    BehindOwn,
    /// Other tenants have used less of their share.
    BehindShare,
    /// Workers serve the model that they have loaded first.
    Quantum,
    /// All workers that fit are busy.
    Busy,
}

impl From<&Waiting> for JobExplanationCode {
    fn from(waiting: &Waiting) -> Self {
        match waiting {
            Waiting::Held(Hold::TenantSuspended) => Self::TenantSuspended,
            Waiting::Held(Hold::BudgetExhausted) => Self::BudgetExhausted,
            Waiting::Held(Hold::AllowanceExpired) => Self::AllowanceExpired,
            Waiting::NotBefore { .. } => Self::NotBefore,
            Waiting::Quota { .. } => Self::Quota,
            Waiting::NoUnit { .. } => Self::NoUnit,
            Waiting::GroupNode { .. } | Waiting::GroupsHoldAllNodes { .. } => Self::GroupNode,
            Waiting::Reserved { .. } => Self::ReservedForGang,
            Waiting::Gathering { .. } => Self::GatheringGang,
            Waiting::UrgentSpent { .. } => Self::UrgentSpent,
            Waiting::BehindOwn { .. } => Self::BehindOwn,
            Waiting::BehindShare { .. } => Self::BehindShare,
            Waiting::Quantum { .. } => Self::Quantum,
            Waiting::Busy { .. } => Self::Busy,
        }
    }
}

/// Why a job waits, and what it waits for.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct JobExplanation {
    /// Job id.
    pub(crate) job_id: JobId,
    /// Current state.
    pub(crate) state: JobState,
    /// The first rule that stops the job. Null if the job does not wait.
    #[schema(example = "busy")]
    pub(crate) code: Option<JobExplanationCode>,
    /// The rule in a sentence for a person, or null.
    #[schema(example = "All workers that fit are busy.")]
    pub(crate) message: Option<String>,
    /// When the rule is expected to no longer stop the job, or null.
    pub(crate) until: Option<Timestamp>,
    /// Position in the order of starts, from 1, if all jobs take their median time. Null if the job does not wait, or
    /// the pool has too many jobs for a forecast.
    #[schema(example = 3)]
    pub(crate) position: Option<usize>,
    /// Median of the expected start, if jobs arrive as in the last minutes. Null as for `position`.
    pub(crate) expected_start: Option<Timestamp>,
    /// Expected start and end, each as a range that holds for four of five jobs. Null as for `position`.
    pub(crate) expected: Option<ExpectedTimes>,
    /// Number of jobs of the tenant that start before it.
    #[schema(example = 2)]
    pub(crate) ahead_of_own: usize,
    /// Seconds since the job was last queued.
    #[schema(example = 12)]
    pub(crate) waited_seconds: u64,
    /// Other ways to run the job: with a higher level (`PATCH /v1/jobs/{id}`), or as a new job in another pool.
    elsewhere: Vec<Alternative>,
}

impl JobExplanation {
    /// The explanation of a job that does not wait.
    pub(super) fn none(job_id: JobId, state: JobState) -> Self {
        Self {
            job_id,
            state,
            code: None,
            message: None,
            until: None,
            position: None,
            expected_start: None,
            expected: None,
            ahead_of_own: 0,
            waited_seconds: 0,
            elsewhere: Vec::new(),
        }
    }

    pub(super) fn new(job_id: JobId, found: &Found, elsewhere: Vec<Alternative>) -> Self {
        let Found { explanation, outlook, .. } = found;
        let lacks_model = found.lacks_model && matches!(explanation.waiting, Waiting::NoUnit { .. });
        let (code, message) = match lacks_model {
            true => (
                JobExplanationCode::ModelMissing,
                "No worker of the pool has the model that the job names.".to_owned(),
            ),
            false => ((&explanation.waiting).into(), message(&explanation.waiting)),
        };
        Self {
            job_id,
            state: JobState::Queued,
            code: Some(code),
            message: Some(message),
            until: until(&explanation.waiting).and_then(time),
            position: outlook.map(|outlook| outlook.position),
            expected_start: outlook.and_then(|outlook| time(outlook.start?.p50)),
            expected: outlook.as_ref().map(ExpectedTimes::of),
            ahead_of_own: explanation.ahead_of_own,
            waited_seconds: explanation.waited / 1_000,
            elsewhere,
        }
    }
}

fn time(millis: u64) -> Option<Timestamp> {
    Timestamp::from_millisecond(i64::try_from(millis).ok()?).ok()
}

fn until(waiting: &Waiting) -> Option<u64> {
    match waiting {
        Waiting::NotBefore { at } | Waiting::Gathering { at, .. } => Some(*at),
        Waiting::Reserved { until, .. } | Waiting::Quantum { until } => Some(*until),
        Waiting::GroupNode { until, .. }
        | Waiting::GroupsHoldAllNodes { until, .. }
        | Waiting::Busy { until } => *until,
        _ => None,
    }
}

/// Names no other tenant.
fn message(waiting: &Waiting) -> String {
    match waiting {
        Waiting::Held(Hold::TenantSuspended) => {
            "The tenant is suspended. Its jobs wait until it is active again.".to_owned()
        }
        Waiting::Held(Hold::BudgetExhausted) => {
            "The budget of the tenant is used up. Its jobs wait until more is available.".to_owned()
        }
        Waiting::Held(Hold::AllowanceExpired) => {
            "The spending limit of the tenant is not known at the moment. Its jobs wait until it is known."
                .to_owned()
        }
        Waiting::NotBefore { .. } => "The next attempt is delayed.".to_owned(),
        Waiting::Quota { held, limit } => {
            format!("The tenant's jobs run on {held} workers, and may run on {limit}.")
        }
        Waiting::NoUnit { .. } => "The pool has no worker that fits.".to_owned(),
        Waiting::GroupNode { .. } => "The node of the group has no idle worker.".to_owned(),
        Waiting::GroupsHoldAllNodes { .. } => "Other groups hold all nodes.".to_owned(),
        Waiting::Reserved { .. } => "Idle workers are reserved for another job.".to_owned(),
        Waiting::Gathering { .. } => "Workers are being reserved for the job.".to_owned(),
        Waiting::UrgentSpent { held, allowance } => format!(
            "Urgent jobs of the tenant run on {held} workers of {allowance}; further ones rank as ordinary."
        ),
        Waiting::BehindOwn { jobs } => format!("{jobs} jobs of the tenant go first."),
        Waiting::BehindShare { .. } => "Other tenants have used less of their share.".to_owned(),
        Waiting::Quantum { .. } => "Workers serve the model that they have loaded first.".to_owned(),
        Waiting::Busy { .. } => "All workers that fit are busy.".to_owned(),
    }
}

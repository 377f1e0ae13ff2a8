//! Why jobs are not submitted.

use api::{FieldError, Problem, ProblemType};
use ids::JobId;
use jobs_core::{needs::Needs, status};
use results::InputMissing;

/// Why a job is not submitted.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// Fields of the request are not valid.
    #[error("invalid fields: {0:?}")]
    Invalid(Vec<FieldError>),
    /// No pool runs the application.
    #[error("no pool runs the application")]
    NoPool,
    /// The tenant has reached its limit of open jobs, which is this.
    #[error("the tenant has {0} open jobs")]
    TooManyJobs(u32),
    /// The request number belongs to this job, which was submitted with other content or was deleted.
    #[error("the request number is that of {0}")]
    ReqNoReused(JobId),
    /// Inputs that do not exist or are empty.
    #[error(transparent)]
    InputMissing(#[from] InputMissing),
    /// No pool that runs such jobs has the checkpoint or base model; these are known.
    #[error("no pool has {0:?}; known are {1:?}")]
    ModelMissing(Needs, Vec<String>),
}

impl Refused {
    /// Returns the refusal of one invalid field.
    pub(super) fn invalid_field(pointer: &str, detail: impl Into<String>) -> Self {
        Self::Invalid(vec![FieldError { pointer: pointer.to_owned(), detail: detail.into() }])
    }
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Invalid(errors) => Self::invalid(errors),
            Refused::NoPool => Self::new(ProblemType::NoPool, "No pool runs such jobs for the tenant."),
            Refused::TooManyJobs(limit) => Self::new(
                ProblemType::TooManyJobs,
                format!("The tenant already has {limit} open jobs, the maximum."),
            )
            .with("limit", limit),
            Refused::ReqNoReused(job) => Self::new(
                ProblemType::ReqNoReused,
                "A job with this `req_no` was submitted with other content, or was deleted.",
            )
            .with("job_id", job),
            Refused::InputMissing(missing) => missing.into(),
            Refused::ModelMissing(Needs { kind, name }, known) => {
                let detail = format!("No pool that can run the job has the model {name}.");
                let pointer = kind.pointer().to_owned();
                let mut problem = Self::new(ProblemType::ModelMissing, &*detail).with("models", known);
                problem.errors = vec![FieldError { pointer, detail }];
                problem
            }
        }
    }
}

/// Returns the problem of an impossible change of a status.
#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
pub(super) fn of_status(error: status::Error) -> Problem {
    match error {
        status::Error::Ended(state) => Problem::new(
            ProblemType::JobEnded,
            format!("The job has ended; its state is {}.", state.as_str()),
        )
        .with("state", state.as_str()),
        status::Error::NotQueued(state) => Problem::new(
            ProblemType::JobNotQueued,
            format!("Only jobs that wait can be changed; its state is {}.", state.as_str()),
        )
        .with("state", state.as_str()),
    }
}

//! What can go wrong with a request, and the problem that the caller gets for it.

use api::{FieldError, Problem, ProblemType};

use ids::JobId;

use crate::{base_model::Needs, job::JobState};

/// Why a request was not carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The resource does not exist, or belongs to another tenant.
    #[error("not found")]
    NotFound,
    /// Fields of the request are not valid.
    #[error("invalid fields: {0:?}")]
    Invalid(Vec<FieldError>),
    /// A resource of this kind has the name already.
    #[error("the name of the {0} is taken")]
    NameTaken(&'static str),
    /// The tenant is suspended or being deleted.
    #[error("the tenant is suspended")]
    TenantSuspended,
    /// No pool runs the application.
    #[error("no pool runs the application")]
    NoPool,
    /// The job has ended in this state.
    #[error("the job has ended: {0:?}")]
    Ended(JobState),
    /// The job, in this state, does not wait any more.
    #[error("the job does not wait: {0:?}")]
    NotQueued(JobState),
    /// The tenant has this many jobs that have not ended, the most.
    #[error("the tenant has {0} open jobs")]
    TooManyJobs(u32),
    /// The request number is that of this job, which was submitted otherwise or deleted.
    #[error("the request number is that of {0}")]
    ReqNoReused(JobId),
    /// The tenant has this many credentials for the message broker, the most.
    #[error("the tenant has {0} credentials")]
    TooManyMqCredentials(i64),
    /// The attempt or session is not the latest one.
    #[error("the worker does not run this attempt")]
    NotYours,
    /// The worker has a job.
    #[error("the worker has a job")]
    WorkerBusy,
    /// Results that the attempt has not uploaded.
    #[error("not uploaded: {0:?}")]
    UploadMissing(Vec<String>),
    /// Uploads and models that do not exist, or have no content.
    #[error("inputs missing: {0:?}")]
    InputMissing(Vec<String>),
    /// No pool that runs such jobs has the checkpoint or base model; these are known.
    #[error("no pool has {0:?}; known are {1:?}")]
    ModelMissing(Needs, Vec<String>),
    /// The bucket for outputs is being created or deleted.
    #[error("the bucket for outputs is not ready")]
    BucketNotReady,
    /// The bucket for outputs was deleted in the object store.
    #[error(
        "The bucket for results was deleted in the object store. Delete the storage: the next result creates another."
    )]
    BucketLost,
    /// The tenant has deleted the bucket for outputs.
    #[error("The bucket for results is being deleted. Submit the job again when it is gone.")]
    BucketDeleting,
    /// Another deployment to the path is pending.
    #[error("another deployment to the path is pending")]
    DeploymentInProgress,
    /// The bucket of an artifact was deleted.
    #[error("the content of the artifact is gone")]
    ArtifactGone,
    /// The tenant has this many webhooks, the most.
    #[error("the tenant has {0} webhooks")]
    TooManyWebhooks(i64),
    /// No keys are configured that could encrypt the secrets of webhooks.
    #[error("webhooks are not configured")]
    NoWebhooks,
    /// The storage service does not carry it out.
    #[error(transparent)]
    Storage(clients::Error),
    /// The database does not carry it out.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

impl Error {
    /// One field of the request is not valid.
    pub(crate) fn invalid_field(pointer: &str, detail: impl Into<String>) -> Self {
        Self::Invalid(vec![FieldError { pointer: pointer.to_owned(), detail: detail.into() }])
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::NotFound => Self::not_found(),
            Error::Invalid(errors) => Self::invalid(errors),
            Error::NameTaken(kind) => {
                Self::new(ProblemType::NameTaken, format!("Another {kind} has this name."))
            }
            Error::TenantSuspended => Self::new(
                ProblemType::TenantSuspended,
                "Nothing can be created while the tenant is suspended.",
            ),
            Error::NoPool => Self::new(ProblemType::NoPool, "No pool of GPUs runs jobs."),
            Error::Ended(state) => Self::new(
                ProblemType::JobEnded,
                format!("The job has ended; its state is {}.", state.as_str()),
            )
            .with("state", state.as_str()),
            Error::NotQueued(state) => Self::new(
                ProblemType::JobNotQueued,
                format!("Only jobs that wait can be changed; its state is {}.", state.as_str()),
            )
            .with("state", state.as_str()),
            Error::TooManyJobs(limit) => Self::new(
                ProblemType::TooManyJobs,
                format!("The tenant has {limit} jobs that have not ended, the most that it may have."),
            )
            .with("limit", limit),
            Error::ReqNoReused(job) => Self::new(
                ProblemType::ReqNoReused,
                "A job with this `req_no` was submitted with other content, or was deleted.",
            )
            .with("job_id", job),
            Error::TooManyMqCredentials(most) => Self::new(
                ProblemType::TooManyMqCredentials,
                format!(
                    "The tenant has {most} credentials for the message broker, the most that it may have."
                ),
            )
            .with("limit", most),
            Error::NotYours => Self::new(
                ProblemType::AttemptNotYours,
                "The attempt has ended, or another session of the worker or another worker runs the job.",
            ),
            Error::WorkerBusy => {
                Self::new(ProblemType::WorkerBusy, "A worker that runs a job cannot be deleted.")
            }
            Error::UploadMissing(names) => Self::new(
                ProblemType::UploadMissing,
                format!("Not uploaded, or of another size: {}.", names.join(", ")),
            )
            .with("names", names),
            Error::InputMissing(ids) => Self::new(
                ProblemType::InputMissing,
                format!("Do not exist here, have no content, or were replaced: {}.", ids.join(", ")),
            )
            .with("inputs", ids),
            Error::ModelMissing(Needs { kind, name }, known) => {
                let detail = format!("No pool that can run the job has the model {name}.");
                let pointer = kind.pointer().to_owned();
                let mut problem = Self::new(ProblemType::ModelMissing, &*detail).with("models", known);
                problem.errors = vec![FieldError { pointer, detail }];
                problem
            }
            Error::BucketNotReady => {
                Self::new(ProblemType::Unavailable, "The bucket for outputs is not ready yet.")
            }
            Error::BucketLost | Error::BucketDeleting => {
                Self::new(ProblemType::StorageNotAvailable, error.to_string())
            }
            Error::DeploymentInProgress => Self::new(
                ProblemType::DeploymentInProgress,
                "Another model is being laid to this path of the volume.",
            ),
            Error::ArtifactGone => Self::new(
                ProblemType::ArtifactGone,
                "The bucket with the content of the artifact was deleted.",
            ),
            Error::TooManyWebhooks(limit) => {
                Self::new(ProblemType::TooManyWebhooks, format!("A tenant may have {limit} webhooks."))
                    .with("limit", limit)
            }
            Error::NoWebhooks => {
                Self::new(ProblemType::Unavailable, "Webhooks are not configured on this platform.")
            }
            Error::Storage(cause) => of_storage(cause),
            Error::Database(cause) => cause.into(),
        }
    }
}

/// What the tenant can do something about is its problem; anything else is not.
fn of_storage(error: clients::Error) -> Problem {
    match error {
        clients::Error::Problem(details)
            if details.status == 409 || details.is(ProblemType::TenantSuspended) =>
        {
            match ProblemType::from_uri(&details.kind) {
                Some(kind) => {
                    let mut problem = Problem::new(kind, details.detail);
                    problem.extra = details.extra;
                    problem
                }
                None => Problem::unavailable("The storage service", details.detail),
            }
        }
        other => Problem::unavailable("The storage service", other),
    }
}

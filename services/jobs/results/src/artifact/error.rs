//! Why results are not stored, signed or delivered.

use api::{Problem, ProblemType};

/// Why the bucket of a tenant, or a result, is not available.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Results that the attempt has not uploaded.
    #[error("not uploaded: {0:?}")]
    UploadMissing(Vec<String>),
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
    /// The bucket of an artifact was deleted.
    #[error("the content of the artifact is gone")]
    Gone,
    /// The storage service refuses or fails.
    #[error(transparent)]
    Storage(peer::Error),
    /// The database fails.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

impl Error {
    /// Maps the error for a worker's call: while a tenant is suspended, or has nothing left to spend, the
    /// results of its jobs wait.
    pub(super) fn not_now(self) -> Self {
        match self {
            Self::Storage(cause) => not_now(cause),
            other => other,
        }
    }
}

/// As [`Error::not_now`].
pub(super) fn not_now(error: peer::Error) -> Error {
    let waits = [ProblemType::TenantSuspended, ProblemType::BudgetExhausted];
    if waits.into_iter().any(|kind| error.problem(kind).is_some()) {
        Error::BucketNotReady
    } else {
        Error::Storage(error)
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::UploadMissing(names) => Self::new(
                ProblemType::UploadMissing,
                format!("These results were not uploaded, or have another size: {}.", names.join(", ")),
            )
            .with("names", names),
            Error::BucketNotReady => {
                Self::new(ProblemType::Unavailable, "The bucket for outputs is not ready yet.")
            }
            Error::BucketLost | Error::BucketDeleting => {
                Self::new(ProblemType::StorageNotAvailable, error.to_string())
            }
            Error::Gone => Self::new(
                ProblemType::ArtifactGone,
                "The bucket with the content of the artifact was deleted.",
            ),
            Error::Storage(cause) => of_storage(cause),
            Error::Database(cause) => cause.into(),
        }
    }
}

/// Errors that the tenant can resolve become its problem; others do not.
fn of_storage(error: peer::Error) -> Problem {
    match error {
        peer::Error::Problem(details)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_wait_while_the_tenant_may_not_have_a_bucket() {
        let problem = |kind: ProblemType| {
            let problem = serde_json::to_value(Problem::new(kind, "")).unwrap();
            not_now(peer::Error::Problem(Box::new(serde_json::from_value(problem).unwrap())))
        };
        for kind in [ProblemType::TenantSuspended, ProblemType::BudgetExhausted] {
            assert!(matches!(problem(kind), Error::BucketNotReady), "{kind:?}");
        }
        assert!(matches!(problem(ProblemType::QuotaExceeded), Error::Storage(_)));
    }
}

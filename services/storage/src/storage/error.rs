//! Why a request about a storage is refused.

use api::{FieldError, Problem, ProblemType};
use ids::InstanceId;

use crate::object_store::NotConfigured;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("invalid fields: {0:?}")]
    Invalid(Vec<FieldError>),
    /// Another storage of the tenant has the name.
    #[error("the name is taken")]
    NameTaken,
    /// The state of the storage does not allow it.
    #[error("the storage is {0}")]
    NotAvailable(&'static str),
    /// Instances use the storage.
    #[error("{} instances use the storage", .0.len())]
    InUse(Vec<InstanceId>),
    #[error("the storage is being deleted")]
    Deleting,
    /// Only buckets have credentials and objects.
    #[error("the storage is not a bucket")]
    NotABucket,
    /// No specification of buckets is active.
    #[error("no specification of buckets is active")]
    NoBucketSpec,
    #[error(transparent)]
    NoObjectStore(#[from] NotConfigured),
}

impl Error {
    /// One field of the request is not valid.
    pub(super) fn invalid_field(pointer: &str, detail: impl Into<String>) -> Self {
        Self::Invalid(vec![FieldError { pointer: pointer.to_owned(), detail: detail.into() }])
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::Invalid(errors) => Self::invalid(errors),
            Error::NameTaken => Self::new(ProblemType::NameTaken, "Another storage has this name."),
            Error::NotAvailable(state) => {
                Self::new(ProblemType::StorageNotAvailable, format!("The storage is {state}."))
            }
            Error::InUse(instances) => {
                Self::new(ProblemType::StorageInUse, format!("Instances that use it: {}.", instances.len()))
                    .with("instance_ids", instances)
            }
            Error::Deleting => {
                Self::new(ProblemType::StorageDeleting, "A storage that is being deleted cannot be changed.")
            }
            Error::NotABucket => Self::new(
                ProblemType::NotABucket,
                "A volume has no credentials; it is used by mounting it in an instance.",
            ),
            Error::NoBucketSpec => {
                Self::new(ProblemType::NoBucketSpec, "There is no storage specification for new buckets.")
            }
            Error::NoObjectStore(error) => error.into(),
        }
    }
}

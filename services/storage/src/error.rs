//! What can go wrong with a request, and the problem that the caller gets for it.

use api::{FieldError, Problem, ProblemType};
use ids::InstanceId;

use crate::{object_store, quota::Exceeded};

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
    /// The state of the storage does not allow it.
    #[error("the storage is {0}")]
    NotAvailable(&'static str),
    /// Instances use the storage.
    #[error("{} instances use the storage", .0.len())]
    InUse(Vec<InstanceId>),
    /// The storage is being deleted.
    #[error("the storage is being deleted")]
    Deleting,
    /// The tenant would have more than its quota.
    #[error("the quota of {} is exceeded", .0.quota.as_str())]
    QuotaExceeded(Exceeded),
    /// Storages of the specification exist.
    #[error("the storage specification is in use")]
    SpecInUse,
    /// No new storages of the specification, whose name this is, can be created.
    #[error("the storage specification {0} is retired")]
    SpecRetired(String),
    /// The tenant is suspended or being deleted.
    #[error("the tenant is suspended")]
    TenantSuspended,
    /// No object store is configured.
    #[error("no object store is configured")]
    NoObjectStore,
    /// No specification of buckets is active.
    #[error("no specification of buckets is active")]
    NoBucketSpec,
    /// Only buckets have credentials.
    #[error("the storage is not a bucket")]
    NotABucket,
    /// The bucket has as many credentials as it may have, which is this many.
    #[error("the bucket has {0} credentials")]
    TooManyCredentials(i64),
    /// The object store does not carry it out.
    #[error(transparent)]
    ObjectStore(#[from] object_store::Error),
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
            Error::QuotaExceeded(Exceeded { quota, limit, used, requested }) => Self::new(
                ProblemType::QuotaExceeded,
                format!(
                    "The tenant's quota of {} is {limit}; {used} are in use, and {requested} more are requested.",
                    quota.as_str()
                ),
            )
            .with("quota", quota.as_str())
            .with("limit", limit)
            .with("used", used)
            .with("requested", requested),
            Error::SpecInUse => Self::new(
                ProblemType::StorageSpecInUse,
                "A storage specification can be deleted when no storage uses it.",
            ),
            Error::SpecRetired(name) => Self::new(
                ProblemType::StorageSpecRetired,
                format!("No new storages of {name} can be created."),
            ),
            Error::TenantSuspended => Self::new(
                ProblemType::TenantSuspended,
                "Nothing can be created while the tenant is suspended.",
            ),
            Error::NoObjectStore => Self::new(
                ProblemType::NoObjectStore,
                "Buckets need an object store, and this platform is configured without one.",
            ),
            Error::NoBucketSpec => {
                Self::new(ProblemType::NoBucketSpec, "There is no storage specification for new buckets.")
            }
            Error::NotABucket => Self::new(
                ProblemType::NotABucket,
                "A volume has no credentials; it is used by mounting it in an instance.",
            ),
            Error::TooManyCredentials(most) => Self::new(
                ProblemType::TooManyCredentials,
                format!("A storage has at most {most} credentials."),
            ),
            Error::ObjectStore(cause) => Self::unavailable("The object store", cause),
            Error::Database(cause) => cause.into(),
        }
    }
}

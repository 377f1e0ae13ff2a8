//! The errors of the Operator API, and their one mapping to problems.

use api::{FieldError, Problem, ProblemType};

/// Errors of the Operator API.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The instance or storage does not exist.
    #[error("not found")]
    NotFound,
    /// Fields of the request are invalid.
    #[error("invalid request")]
    Invalid(Vec<FieldError>),
    /// No unit of the specification is free.
    #[error("no free unit")]
    NoFreeUnit,
    /// Fewer units are idle than the call should delete.
    #[error("only {idle} units are idle")]
    TooFewIdleUnits {
        /// Number of idle units.
        idle: usize,
    },
    /// An instance of this id is terminating.
    #[error("the instance is terminating")]
    InstanceStopping,
    /// An instance of this id runs with other values.
    #[error("the instance id belongs to another instance")]
    InstanceIdReused,
    /// A storage of this id exists with other values.
    #[error("the storage id belongs to another storage")]
    StorageIdReused,
    /// An instance mounts the storage.
    #[error("the storage is in use")]
    StorageInUse,
    /// Another call with the same id is in progress.
    #[error("the operation is in progress")]
    OperationInProgress,
    /// The operation id belongs to a request with other values.
    #[error("the operation id belongs to another request")]
    OperationIdReused,
    /// The Kubernetes API rejected the object as invalid.
    #[error("rejected by the Kubernetes API: {0}")]
    Rejected(String),
    /// The Kubernetes API failed.
    #[error("the Kubernetes API failed")]
    Kubernetes(#[from] kube::Error),
    /// A value cannot be serialized.
    #[error("cannot serialize")]
    Serialize(#[from] serde_json::Error),
}

impl Error {
    /// One invalid field.
    pub(crate) fn invalid(pointer: &str, detail: impl Into<String>) -> Self {
        Self::Invalid(vec![FieldError { pointer: pointer.to_owned(), detail: detail.into() }])
    }

    /// The error of a write: if the Kubernetes API rejects it as invalid, the caller has to change it.
    pub(crate) fn of_write(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) if matches!(status.code, 400 | 422) => Self::Rejected(status.message),
            other => Self::Kubernetes(other),
        }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::NotFound => Self::not_found(),
            Error::Invalid(errors) => Self::invalid(errors),
            Error::NoFreeUnit => Self::new(
                ProblemType::StockExhausted,
                "Every unit of this specification is in use or does not hold its place.",
            ),
            Error::TooFewIdleUnits { idle } => {
                Self::new(ProblemType::StockInUse, format!("{idle} units of this specification are idle."))
                    .with("available", idle)
                    .next("Stop instances, or delete fewer units.")
            }
            Error::InstanceStopping => {
                Self::new(ProblemType::InstanceStopping, "An instance with this id is terminating.")
            }
            Error::InstanceIdReused => Self::new(
                ProblemType::InstanceIdReused,
                "An instance with this id was started with other values.",
            ),
            Error::StorageIdReused => Self::new(
                ProblemType::StorageIdReused,
                "A storage with this id was created with other values.",
            ),
            Error::StorageInUse => {
                Self::new(ProblemType::StorageInUse, "An instance mounts the volume of this storage.")
            }
            Error::OperationInProgress => {
                Self::new(ProblemType::OperationInProgress, "Another call with the same id is in progress.")
            }
            Error::OperationIdReused => Self::new(
                ProblemType::OperationIdReused,
                "An operation with this id was started with other values.",
            ),
            Error::Rejected(message) => {
                Self::invalid_field("", format!("the cluster rejected the object: {message}"))
            }
            Error::Kubernetes(error) => Self::unavailable("The Kubernetes API", error),
            Error::Serialize(error) => Self::internal(error),
        }
    }
}

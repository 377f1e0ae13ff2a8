//! Why a request about an instance is refused.

use api::{Invalid, Problem, ProblemType};

use crate::{records, write};

#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("not found")]
    NotFound,
    #[error("invalid request")]
    Invalid(#[from] Invalid),
    /// No unit of the specification is free.
    #[error("no free unit")]
    NoFreeUnit,
    #[error("the instance is terminating")]
    Stopping,
    /// An instance of this id runs with other values.
    #[error("the instance id belongs to another instance")]
    IdReused,
    #[error(transparent)]
    Record(#[from] records::Error),
    #[error(transparent)]
    Write(#[from] write::Error),
    #[error("the Kubernetes API failed")]
    Kubernetes(#[from] kube::Error),
    #[error("cannot translate the instance")]
    Serialize(#[from] serde_json::Error),
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::NotFound => Self::not_found(),
            Error::Invalid(invalid) => invalid.into(),
            Error::NoFreeUnit => Self::new(
                ProblemType::StockExhausted,
                "Every unit of this specification is in use or does not hold its place.",
            ),
            Error::Stopping => {
                Self::new(ProblemType::InstanceStopping, "An instance with this id is terminating.")
            }
            Error::IdReused => Self::new(
                ProblemType::InstanceIdReused,
                "An instance with this id was started with other values.",
            ),
            Error::Record(cause) => cause.into(),
            Error::Write(cause) => cause.into(),
            Error::Kubernetes(cause) => Self::unavailable("The Kubernetes API", cause),
            Error::Serialize(cause) => Self::internal(cause),
        }
    }
}

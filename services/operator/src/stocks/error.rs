//! Why a creation or deletion of units is refused.

use api::{Invalid, Problem, ProblemType};

use crate::{records, write};

#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("invalid request")]
    Invalid(#[from] Invalid),
    /// Fewer units are idle than the call should delete.
    #[error("only {idle} units are idle")]
    TooFewIdleUnits { idle: usize },
    /// The operation id belongs to a request with other values.
    #[error("the operation id belongs to another request")]
    OperationIdReused,
    #[error(transparent)]
    Record(#[from] records::Error),
    #[error(transparent)]
    Write(#[from] write::Error),
    #[error("the Kubernetes API failed")]
    Kubernetes(#[from] kube::Error),
    #[error("cannot serialize the request")]
    Serialize(#[from] serde_json::Error),
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::Invalid(invalid) => invalid.into(),
            Error::TooFewIdleUnits { idle } => {
                Self::new(ProblemType::StockInUse, format!("{idle} units of this specification are idle."))
                    .with("available", idle)
                    .next("Stop instances, or delete fewer units.")
            }
            Error::OperationIdReused => Self::new(
                ProblemType::OperationIdReused,
                "An operation with this id was started with other values.",
            ),
            Error::Record(cause) => cause.into(),
            Error::Write(cause) => cause.into(),
            Error::Kubernetes(cause) => Self::unavailable("The Kubernetes API", cause),
            Error::Serialize(cause) => Self::internal(cause),
        }
    }
}

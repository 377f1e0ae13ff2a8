//! Why a claim or a release is refused.

use std::sync::Arc;

use api::{FieldError, Problem, ProblemType};

use super::model::Exhausted;

#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("no unit is free")]
    Exhausted(Arc<Exhausted>),
    /// The instance holds a unit of another specification or for another tenant.
    #[error("the instance holds another unit")]
    AlreadyClaimed,
    #[error("invalid fields")]
    Invalid(Vec<FieldError>),
    #[error("a batch of claims or releases ended without an answer")]
    BatchLost,
    #[error("the database failed")]
    Database(#[source] Arc<sqlx::Error>),
}

impl Error {
    /// One field of the request is not valid.
    pub(super) fn invalid_field(pointer: &str, detail: &str) -> Self {
        Self::Invalid(vec![FieldError { pointer: pointer.to_owned(), detail: detail.to_owned() }])
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::Exhausted(exhausted) => {
                let detail = if exhausted.draining {
                    "The datacenter is draining: its units cannot be claimed."
                } else {
                    "No unit of this GPU specification is free."
                };
                Self::new(ProblemType::StockExhausted, detail)
                    .with("alternatives", &exhausted.alternatives)
                    .with("waiting", exhausted.waiting)
            }
            Error::AlreadyClaimed => Self::new(
                ProblemType::AlreadyClaimed,
                "The instance holds a unit of another specification or for another tenant.",
            ),
            Error::Invalid(errors) => Self::invalid(errors),
            Error::BatchLost => Self::unavailable("The stock service", Error::BatchLost),
            Error::Database(cause) => cause.into(),
        }
    }
}

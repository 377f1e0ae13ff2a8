//! Why a call of a worker is not carried out.

use api::{Problem, ProblemType};
use jobs_core::attempt::Over;

/// The attempt or session is not the latest one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the worker does not run this attempt")]
pub struct NotYours;

impl From<NotYours> for Problem {
    fn from(_: NotYours) -> Self {
        Self::new(
            ProblemType::AttemptNotYours,
            "The attempt has ended, or another session of the worker or another worker runs the job.",
        )
    }
}

impl From<Over> for NotYours {
    fn from(_: Over) -> Self {
        Self
    }
}

/// The attempt or session is not the latest one, or the database fails.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not the latest one.
    #[error(transparent)]
    NotYours(#[from] NotYours),
    /// The database fails.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

impl From<Over> for Error {
    fn from(over: Over) -> Self {
        Self::NotYours(over.into())
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::NotYours(cause) => cause.into(),
            Error::Database(cause) => cause.into(),
        }
    }
}

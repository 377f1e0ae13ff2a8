//! Errors of calls.

use crate::refusal::REFUSED;

/// Errors of calls.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The session has ended, or the attempt is not the worker's.
    #[error("the session or attempt is not this worker's any more")]
    NotYours,
    /// The call was refused, and a retry would be, too.
    #[error("{code}: {detail}")]
    Refused { code: String, detail: String },
    /// The object store refused an address; another one may be accepted.
    #[error("{0}")]
    Stale(String),
    /// The service does not answer, or not properly.
    #[error("the jobs service does not answer")]
    Unavailable(#[source] anyhow::Error),
}

impl Error {
    /// The error when a new address was refused, too.
    pub(super) fn lasting(self) -> Self {
        match self {
            Self::Stale(detail) => Self::Refused { code: REFUSED.to_owned(), detail },
            other => other,
        }
    }
}

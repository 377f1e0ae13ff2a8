//! Errors of credentials.

use std::sync::Arc;

use api::Problem;

use crate::{limits::Exceeded, refusal::Refusal};

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The credential is not valid, or its user may not act for the tenant.
    #[error(transparent)]
    Unauthenticated(Problem),
    #[error(transparent)]
    RateLimited(#[from] Exceeded),
    #[error("the request comes from a page of another origin")]
    CrossOrigin,
    #[error("the credential cannot be exchanged")]
    Unavailable(#[source] Arc<Unavailable>),
}

/// An exchange without a result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unavailable {
    #[error("no service token for the identity service (auth.revocations)")]
    NotConfigured,
    #[error("no answer")]
    NoAnswer(#[from] peer::Error),
    #[error("the token is not accepted: {0}")]
    Token(Problem),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        match error {
            Error::Unauthenticated(problem) => problem.into(),
            Error::RateLimited(exceeded) => exceeded.into(),
            Error::CrossOrigin => Self::cross_origin(),
            Error::Unavailable(cause) => Self::unavailable("identity", cause),
        }
    }
}

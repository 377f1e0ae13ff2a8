//! Why an invitation is refused.

use api::{Problem, ProblemType};

#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("a person has sent the invitation")]
    ByPerson,
    #[error("the tenant has {limit} open invitations")]
    TooMany { limit: i64 },
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::ByPerson => Self::new(
                ProblemType::PersonRequired,
                "A person has invited this address. An API key cannot change this invitation; withdraw it first.",
            ),
            Error::TooMany { limit } => Self::new(
                ProblemType::TooManyInvitations,
                format!("A tenant has at most {limit} open invitations."),
            ),
        }
    }
}

//! Errors of requests about a user.

use api::{Problem, ProblemType};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the e-mail address is in use")]
    EmailTaken,
    #[error("the user is disabled")]
    Disabled,
    #[error("the user of the token no longer exists")]
    Deleted,
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::EmailTaken => Self::new(ProblemType::EmailTaken, "Another user has this e-mail address."),
            Error::Disabled => {
                Self::new(ProblemType::UserDisabled, "An administrator has disabled this account.")
            }
            Error::Deleted => Self::unauthenticated("The user of this token no longer exists."),
        }
    }
}

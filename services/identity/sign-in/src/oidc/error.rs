//! Why a sign-in with a provider fails.

use api::{Problem, ProblemType};

#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// The reason is logged: only the operator can change it.
    #[error("the sign-in with the provider failed")]
    SignInFailed,
    #[error("the person has no account")]
    NoAccount,
    #[error("the account of the provider belongs to another user")]
    AccountTaken,
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::SignInFailed => Self::new(
                ProblemType::SignInFailed,
                "The provider refused the sign-in, or it was begun in another browser or too long ago.",
            ),
            Error::NoAccount => {
                Self::new(ProblemType::NoAccount, "No user is linked to this account of the provider.")
            }
            Error::AccountTaken => Self::new(
                ProblemType::AccountTaken,
                "Another user signs in with this account of the provider.",
            ),
        }
    }
}

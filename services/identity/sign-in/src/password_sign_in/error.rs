//! Why a sign-in with a password fails.

use api::{Problem, ProblemType};

#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// Also for an unknown e-mail address, so that both get the same response.
    #[error("wrong e-mail address or password")]
    WrongCredentials,
    #[error("a second factor is required")]
    SecondFactorMissing,
    #[error("wrong second factor")]
    SecondFactorWrong,
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::WrongCredentials => {
                Self::new(ProblemType::WrongCredentials, "No user has this e-mail address and password.")
            }
            Error::SecondFactorMissing => Self::new(
                ProblemType::SecondFactorRequired,
                "The password is right. A code of your authenticator app, or a passkey, is needed as well.",
            ),
            Error::SecondFactorWrong => Self::new(
                ProblemType::SecondFactorRequired,
                "The code is wrong, has expired or was used before; or the passkey is not yours, or did not answer a new challenge.",
            ),
        }
    }
}

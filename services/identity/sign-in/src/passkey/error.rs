//! Why a request about a passkey, or with one, is refused.

use api::{Problem, ProblemType};

#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("passkeys are not configured")]
    Disabled,
    /// The reason is logged: all reasons give the same response.
    #[error("the passkey is not accepted")]
    Refused,
    #[error("the user has {limit} passkeys")]
    TooMany { limit: i64 },
    #[error("the passkey has changed since it was read")]
    ChangedMeanwhile,
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::Disabled => {
                Self::new(ProblemType::PasskeysDisabled, "Passkeys are not configured on this platform.")
            }
            Error::Refused => Self::new(
                ProblemType::PasskeyRefused,
                "The passkey is unknown, or did not answer a recent challenge of this platform.",
            ),
            Error::TooMany { limit } => {
                Self::new(ProblemType::TooManyPasskeys, format!("A user has at most {limit} passkeys."))
                    .with("limit", limit)
            }
            Error::ChangedMeanwhile => {
                Self::new(ProblemType::ChangedMeanwhile, "The resource has changed since you read it.")
            }
        }
    }
}

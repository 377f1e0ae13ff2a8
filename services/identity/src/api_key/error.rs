//! Why a request about an API key, or with one, is refused.

use api::{Problem, ProblemType};
use auth::Scope;
use people::field::InvalidField;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// Also for an unknown key, so that all reasons give the same response.
    #[error("the API key is unknown or has ended")]
    Invalid,
    #[error("the scope {0} is missing")]
    ScopeMissing(Scope),
    #[error("the user has {limit} API keys")]
    TooMany { limit: i64 },
    #[error(transparent)]
    InvalidField(#[from] InvalidField),
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::Invalid => Self::new(
                ProblemType::ApiKeyInvalid,
                "The API key is unknown or has expired, or its user has lost the rights.",
            ),
            Error::ScopeMissing(scope) => Self::new(
                ProblemType::InsufficientScope,
                format!("The scope `{scope}` cannot be granted by an API key that does not have it."),
            )
            .with("scope", scope),
            Error::TooMany { limit } => {
                Self::new(ProblemType::TooManyApiKeys, format!("A user has at most {limit} API keys."))
                    .with("limit", limit)
            }
            Error::InvalidField(error) => error.into(),
        }
    }
}

//! Why a request about a storage specification is refused.

use api::{FieldError, Problem, ProblemType};

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("invalid fields: {0:?}")]
    Invalid(Vec<FieldError>),
    /// Another specification has the name.
    #[error("the name is taken")]
    NameTaken,
    /// Storages of the specification exist.
    #[error("storages of the specification exist")]
    InUse,
    /// No new storages of the specification, whose name this is, can be created.
    #[error("{0} is retired")]
    Retired(String),
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::Invalid(errors) => Self::invalid(errors),
            Error::NameTaken => Self::new(ProblemType::NameTaken, "Another specification has this name."),
            Error::InUse => Self::new(
                ProblemType::StorageSpecInUse,
                "A storage specification can be deleted when no storage uses it.",
            ),
            Error::Retired(name) => Self::new(
                ProblemType::StorageSpecRetired,
                format!("No new storages of {name} can be created."),
            ),
        }
    }
}

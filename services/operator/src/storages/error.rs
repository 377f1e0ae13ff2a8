//! Why a request about a storage is refused.

use api::{Invalid, Problem, ProblemType};

use crate::write;

#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("not found")]
    NotFound,
    #[error("invalid request")]
    Invalid(#[from] Invalid),
    /// A storage of this id exists with other values.
    #[error("the storage id belongs to another storage")]
    IdReused,
    /// An instance mounts the storage.
    #[error("the storage is in use")]
    InUse,
    #[error(transparent)]
    Write(#[from] write::Error),
    #[error("the Kubernetes API failed")]
    Kubernetes(#[from] kube::Error),
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::NotFound => Self::not_found(),
            Error::Invalid(invalid) => invalid.into(),
            Error::IdReused => Self::new(
                ProblemType::StorageIdReused,
                "A storage with this id was created with other values.",
            ),
            Error::InUse => {
                Self::new(ProblemType::StorageInUse, "An instance mounts the volume of this storage.")
            }
            Error::Write(cause) => cause.into(),
            Error::Kubernetes(cause) => Self::unavailable("The Kubernetes API", cause),
        }
    }
}

//! Why nothing can be created for a tenant.

use api::{Problem, ProblemType};

/// The tenant is not active, or the database fails.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The tenant is suspended or being deleted.
    #[error("the tenant is suspended")]
    Suspended,
    /// The database fails.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::Suspended => Self::new(
                ProblemType::TenantSuspended,
                "Nothing can be created or started while the tenant is suspended.",
            ),
            Error::Database(cause) => cause.into(),
        }
    }
}

//! Why a request about a tenant is refused.

use api::{Problem, ProblemType};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the name is in use")]
    NameTaken,
    #[error("the tenant is active")]
    Active,
    #[error("the tenant has members besides its owners")]
    HasMembers,
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::NameTaken => Self::new(ProblemType::NameTaken, "Another tenant has this name."),
            Error::Active => Self::new(ProblemType::TenantActive, "Only a suspended tenant can be deleted."),
            Error::HasMembers => Self::new(
                ProblemType::TenantHasMembers,
                "Only a tenant without members other than owners can be deleted.",
            ),
        }
    }
}

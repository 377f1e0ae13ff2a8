//! Why a request about a member is refused.

use api::{Problem, ProblemType};
use ids::TenantId;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the user is already a member")]
    AlreadyAMember,
    #[error("an owner adds members by invitation")]
    InvitationRequired,
    #[error("{0} would lose its last owner")]
    LastOwner(TenantId),
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::AlreadyAMember => {
                Self::new(ProblemType::AlreadyAMember, "The user is a member of this tenant.")
            }
            Error::InvitationRequired => {
                Self::forbidden("Only platform administrators add members without an invitation.")
                    .next("Invite the person with POST /v1/tenants/{id}/invitations.")
            }
            Error::LastOwner(tenant) => {
                Self::new(ProblemType::LastOwner, "This is the only owner of the tenant.")
                    .with("tenant_id", tenant)
            }
        }
    }
}

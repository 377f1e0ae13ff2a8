//! Invitations as clients see them.

use api::Problem;
use auth::{Principal, Role};
use ids::{InvitationId, TenantId, UserId};
use jiff::{SignedDuration, Timestamp};
use people::{authority, tenant::TenantRef};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How long an invitation is open.
pub(super) const LIFETIME: SignedDuration = SignedDuration::from_hours(14 * 24);
/// Maximum number of open invitations of one tenant.
pub(super) const MAX_OPEN: i64 = 100;

/// An open invitation, as the tenant's owners see it.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct Invitation {
    /// Id of the invitation.
    pub(super) id: InvitationId,
    /// The invited e-mail address. It need not belong to a user yet.
    pub(super) email: String,
    /// Role of the person in the tenant, once they accept.
    pub(super) role: Role,
    /// Who invited them.
    pub(super) invited_by: UserId,
    /// When the invitation was created.
    pub(super) created_at: Timestamp,
    /// When the invitation expires.
    pub(super) expires_at: Timestamp,
}

/// An open invitation, as the invited person sees it.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct ReceivedInvitation {
    /// Id of the invitation.
    pub(super) id: InvitationId,
    /// The tenant.
    pub(super) tenant: TenantRef,
    /// The caller's role in the tenant, once they accept.
    pub(super) role: Role,
    /// E-mail address of the user who sent the invitation.
    pub(super) invited_by: String,
    /// When the invitation was created.
    pub(super) created_at: Timestamp,
    /// When the invitation expires.
    pub(super) expires_at: Timestamp,
}

/// An invitation to send.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewInvitation {
    /// E-mail address of the person, whether or not they have an account.
    #[serde(deserialize_with = "api::email::deserialize")]
    pub(super) email: String,
    /// Role of the person in the tenant, once they accept.
    pub(super) role: Role,
}

/// Owners and administrators see the invitations of a tenant. To those who do not see the tenant, it does not exist.
///
/// # Errors
/// If the caller may not see the invitations.
pub(super) fn may_list(principal: &Principal, tenant: TenantId) -> Result<(), Problem> {
    if principal.admin {
        return Ok(());
    }
    match principal.tenant {
        Some((own, Role::Owner)) if own == tenant => Ok(()),
        Some((own, actual)) if own == tenant => {
            Err(authority::Error::RoleTooLow { required: Role::Owner, actual }.into())
        }
        _ => Err(Problem::not_found()),
    }
}

#[cfg(test)]
mod tests {
    use api::ProblemType;

    use super::*;

    #[test]
    fn owners_and_administrators_see_invitations() {
        let (own, other) = (TenantId::new(), TenantId::new());
        let principal = |tenant, admin| Principal {
            user: UserId::new(),
            tenant,
            admin,
            session: None,
            scopes: None,
            api_key: None,
            limited: false,
            issued_at: Timestamp::UNIX_EPOCH,
            expires_at: Timestamp::MAX,
        };
        let owner = principal(Some((own, Role::Owner)), false);
        assert!(may_list(&owner, own).is_ok());
        assert!(may_list(&owner, other).unwrap_err().is(ProblemType::NotFound));
        let member = principal(Some((own, Role::Member)), false);
        assert!(may_list(&member, own).unwrap_err().is(ProblemType::Forbidden));
        assert!(may_list(&member, other).unwrap_err().is(ProblemType::NotFound));
        assert!(may_list(&principal(None, false), own).unwrap_err().is(ProblemType::NotFound));
        assert!(may_list(&principal(None, true), own).is_ok());
    }
}

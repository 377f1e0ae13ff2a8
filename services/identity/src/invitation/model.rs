//! Invitations as clients see them.

use auth::{Principal, Role};
use ids::{InvitationId, TenantId, UserId};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{error::Error, tenant::TenantRef};

/// How long an invitation is open.
pub(super) const LIFETIME: SignedDuration = SignedDuration::from_hours(14 * 24);
/// Open invitations of one tenant, at most.
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
pub(super) fn may_list(principal: &Principal, tenant: TenantId) -> Result<(), Error> {
    if principal.admin {
        return Ok(());
    }
    match principal.tenant {
        Some((own, Role::Owner)) if own == tenant => Ok(()),
        Some((own, actual)) if own == tenant => Err(Error::RoleTooLow { required: Role::Owner, actual }),
        _ => Err(Error::NotFound),
    }
}

#[cfg(test)]
mod tests {
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
        assert!(matches!(may_list(&owner, other), Err(Error::NotFound)));
        let member = principal(Some((own, Role::Member)), false);
        assert!(matches!(may_list(&member, own), Err(Error::RoleTooLow { .. })));
        assert!(matches!(may_list(&member, other), Err(Error::NotFound)));
        assert!(matches!(may_list(&principal(None, false), own), Err(Error::NotFound)));
        assert!(may_list(&principal(None, true), own).is_ok());
    }
}

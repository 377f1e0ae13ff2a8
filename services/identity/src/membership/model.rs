//! Members as clients see them, and who may manage them.

use auth::{Principal, Role};
use ids::{TenantId, UserId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    error::Error,
    tenant::{TenantRef, TenantState},
};

/// A user as a member of a tenant.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Member {
    /// The user.
    pub(crate) user_id: UserId,
    /// E-mail address of the user.
    pub(crate) email: String,
    /// Display name of the user.
    pub(crate) display_name: String,
    /// The user's role in the tenant.
    pub(crate) role: Role,
    #[serde(skip)]
    pub(crate) generation: i64,
    /// When the user became a member.
    pub(crate) created_at: Timestamp,
    /// When the role last changed.
    pub(crate) updated_at: Timestamp,
}

/// A tenant of the user.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Membership {
    /// The tenant.
    pub(crate) tenant: TenantRef,
    /// State of the tenant.
    pub(crate) state: TenantState,
    /// The user's role in the tenant.
    pub(crate) role: Role,
}

/// A user to add as a member.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewMember {
    /// Id of the user.
    pub(crate) user_id: UserId,
    /// Role of the user in the tenant.
    pub(crate) role: Role,
}

/// A change of a member's role.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MemberChange {
    /// The new role.
    pub(crate) role: Role,
}

impl Member {
    /// Checks that the tenant keeps an owner when this member gets `role`, or leaves (`None`). `owners` counts the
    /// tenant's owners.
    ///
    /// # Errors
    /// If the member is the last owner.
    pub(super) fn check_owner_remains(
        &self,
        tenant: TenantId,
        role: Option<Role>,
        owners: i64,
    ) -> Result<(), Error> {
        if self.role == Role::Owner && role != Some(Role::Owner) && owners == 1 {
            return Err(Error::LastOwner(tenant));
        }
        Ok(())
    }
}

/// Administrators and members see a tenant. To all others it does not exist.
///
/// # Errors
/// If the caller may not see the tenant.
pub(crate) fn may_read(principal: &Principal, tenant: TenantId) -> Result<(), Error> {
    let member = principal.tenant.is_some_and(|(own, _)| own == tenant);
    if principal.admin || member { Ok(()) } else { Err(Error::NotFound) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn principal(tenant: Option<(TenantId, Role)>, admin: bool) -> Principal {
        Principal {
            user: UserId::new(),
            tenant,
            admin,
            session: None,
            scopes: None,
            api_key: None,
            limited: false,
            issued_at: Timestamp::UNIX_EPOCH,
            expires_at: Timestamp::MAX,
        }
    }

    #[test]
    fn members_and_administrators_see_a_tenant() {
        let (own, other) = (TenantId::new(), TenantId::new());
        let viewer = principal(Some((own, Role::Viewer)), false);
        assert!(may_read(&viewer, own).is_ok());
        assert!(matches!(may_read(&viewer, other), Err(Error::NotFound)));
        assert!(may_read(&principal(None, true), other).is_ok());
        assert!(matches!(may_read(&principal(None, false), own), Err(Error::NotFound)));
    }

    #[test]
    fn the_last_owner_remains() {
        let member = |role| Member {
            user_id: UserId::new(),
            email: "a@b".to_owned(),
            display_name: "a".to_owned(),
            role,
            generation: 1,
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
        };
        for (role, new_role, owners, allowed) in [
            (Role::Owner, None, 1, false),
            (Role::Owner, Some(Role::Member), 1, false),
            (Role::Owner, Some(Role::Owner), 1, true),
            (Role::Owner, None, 2, true),
            (Role::Member, None, 1, true),
            (Role::Member, Some(Role::Viewer), 1, true),
        ] {
            let checked = member(role).check_owner_remains(TenantId::new(), new_role, owners);
            assert_eq!(checked.is_ok(), allowed, "{role:?} to {new_role:?} of {owners}");
        }
    }
}

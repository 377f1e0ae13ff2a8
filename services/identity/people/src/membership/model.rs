//! Members as clients see them.

use auth::Role;
use ids::{TenantId, UserId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Error;
use crate::tenant::{TenantRef, TenantState};

/// A user as a member of a tenant.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Member {
    /// The user.
    pub user_id: UserId,
    /// E-mail address of the user.
    pub email: String,
    /// Display name of the user.
    pub display_name: String,
    /// The user's role in the tenant.
    pub role: Role,
    #[serde(skip)]
    pub generation: i64,
    /// When the user became a member.
    pub created_at: Timestamp,
    /// When the role last changed.
    pub updated_at: Timestamp,
}

/// A tenant of the user.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Membership {
    /// The tenant.
    pub tenant: TenantRef,
    /// State of the tenant.
    pub state: TenantState,
    /// The user's role in the tenant.
    pub role: Role,
}

/// A user to add as a member.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewMember {
    /// Id of the user.
    pub user_id: UserId,
    /// Role of the user in the tenant.
    pub role: Role,
}

/// A change of a member's role.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MemberChange {
    /// The new role.
    pub role: Role,
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

#[cfg(test)]
mod tests {
    use super::*;

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

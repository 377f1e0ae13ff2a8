//! The rights that a new access token grants.

use api::{Problem, ProblemType};
use auth::Role;
use ids::{TenantId, UserId};
use jiff::Timestamp;
use sqlx::PgConnection;

use super::store;
use crate::{
    membership::{self, Membership},
    tenant::{self, TenantState},
    user::{self, User},
};

/// Reasons why a user cannot act for a tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoAccess {
    #[error("the user is not a member of the tenant")]
    NotAMember,
    #[error("the tenant is suspended")]
    TenantSuspended,
}

impl From<NoAccess> for Problem {
    fn from(error: NoAccess) -> Self {
        match error {
            NoAccess::NotAMember => {
                Self::new(ProblemType::NotAMember, "You are not a member of a tenant with this id.")
            }
            NoAccess::TenantSuspended => Self::new(
                ProblemType::TenantSuspended,
                "Nobody can sign in to this tenant, or join it, while it is suspended.",
            ),
        }
    }
}

/// A user, as of a time. The user does not change until the transaction ends.
pub struct Holder {
    pub user: User,
    /// Later revocations of the rights have a later time.
    pub issued_at: Timestamp,
}

impl Holder {
    /// Returns the user; none if deleted.
    pub async fn find(tx: &mut PgConnection, id: UserId) -> sqlx::Result<Option<Self>> {
        let issued_at = store::clock(tx).await?;
        Ok(user::lock_shared(tx, id).await?.map(|user| Self { user, issued_at }))
    }
}

/// Returns the membership to act for, or why there is none. It does not change until the transaction ends. The transaction must
/// be in the scope of the user.
pub async fn membership(
    tx: &mut PgConnection,
    user: UserId,
    requested: Option<TenantId>,
) -> sqlx::Result<Result<Option<Membership>, NoAccess>> {
    let found = match choose(membership::of_user(tx, user).await?, requested) {
        Ok(Some(found)) => found.tenant.id,
        other => return Ok(other),
    };
    tenant::lock_shared(tx, found).await?;
    Ok(choose(membership::of_user(tx, user).await?, Some(found)))
}

/// Returns the user's role in a tenant, and a time before any revocation of it; none if no token would be
/// issued for it.
pub(crate) async fn in_tenant(
    tx: &mut PgConnection,
    tenant: TenantId,
    user: UserId,
) -> sqlx::Result<Option<(Role, Timestamp)>> {
    let Some(holder) = Holder::find(tx, user).await?.filter(|holder| !holder.user.disabled) else {
        return Ok(None);
    };
    let found = membership(tx, user, Some(tenant)).await?.ok().flatten();
    Ok(found.map(|found| (found.role, holder.issued_at)))
}

/// Chooses the membership to act for: the requested one; otherwise the oldest in an active tenant, if any.
///
/// # Errors
/// If the user is not a member of the requested tenant, or it is suspended.
fn choose(memberships: Vec<Membership>, requested: Option<TenantId>) -> Result<Option<Membership>, NoAccess> {
    let Some(requested) = requested else {
        return Ok(memberships.into_iter().find(|m| m.state == TenantState::Active));
    };
    let membership =
        memberships.into_iter().find(|m| m.tenant.id == requested).ok_or(NoAccess::NotAMember)?;
    match membership.state {
        TenantState::Active => Ok(Some(membership)),
        TenantState::Suspended | TenantState::Deleting => Err(NoAccess::TenantSuspended),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tenant::TenantRef;

    fn membership(state: TenantState) -> Membership {
        Membership {
            tenant: TenantRef { id: TenantId::new(), name: "t".to_owned() },
            state,
            role: Role::Member,
        }
    }

    #[test]
    fn the_oldest_active_tenant_is_the_default() {
        let all = vec![
            membership(TenantState::Suspended),
            membership(TenantState::Active),
            membership(TenantState::Active),
        ];
        assert_eq!(choose(all.clone(), None).unwrap().unwrap().tenant.id, all[1].tenant.id);
        assert!(choose(all[..1].to_vec(), None).unwrap().is_none());
        assert!(choose(Vec::new(), None).unwrap().is_none());
    }

    #[test]
    fn the_requested_tenant_must_be_active_and_the_users_own() {
        let all = vec![membership(TenantState::Suspended), membership(TenantState::Active)];
        let choose = |tenant| choose(all.clone(), Some(tenant));
        assert_eq!(choose(all[1].tenant.id).unwrap().unwrap().tenant.id, all[1].tenant.id);
        assert!(matches!(choose(all[0].tenant.id), Err(NoAccess::TenantSuspended)));
        assert!(matches!(choose(TenantId::new()), Err(NoAccess::NotAMember)));
    }
}

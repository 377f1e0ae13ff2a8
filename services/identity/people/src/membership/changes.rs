//! Changes of a tenant's members, each within the transaction of its request. `authority::manager` locks the tenant
//! first, so that concurrent changes cannot remove its last owner together.

use api::{IfMatch, Problem};
use auth::{Principal, Role};
use ids::{TenantId, UserId};
use sqlx::PgConnection;

use super::{
    Error,
    model::{Member, NewMember},
    store,
};
use crate::{
    authority::{self, Manager},
    revocation, user,
};

/// Adds a user without an invitation, which only administrators may do.
pub(super) async fn add(
    tx: &mut PgConnection,
    caller: &Principal,
    tenant: TenantId,
    new: &NewMember,
) -> Result<Member, Problem> {
    if authority::manager(tx, caller, tenant).await? == Manager::Owner {
        return Err(Error::InvitationRequired.into());
    }
    authority::owner_by_person(caller, &[new.role])?;
    let found = user::find(tx, new.user_id).await?;
    let user = found.ok_or_else(|| Problem::invalid_field("/user_id", "user not found"))?.id;
    if !store::insert(tx, tenant, user, new.role).await? {
        return Err(Error::AlreadyAMember.into());
    }
    store::forget_removal(tx, tenant, user).await?;
    // otherwise the user could return with it after having been removed
    if let Some(role) = store::delete_invitation(tx, tenant, user).await? {
        authority::owner_by_person(caller, &[role])?;
    }
    find(tx, tenant, user).await
}

/// Changes the role. A lower one revokes the member's tokens for the tenant.
pub(super) async fn change_role(
    tx: &mut PgConnection,
    caller: &Principal,
    tenant: TenantId,
    user: UserId,
    if_match: &IfMatch,
    role: Role,
) -> Result<Member, Problem> {
    authority::manager(tx, caller, tenant).await?;
    let member = find(tx, tenant, user).await?;
    authority::owner_by_person(caller, &[member.role, role])?;
    if_match.check(member.generation)?;
    member.check_owner_remains(tenant, Some(role), store::count_owners(tx, tenant).await?)?;
    if !store::update(tx, tenant, user, member.generation, role).await? {
        return Err(Problem::internal("a member of a locked tenant has changed"));
    }
    if role < member.role {
        revocation::of_member(tx, tenant, user).await?;
    }
    find(tx, tenant, user).await
}

/// Removes the member, who may be the caller, and revokes their tokens for the tenant.
pub(super) async fn remove(
    tx: &mut PgConnection,
    caller: &Principal,
    tenant: TenantId,
    user: UserId,
) -> Result<(), Problem> {
    if caller.user == user && caller.api_key.is_none() {
        authority::member(tx, caller, tenant).await?;
    } else {
        authority::manager(tx, caller, tenant).await?;
    }
    let member = find(tx, tenant, user).await?;
    authority::owner_by_person(caller, &[member.role])?;
    member.check_owner_remains(tenant, None, store::count_owners(tx, tenant).await?)?;
    store::delete(tx, tenant, user).await?;
    store::remember_removal(tx, tenant, user).await?;
    Ok(revocation::of_member(tx, tenant, user).await?)
}

async fn find(tx: &mut PgConnection, tenant: TenantId, user: UserId) -> Result<Member, Problem> {
    store::find(tx, tenant, user).await?.ok_or_else(Problem::not_found)
}

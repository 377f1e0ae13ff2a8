//! Changes of a tenant's members, each within the transaction of its request. The tenant is locked first, so that
//! concurrent changes cannot remove its last owner together.

use api::{IfMatch, Problem};
use auth::Role;
use ids::{TenantId, UserId};
use sqlx::PgConnection;

use super::{
    model::{Member, NewMember},
    store,
};
use crate::{error::Error, tenant, user};

pub(super) async fn add(tx: &mut PgConnection, tenant: TenantId, new: &NewMember) -> Result<Member, Error> {
    tenant::lock(tx, tenant).await?.ok_or(Error::NotFound)?;
    let user = find_user(tx, new).await?;
    if !store::insert(tx, tenant, user, new.role).await? {
        return Err(Error::AlreadyAMember);
    }
    find(tx, tenant, user).await
}

pub(super) async fn change_role(
    tx: &mut PgConnection,
    tenant: TenantId,
    user: UserId,
    if_match: &IfMatch,
    role: Role,
) -> Result<Member, Problem> {
    tenant::lock(tx, tenant).await?.ok_or(Error::NotFound)?;
    let member = find(tx, tenant, user).await?;
    if_match.check(member.generation)?;
    member.check_owner_remains(tenant, Some(role), store::count_owners(tx, tenant).await?)?;
    if !store::update(tx, tenant, user, member.generation, role).await? {
        return Err(Problem::internal("a member of a locked tenant has changed"));
    }
    Ok(find(tx, tenant, user).await?)
}

pub(super) async fn remove(tx: &mut PgConnection, tenant: TenantId, user: UserId) -> Result<(), Error> {
    tenant::lock(tx, tenant).await?.ok_or(Error::NotFound)?;
    let member = find(tx, tenant, user).await?;
    member.check_owner_remains(tenant, None, store::count_owners(tx, tenant).await?)?;
    Ok(store::delete(tx, tenant, user).await?)
}

async fn find(tx: &mut PgConnection, tenant: TenantId, user: UserId) -> Result<Member, Error> {
    store::find(tx, tenant, user).await?.ok_or(Error::NotFound)
}

async fn find_user(tx: &mut PgConnection, new: &NewMember) -> Result<UserId, Error> {
    let (found, pointer) = match (&new.user_id, &new.email) {
        (Some(id), None) => (user::find(tx, *id).await?, "/user_id"),
        (None, Some(email)) => (user::find_by_email(tx, email).await?, "/email"),
        _ => return Err(Error::invalid("/user_id", "either user_id or email is required")),
    };
    found.map(|user| user.id).ok_or_else(|| Error::invalid(pointer, "user not found"))
}

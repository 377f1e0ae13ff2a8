//! What callers may do by the tables, for everything that changes rights. Their tokens may be older than their rights.
//!
//! Rows are locked in one order: users, then tenants.

use auth::{Person, Principal, Role};
use ids::{SessionId, TenantId, UserId};
use jiff::SignedDuration;
use sqlx::PgConnection;

use crate::{error::Error, scope, state::AppState};

/// Requires an administrator who can sign in. They remain one until the transaction ends.
///
/// # Errors
/// If the caller is none, or their session has ended.
pub(crate) async fn admin(tx: &mut PgConnection, caller: &Principal) -> Result<(), Error> {
    if is_admin(tx, caller).await? { Ok(()) } else { Err(Error::NotAnAdministrator) }
}

/// Requires a user who can sign in, and sets the transaction's scope to them.
///
/// # Errors
/// If the user is disabled or deleted, or their session has ended.
pub(crate) async fn signed_in(tx: &mut PgConnection, caller: &Principal) -> Result<(), Error> {
    is_admin(tx, caller).await.map(drop)
}

/// As [`signed_in`], and requires that the person has signed in of late: whoever finds a session open must not be able to make
/// the account theirs.
///
/// # Errors
/// As [`signed_in`], and if the sign-in is too long ago.
pub(crate) async fn signed_in_recently(
    state: &AppState,
    tx: &mut PgConnection,
    person: &Person,
) -> Result<(), Error> {
    signed_in(tx, &person.principal).await?;
    let within = state.config.sessions.recent_seconds;
    let since = state.now() - SignedDuration::from_secs(within.into());
    let is_recent = sqlx::query_scalar!(
        "select exists(select from sessions where id = $1 and created_at >= $2) as \"exists!\"",
        person.session as SessionId,
        jiff_sqlx::Timestamp::from(since),
    )
    .fetch_one(tx)
    .await?;
    if is_recent { Ok(()) } else { Err(Error::SignInTooOld { within }) }
}

/// Requires that no API key makes an owner, or takes an owner's place: an owner has all rights in the tenant, for ever.
///
/// # Errors
/// If one of the roles is that of an owner, and the caller an API key.
pub(crate) fn owner_by_person(caller: &Principal, roles: &[Role]) -> Result<(), Error> {
    if roles.contains(&Role::Owner) && caller.api_key.is_some() {
        return Err(Error::OwnerByApiKey);
    }
    Ok(())
}

/// By which right a caller manages a tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manager {
    Administrator,
    Owner,
}

/// Requires an administrator, or an owner of the tenant, and locks the tenant. They remain what they are until the
/// transaction ends.
///
/// # Errors
/// If the tenant does not exist or the caller may not see it, the caller is not an owner, or their session has ended.
pub(crate) async fn manager(
    tx: &mut PgConnection,
    caller: &Principal,
    tenant: TenantId,
) -> Result<Manager, Error> {
    let admin = is_admin(tx, caller).await?;
    // with the tenant locked, roles no longer change
    lock_tenant(tx, tenant).await?;
    if admin {
        return Ok(Manager::Administrator);
    }
    let acts_for_it = caller.tenant.is_some_and(|(own, _)| own == tenant);
    let role = role(tx, tenant, caller.user).await?.filter(|_| acts_for_it);
    match role.ok_or(Error::NotFound)? {
        Role::Owner => Ok(Manager::Owner),
        actual => Err(Error::RoleTooLow { required: Role::Owner, actual }),
    }
}

/// Requires a member of the tenant, whatever tenant the caller acts for, and locks the tenant. They remain one until the
/// transaction ends.
///
/// # Errors
/// If the tenant does not exist or the caller is not a member of it, or their session has ended.
pub(crate) async fn member(tx: &mut PgConnection, caller: &Principal, tenant: TenantId) -> Result<(), Error> {
    signed_in(tx, caller).await?;
    lock_tenant(tx, tenant).await?;
    role(tx, tenant, caller.user).await?.map(drop).ok_or(Error::NotFound)
}

/// Locks the tenant, sets the transaction's scope to it, and returns whether the user could manage it now, if they
/// signed in.
///
/// # Errors
/// If the tenant does not exist.
pub(crate) async fn lock_if_managed_by(
    tx: &mut PgConnection,
    user: UserId,
    tenant: TenantId,
) -> Result<bool, Error> {
    let account = sqlx::query!("select admin, disabled from users where id = $1 for share", user as UserId)
        .fetch_optional(&mut *tx)
        .await?;
    lock_tenant(tx, tenant).await?;
    let role = role(tx, tenant, user).await?;
    Ok(account.is_some_and(|user| !user.disabled && (user.admin || role == Some(Role::Owner))))
}

async fn is_admin(tx: &mut PgConnection, caller: &Principal) -> Result<bool, Error> {
    let session = caller.session.ok_or(Error::SignedOut)?;
    scope::user(tx, caller.user).await?;
    let account =
        sqlx::query!("select admin, disabled from users where id = $1 for share", caller.user as UserId,)
            .fetch_optional(&mut *tx)
            .await?
            .ok_or(Error::UserDeleted)?;
    if account.disabled {
        return Err(Error::UserDisabled);
    }
    // the id of an API key's session is that of the key
    let is_open = sqlx::query_scalar!(
        "select exists(select from sessions where id = $1 and ended_at is null)
             or exists(select from api_keys where id = $1) as \"exists!\"",
        session as SessionId,
    )
    .fetch_one(tx)
    .await?;
    if !is_open {
        return Err(Error::SignedOut);
    }
    Ok(caller.admin && account.admin)
}

async fn lock_tenant(tx: &mut PgConnection, tenant: TenantId) -> Result<(), Error> {
    let found = sqlx::query_scalar!("select id from tenants where id = $1 for update", tenant as TenantId)
        .fetch_optional(tx)
        .await?;
    found.map(drop).ok_or(Error::NotFound)
}

async fn role(tx: &mut PgConnection, tenant: TenantId, user: UserId) -> sqlx::Result<Option<Role>> {
    scope::tenant(tx, tenant).await?;
    sqlx::query_scalar!(
        "select role from members where tenant_id = $1 and user_id = $2",
        tenant as TenantId,
        user as UserId,
    )
    .fetch_optional(tx)
    .await
}

//! What callers may do by the tables, for everything that changes rights. Their tokens may be older than their rights.
//!
//! Rows are locked in one order: users, then tenants.

use auth::{Principal, Role};
use ids::TenantId;
use sqlx::PgConnection;

use crate::{error::Error, membership, scope, session, tenant, user};

/// Requires an administrator who can sign in. They remain one until the transaction ends.
///
/// # Errors
/// If the caller is none, or their session has ended.
pub(crate) async fn admin(tx: &mut PgConnection, caller: &Principal) -> Result<(), Error> {
    if is_admin(tx, caller).await? { Ok(()) } else { Err(Error::NotAnAdministrator) }
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
) -> Result<(), Error> {
    let admin = is_admin(tx, caller).await?;
    // with the tenant locked, roles no longer change
    tenant::lock(tx, tenant).await?.ok_or(Error::NotFound)?;
    if admin {
        return Ok(());
    }
    scope::tenant(tx, tenant).await?;
    let acts_for_it = caller.tenant.is_some_and(|(own, _)| own == tenant);
    let role = membership::role(tx, tenant, caller.user).await?.filter(|_| acts_for_it);
    match role.ok_or(Error::NotFound)? {
        Role::Owner => Ok(()),
        actual => Err(Error::RoleTooLow { required: Role::Owner, actual }),
    }
}

async fn is_admin(tx: &mut PgConnection, caller: &Principal) -> Result<bool, Error> {
    let user = user::lock_shared(tx, caller.user).await?.ok_or(Error::UserDeleted)?;
    if user.disabled {
        return Err(Error::UserDisabled);
    }
    scope::user(tx, caller.user).await?;
    let session = caller.session.ok_or(Error::SignedOut)?;
    if !session::is_open(tx, session).await? {
        return Err(Error::SignedOut);
    }
    Ok(caller.admin && user.admin)
}

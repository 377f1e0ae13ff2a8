//! Changes of users by administrators, each within the transaction of its request.

use api::{IfMatch, Problem, ProblemType};
use auth::{Principal, Role};
use ids::UserId;
use people::{
    authority, membership, revocation, scope, session, tenant,
    user::{self, User, store},
};
use sqlx::PgConnection;

use super::model::{NewUser, UserChange};

pub(super) async fn create(
    tx: &mut PgConnection,
    caller: &Principal,
    new: &NewUser,
    hash: &str,
) -> Result<User, Problem> {
    authority::admin(tx, caller).await?;
    store::insert(tx, &new.email, new.display_name(), new.admin, hash, true)
        .await?
        .ok_or_else(|| user::Error::EmailTaken.into())
}

/// Changes the user, and ends their sessions if the change requires it. `hash` is that of the new password.
pub(super) async fn update(
    tx: &mut PgConnection,
    caller: &Principal,
    id: UserId,
    if_match: &IfMatch,
    change: &UserChange,
    hash: Option<&str>,
) -> Result<User, api::Problem> {
    store::lock_admins(tx).await?;
    authority::admin(tx, caller).await?;
    let user = store::lock(tx, id).await?.ok_or_else(Problem::not_found)?;
    if_match.check(user.generation)?;
    if change.removes_admin() {
        check_admin_remains(tx, &user).await?;
    }
    let update = store::Update {
        display_name: change.display_name.as_deref(),
        admin: change.admin,
        disabled: change.disabled,
        password_hash: hash,
    };
    let changed = replace(tx, &user, &update).await?;
    match change.ends_sessions() {
        Some(reason) => session::end_all(tx, id, None, reason).await?,
        None if user.admin && !changed.admin => revocation::of_user(tx, id).await?,
        None => {}
    }
    Ok(changed)
}

/// Writes the change of a user that is locked.
pub(super) async fn replace(
    tx: &mut PgConnection,
    locked: &User,
    update: &store::Update<'_>,
) -> Result<User, Problem> {
    let user = store::update(tx, locked.id, locked.generation, update).await?;
    user.ok_or_else(|| Problem::internal("a locked user has changed"))
}

/// Deletes the user with memberships and sessions, unless a tenant or the platform would lose its last owner or
/// administrator.
pub(super) async fn delete(tx: &mut PgConnection, caller: &Principal, id: UserId) -> Result<(), Problem> {
    store::lock_admins(tx).await?;
    authority::admin(tx, caller).await?;
    let user = store::lock(tx, id).await?.ok_or_else(Problem::not_found)?;
    check_admin_remains(tx, &user).await?;
    scope::user(tx, id).await?;
    for membership in membership::of_user(tx, id).await? {
        tenant::lock(tx, membership.tenant.id).await?;
    }
    // read again: with the tenants locked, roles no longer change
    for membership in membership::of_user(tx, id).await? {
        let tenant = membership.tenant.id;
        if membership.role == Role::Owner {
            scope::tenant(tx, tenant).await?;
            if membership::count_owners(tx, tenant).await? == 1 {
                return Err(membership::Error::LastOwner(tenant).into());
            }
        }
    }
    store::delete(tx, id).await?;
    Ok(revocation::of_user(tx, id).await?)
}

async fn check_admin_remains(tx: &mut PgConnection, leaving: &User) -> Result<(), Problem> {
    if leaving.is_last_admin(store::count_admins(tx).await?) {
        let detail = "This is the only administrator who can sign in.";
        return Err(Problem::new(ProblemType::LastAdministrator, detail));
    }
    Ok(())
}

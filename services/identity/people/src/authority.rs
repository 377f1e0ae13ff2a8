//! Checks the rights of callers in the tables, for all changes of rights, because tokens may be older than the current
//! rights.
//!
//! Rows are locked in one order: users, then tenants.

use api::{Problem, ProblemType};
use auth::{Person, Principal, Role};
use ids::{SessionId, TenantId, UserId};
use jiff::SignedDuration;
use sqlx::PgConnection;

use crate::{clock::Clock, scope, user};

/// Reasons why a caller may not do something.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the session of the token has ended")]
    SignedOut,
    #[error("the caller is not an administrator")]
    NotAnAdministrator,
    #[error("the role {required:?} is required, the caller is {actual:?}")]
    RoleTooLow { required: Role, actual: Role },
    #[error("an API key makes and changes no owners")]
    OwnerByApiKey,
    #[error("the sign-in is more than {within} s ago")]
    SignInTooOld { within: u32 },
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::SignedOut => Self::unauthenticated("The session of this token has ended; sign in again."),
            Error::NotAnAdministrator => Self::forbidden("Only platform administrators may do this."),
            Error::RoleTooLow { required, actual } => Self::forbidden(format!(
                "This needs the role {required:?} in the tenant; yours is {actual:?}."
            )),
            Error::OwnerByApiKey => Self::new(
                ProblemType::PersonRequired,
                "Only a person who has signed in can add, change and remove owners. API keys cannot.",
            ),
            Error::SignInTooOld { within } => Self::new(
                ProblemType::RecentSignInRequired,
                format!("Sign-in methods can be changed only within {within} s after signing in."),
            )
            .with("within_seconds", within),
        }
    }
}

/// Requires an administrator who can sign in. They remain one until the transaction ends.
///
/// # Errors
/// If the caller is none, or their session has ended.
pub async fn admin(tx: &mut PgConnection, caller: &Principal) -> Result<(), Problem> {
    if is_admin(tx, caller).await? { Ok(()) } else { Err(Error::NotAnAdministrator.into()) }
}

/// Requires a user who can sign in, and sets the transaction's scope to them.
///
/// # Errors
/// If the user is disabled or deleted, or their session has ended.
pub async fn signed_in(tx: &mut PgConnection, caller: &Principal) -> Result<(), Problem> {
    is_admin(tx, caller).await.map(drop)
}

/// How long after a sign-in a person may change how they sign in.
#[derive(Debug, Clone, Copy)]
pub struct RecentSignIn {
    pub within_seconds: u32,
    pub clock: Clock,
}

impl RecentSignIn {
    /// Like [`signed_in`], and requires a recent sign-in: an open session alone must not allow taking over
    /// the account.
    ///
    /// # Errors
    /// As [`signed_in`], and if the sign-in is too long ago.
    pub async fn require(self, tx: &mut PgConnection, person: &Person) -> Result<(), Problem> {
        signed_in(tx, &person.principal).await?;
        let within = self.within_seconds;
        let since = self.clock.now() - SignedDuration::from_secs(within.into());
        let is_recent = sqlx::query_scalar!(
            "select exists(select from sessions where id = $1 and created_at >= $2) as \"exists!\"",
            person.session as SessionId,
            jiff_sqlx::Timestamp::from(since),
        )
        .fetch_one(tx)
        .await?;
        if is_recent { Ok(()) } else { Err(Error::SignInTooOld { within }.into()) }
    }
}

/// Requires that no API key adds or removes an owner, because owners have all rights in the tenant, without a time
/// limit.
///
/// # Errors
/// If one of the roles is that of an owner, and the caller an API key.
pub fn owner_by_person(caller: &Principal, roles: &[Role]) -> Result<(), Problem> {
    if roles.contains(&Role::Owner) && caller.api_key.is_some() {
        return Err(Error::OwnerByApiKey.into());
    }
    Ok(())
}

/// The right by which a caller manages a tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manager {
    Administrator,
    Owner,
}

/// Requires an administrator, or an owner of the tenant, and locks the tenant. Their rights do not change until the
/// transaction ends.
///
/// # Errors
/// If the tenant does not exist or the caller may not see it, the caller is not an owner, or their session has ended.
pub async fn manager(
    tx: &mut PgConnection,
    caller: &Principal,
    tenant: TenantId,
) -> Result<Manager, Problem> {
    let admin = is_admin(tx, caller).await?;
    // with the tenant locked, roles no longer change
    lock_tenant(tx, tenant).await?;
    if admin {
        return Ok(Manager::Administrator);
    }
    let acts_for_it = caller.tenant.is_some_and(|(own, _)| own == tenant);
    let role = role(tx, tenant, caller.user).await?.filter(|_| acts_for_it);
    match role.ok_or_else(Problem::not_found)? {
        Role::Owner => Ok(Manager::Owner),
        actual => Err(Error::RoleTooLow { required: Role::Owner, actual }.into()),
    }
}

/// Requires a member of the tenant, regardless of the tenant for which the caller acts, and locks the tenant.
/// They remain one until the transaction ends.
///
/// # Errors
/// If the tenant does not exist or the caller is not a member of it, or their session has ended.
pub async fn member(tx: &mut PgConnection, caller: &Principal, tenant: TenantId) -> Result<(), Problem> {
    signed_in(tx, caller).await?;
    lock_tenant(tx, tenant).await?;
    role(tx, tenant, caller.user).await?.map(drop).ok_or_else(Problem::not_found)
}

/// Locks the tenant, sets the transaction's scope to it, and returns whether the user could manage it now, if they
/// signed in.
///
/// # Errors
/// If the tenant does not exist.
pub async fn lock_if_managed_by(
    tx: &mut PgConnection,
    user: UserId,
    tenant: TenantId,
) -> Result<bool, Problem> {
    let account = sqlx::query!("select admin, disabled from users where id = $1 for share", user as UserId)
        .fetch_optional(&mut *tx)
        .await?;
    lock_tenant(tx, tenant).await?;
    let role = role(tx, tenant, user).await?;
    Ok(account.is_some_and(|user| !user.disabled && (user.admin || role == Some(Role::Owner))))
}

async fn is_admin(tx: &mut PgConnection, caller: &Principal) -> Result<bool, Problem> {
    let session = caller.session.ok_or(Error::SignedOut)?;
    scope::user(tx, caller.user).await?;
    let account =
        sqlx::query!("select admin, disabled from users where id = $1 for share", caller.user as UserId,)
            .fetch_optional(&mut *tx)
            .await?
            .ok_or(user::Error::Deleted)?;
    if account.disabled {
        return Err(user::Error::Disabled.into());
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
        return Err(Error::SignedOut.into());
    }
    Ok(caller.admin && account.admin)
}

async fn lock_tenant(tx: &mut PgConnection, tenant: TenantId) -> Result<(), Problem> {
    let found = sqlx::query_scalar!("select id from tenants where id = $1 for update", tenant as TenantId)
        .fetch_optional(tx)
        .await?;
    found.map(drop).ok_or_else(Problem::not_found)
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

//! The rights that a new access token grants.

use auth::Role;
use ids::{TenantId, UserId};
use jiff::Timestamp;
use sqlx::PgConnection;

use super::{model::choose, store};
use crate::{
    error::Error,
    membership::{self, Membership},
    tenant,
    user::{self, User},
};

/// A user, as of a time. The user does not change until the transaction ends.
pub(crate) struct Holder {
    pub(crate) user: User,
    /// Any revocation of what is read from now on is later.
    pub(crate) issued_at: Timestamp,
}

impl Holder {
    /// Returns the user; none if deleted.
    pub(crate) async fn find(tx: &mut PgConnection, id: UserId) -> sqlx::Result<Option<Self>> {
        let issued_at = store::clock(tx).await?;
        Ok(user::lock_shared(tx, id).await?.map(|user| Self { user, issued_at }))
    }
}

/// Returns the membership to act for. It does not change until the transaction ends. The transaction must be in the
/// scope of the user.
///
/// # Errors
/// As [`choose`].
pub(crate) async fn membership(
    tx: &mut PgConnection,
    user: UserId,
    requested: Option<TenantId>,
) -> Result<Option<Membership>, Error> {
    let Some(found) = choose(membership::of_user(tx, user).await?, requested)? else { return Ok(None) };
    tenant::lock_shared(tx, found.tenant.id).await?;
    choose(membership::of_user(tx, user).await?, Some(found.tenant.id))
}

/// Returns the user's role in a tenant, and a time before any revocation of it; none if a token for it would not be
/// issued.
pub(crate) async fn rights_in(
    tx: &mut PgConnection,
    tenant: TenantId,
    user: UserId,
) -> Result<Option<(Role, Timestamp)>, Error> {
    let Some(holder) = Holder::find(tx, user).await?.filter(|holder| !holder.user.disabled) else {
        return Ok(None);
    };
    match membership(tx, user, Some(tenant)).await {
        Ok(found) => Ok(found.map(|found| (found.role, holder.issued_at))),
        Err(Error::Database(error)) => Err(error.into()),
        // neither member nor active
        Err(_) => Ok(None),
    }
}

//! Creation and deletion, each within the transaction of its request.

use auth::{Principal, Role, session_of};
use ids::ApiKeyId;
use sqlx::PgConnection;

use super::{
    model::{ApiKey, MAX_KEYS, NewApiKey},
    store,
};
use crate::{authority, error::Error, revocation, scope};

/// Adds a key for the caller, in the tenant for which the caller acts.
pub(super) async fn create(
    tx: &mut PgConnection,
    caller: &Principal,
    new: &NewApiKey,
    secret: &auth::ApiKey,
) -> Result<ApiKey, Error> {
    authority::signed_in(tx, caller).await?;
    new.check_granted_by(caller)?;
    store::lock_keys_of(tx, caller.user).await?;
    if store::count(tx, caller.user).await? >= MAX_KEYS {
        return Err(Error::TooManyApiKeys { most: MAX_KEYS });
    }
    store::insert(tx, caller, new, secret).await.map_err(|error| match error {
        sqlx::Error::Database(cause) if cause.is_foreign_key_violation() => Error::NotAMember,
        other => other.into(),
    })
}

/// Deletes a key of the caller, or, for owners, of their tenant.
pub(super) async fn delete(tx: &mut PgConnection, caller: &Principal, id: ApiKeyId) -> Result<(), Error> {
    authority::signed_in(tx, caller).await?;
    let tenant = caller.tenant.map(|(tenant, _)| tenant);
    if !store::delete(tx, tenant, Some(caller.user), id).await? {
        let Some((tenant, Role::Owner)) = caller.tenant else { return Err(Error::NotFound) };
        authority::manager(tx, caller, tenant).await?;
        scope::tenant(tx, tenant).await?;
        if !store::delete(tx, Some(tenant), None, id).await? {
            return Err(Error::NotFound);
        }
    }
    Ok(revocation::of_session(tx, session_of(id)).await?)
}

//! Creation and deletion, each within the transaction of its request.

use api::Problem;
use auth::{Principal, Role, session_of};
use ids::ApiKeyId;
use jiff::Timestamp;
use people::{access, authority, revocation, scope};
use sqlx::PgConnection;

use super::{
    Error,
    model::{ApiKey, MAX_KEYS, NewApiKey},
    store,
};

/// Adds a key for the caller, in the tenant for which the caller acts.
pub(super) async fn create(
    tx: &mut PgConnection,
    caller: &Principal,
    new: &NewApiKey,
    secret: &auth::ApiKey,
    now: Timestamp,
) -> Result<ApiKey, Problem> {
    authority::signed_in(tx, caller).await?;
    new.check_granted_by(caller)?;
    // also keeps the key of the caller, if the caller is one
    store::lock_keys_of(tx, caller.user).await?;
    let limited = match caller.api_key {
        Some(id) => Some(new.within(&own_key(tx, caller, id).await?, now)?),
        None => None,
    };
    let new = limited.as_ref().unwrap_or(new);
    if store::count(tx, caller.user).await? >= MAX_KEYS {
        return Err(Error::TooMany { limit: MAX_KEYS }.into());
    }
    store::insert(tx, caller, new, secret).await.map_err(|error| match error {
        sqlx::Error::Database(cause) if cause.is_foreign_key_violation() => {
            access::NoAccess::NotAMember.into()
        }
        other => other.into(),
    })
}

/// Deletes a key of the caller, or, for owners, of their tenant, with the keys that were created with it.
pub(super) async fn delete(tx: &mut PgConnection, caller: &Principal, id: ApiKeyId) -> Result<(), Problem> {
    authority::signed_in(tx, caller).await?;
    let tenant = caller.tenant.map(|(tenant, _)| tenant);
    let key = match store::find(tx, tenant, Some(caller.user), id).await? {
        Some(key) => key,
        None => {
            let Some((tenant, Role::Owner)) = caller.tenant else { return Err(Problem::not_found()) };
            authority::manager(tx, caller, tenant).await?;
            scope::tenant(tx, tenant).await?;
            store::find(tx, Some(tenant), None, id).await?.ok_or_else(Problem::not_found)?
        }
    };
    // no key is created meanwhile
    store::lock_keys_of(tx, key.user_id).await?;
    let descendants = store::descendants(tx, id).await?;
    if !store::delete(tx, key.tenant_id, Some(key.user_id), id).await? {
        return Err(Problem::not_found());
    }
    for ended in descendants.into_iter().chain([id]) {
        revocation::of_session(tx, session_of(ended)).await?;
    }
    Ok(())
}

/// The API key of the caller.
async fn own_key(tx: &mut PgConnection, caller: &Principal, id: ApiKeyId) -> Result<ApiKey, Problem> {
    let tenant = caller.tenant.map(|(tenant, _)| tenant);
    store::find(tx, tenant, Some(caller.user), id).await?.ok_or_else(|| authority::Error::SignedOut.into())
}

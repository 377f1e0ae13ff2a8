//! Changes of the factor, each within the transaction of its request.

use auth::{Person, Principal};
use ids::UserId;
use sqlx::PgConnection;

use super::{check, model, store};
use crate::{authority, error::Error, scope, state::AppState};

/// Stores a new secret, which requires no codes yet.
pub(super) async fn enrol(
    state: &AppState,
    tx: &mut PgConnection,
    caller: &Person,
    secret: &[u8],
) -> Result<(), Error> {
    authority::signed_in_recently(state, tx, caller).await?;
    let user = caller.principal.user;
    let encrypted = state.cipher.encrypt(secret, &check::context(user))?;
    if store::put(tx, user, &encrypted).await? { Ok(()) } else { Err(Error::TotpEnabled) }
}

/// Requires codes from now on, if the first one is right. `codes` are the recovery codes.
pub(super) async fn confirm(
    state: &AppState,
    tx: &mut PgConnection,
    caller: &Principal,
    code: &str,
    codes: &[String],
) -> Result<(), Error> {
    authority::signed_in(tx, caller).await?;
    let factor = store::find(tx, caller.user).await?.ok_or(Error::NotFound)?;
    if factor.confirmed_at.is_some() {
        return Err(Error::TotpEnabled);
    }
    if !check::use_code(state, tx, &factor, code).await? {
        return Err(wrong());
    }
    store::confirm(tx, caller.user).await?;
    let hashes: Vec<_> = codes.iter().filter_map(|code| model::recovery_hash(code)).collect();
    Ok(store::add_recovery_codes(tx, caller.user, &hashes).await?)
}

/// Removes the caller's own factor with a code of it.
pub(super) async fn remove(
    state: &AppState,
    tx: &mut PgConnection,
    caller: &Principal,
    code: &str,
) -> Result<(), Error> {
    authority::signed_in(tx, caller).await?;
    let factor = store::find(tx, caller.user).await?.ok_or(Error::NotFound)?;
    if factor.confirmed_at.is_some() && !check::use_code(state, tx, &factor, code).await? {
        return Err(wrong());
    }
    store::delete(tx, caller.user).await.map(drop).map_err(Error::from)
}

/// Removes the factor of a user who has lost the device and the recovery codes.
pub(super) async fn reset(tx: &mut PgConnection, caller: &Principal, user: UserId) -> Result<(), Error> {
    authority::admin(tx, caller).await?;
    scope::user(tx, user).await?;
    if store::delete(tx, user).await? { Ok(()) } else { Err(Error::NotFound) }
}

/// The code is wrong, or was used before.
pub(super) fn wrong() -> Error {
    Error::invalid("/code", "is not a code of now, or was used before")
}

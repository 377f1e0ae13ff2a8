//! Changes of passkeys, each within the transaction of its request.

use api::{IfMatch, Problem};
use auth::{Person, Principal};
use ids::{PasskeyId, UserId};
use sqlx::PgConnection;

use super::{
    model::{CHALLENGE_LIFETIME, MAX_PASSKEYS, NewPasskey, Passkey, PasskeyChallenge},
    relying_party::{RelyingParty, answered},
    store,
};
use crate::{authority, error::Error, scope, state::AppState, user};

/// Begins a registration, which only the caller's session can finish.
pub(super) async fn begin(
    state: &AppState,
    tx: &mut PgConnection,
    caller: &Person,
    relying_party: &RelyingParty,
) -> Result<PasskeyChallenge, Error> {
    authority::signed_in_recently(state, tx, caller).await?;
    let id = caller.principal.user;
    let known = store::credential_ids(tx, id).await?;
    check_count(known.len())?;
    let user = user::find(tx, id).await?.ok_or(Error::UserDeleted)?;
    let challenge = relying_party.begin_registration(&user, known)?;
    let expires_at = state.now() + CHALLENGE_LIFETIME;
    store::put_registration(tx, id, caller.session, &challenge, expires_at).await?;
    Ok(PasskeyChallenge { public_key: challenge.options, expires_at })
}

/// Adds the passkey that answers the challenge of the caller's session.
pub(super) async fn create(
    state: &AppState,
    tx: &mut PgConnection,
    Person { principal: caller, session }: &Person,
    relying_party: &RelyingParty,
    new: &NewPasskey,
) -> Result<Passkey, Error> {
    authority::signed_in(tx, caller).await?;
    let hash = answered(&new.credential.response.client_data_json);
    let hash = hash.ok_or_else(|| refused("has no challenge"))?;
    let kept = store::take_registration(tx, caller.user, *session, &hash, state.now()).await?;
    let kept = kept.ok_or_else(|| {
        refused("answers no challenge of this session, or one that has expired or was answered before")
    })?;
    let passkey = relying_party.finish_registration(&new.credential, kept).map_err(|error| {
        tracing::info!(user.id = %caller.user, error = format!("{error:#}"), "passkey refused");
        refused("is not valid for this platform")
    })?;
    user::lock_ways_to_sign_in(tx, caller.user).await?;
    check_count(store::credential_ids(tx, caller.user).await?.len())?;
    let created = store::insert(tx, caller.user, &new.name, &passkey).await?;
    created.ok_or_else(|| refused("is registered already"))
}

pub(super) async fn rename(
    tx: &mut PgConnection,
    caller: &Principal,
    id: PasskeyId,
    if_match: &IfMatch,
    name: &str,
) -> Result<Passkey, Problem> {
    authority::signed_in(tx, caller).await?;
    let passkey = store::find(tx, caller.user, id).await?.ok_or(Error::NotFound)?;
    if_match.check(passkey.generation)?;
    let renamed = store::rename(tx, caller.user, id, passkey.generation, name).await?;
    // renamed or deleted by a concurrent request
    Ok(renamed.ok_or(Error::ChangedMeanwhile)?)
}

/// Deletes a passkey of the caller, who can sign in without it.
pub(super) async fn delete(
    state: &AppState,
    tx: &mut PgConnection,
    caller: &Person,
    id: PasskeyId,
) -> Result<(), Error> {
    authority::signed_in_recently(state, tx, caller).await?;
    let user = caller.principal.user;
    user::lock_ways_to_sign_in(tx, user).await?;
    if !store::delete(tx, user, id).await? {
        return Err(Error::NotFound);
    }
    user::check_can_sign_in(state, tx, user).await
}

/// Deletes all passkeys of a user who has lost them.
pub(super) async fn reset(tx: &mut PgConnection, caller: &Principal, user: UserId) -> Result<(), Error> {
    authority::admin(tx, caller).await?;
    user::find(tx, user).await?.ok_or(Error::NotFound)?;
    scope::user(tx, user).await?;
    Ok(store::delete_all(tx, user).await?)
}

fn check_count(passkeys: usize) -> Result<(), Error> {
    if i64::try_from(passkeys).unwrap_or(i64::MAX) < MAX_PASSKEYS {
        return Ok(());
    }
    Err(Error::TooManyPasskeys { most: MAX_PASSKEYS })
}

fn refused(detail: &str) -> Error {
    Error::invalid("/credential", detail)
}

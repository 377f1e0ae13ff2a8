//! Changes of passkeys, each within the transaction of its request.

use api::{IfMatch, Problem};
use auth::{Person, Principal};
use ids::{PasskeyId, UserId};
use people::{
    authority::{self, RecentSignIn},
    clock::Clock,
    scope, user,
};
use sqlx::PgConnection;

use super::{
    Error,
    model::{CHALLENGE_LIFETIME, MAX_PASSKEYS, NewPasskey, Passkey, PasskeyChallenge},
    relying_party::{RelyingParty, answered},
    store,
};
use crate::sign_in_method::{self, SignInMethods};

/// Begins a registration, which only the caller's session can finish.
pub(super) async fn begin(
    tx: &mut PgConnection,
    caller: &Person,
    relying_party: &RelyingParty,
    recent: RecentSignIn,
) -> Result<PasskeyChallenge, Problem> {
    recent.require(tx, caller).await?;
    let id = caller.principal.user;
    let known = store::credential_ids(tx, id).await?;
    check_count(known.len())?;
    let user = user::find(tx, id).await?.ok_or(user::Error::Deleted)?;
    let challenge = relying_party.begin_registration(&user, known).map_err(Problem::internal)?;
    let expires_at = recent.clock.now() + CHALLENGE_LIFETIME;
    store::put_registration(tx, id, caller.session, &challenge, expires_at).await?;
    Ok(PasskeyChallenge { public_key: challenge.options, expires_at })
}

/// Adds the passkey that answers the challenge of the caller's session.
pub(super) async fn create(
    clock: Clock,
    tx: &mut PgConnection,
    Person { principal: caller, session }: &Person,
    relying_party: &RelyingParty,
    new: &NewPasskey,
) -> Result<Passkey, Problem> {
    authority::signed_in(tx, caller).await?;
    let hash = answered(&new.credential.response.client_data_json);
    let hash = hash.ok_or_else(|| refused("has no challenge"))?;
    let kept = store::take_registration(tx, caller.user, *session, &hash, clock.now()).await?;
    let kept = kept.ok_or_else(|| {
        refused("answers no challenge of this session, or one that has expired or was answered before")
    })?;
    let passkey = relying_party.finish_registration(&new.credential, kept).map_err(|error| {
        tracing::info!(user.id = %caller.user, error = format!("{error:#}"), "passkey refused");
        refused("is not valid for this platform")
    })?;
    sign_in_method::lock(tx, caller.user).await?;
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
    let passkey = store::find(tx, caller.user, id).await?.ok_or_else(Problem::not_found)?;
    if_match.check(passkey.generation)?;
    let renamed = store::rename(tx, caller.user, id, passkey.generation, name).await?;
    // renamed or deleted by a concurrent request
    Ok(renamed.ok_or(Error::ChangedMeanwhile)?)
}

/// Deletes a passkey of the caller, who must be able to sign in without it.
pub(super) async fn delete(
    methods: &SignInMethods,
    recent: RecentSignIn,
    tx: &mut PgConnection,
    caller: &Person,
    id: PasskeyId,
) -> Result<(), Problem> {
    recent.require(tx, caller).await?;
    let user = caller.principal.user;
    sign_in_method::lock(tx, user).await?;
    if !store::delete(tx, user, id).await? {
        return Err(Problem::not_found());
    }
    methods.check_one_remains(tx, user).await
}

/// Deletes all passkeys of a user who has lost them.
pub(super) async fn reset(tx: &mut PgConnection, caller: &Principal, user: UserId) -> Result<(), Problem> {
    authority::admin(tx, caller).await?;
    user::find(tx, user).await?.ok_or_else(Problem::not_found)?;
    scope::user(tx, user).await?;
    Ok(store::delete_all(tx, user).await?)
}

fn check_count(passkeys: usize) -> Result<(), Problem> {
    if i64::try_from(passkeys).unwrap_or(i64::MAX) < MAX_PASSKEYS {
        return Ok(());
    }
    Err(Error::TooMany { limit: MAX_PASSKEYS }.into())
}

fn refused(detail: &str) -> Problem {
    Problem::invalid_field("/credential", detail)
}

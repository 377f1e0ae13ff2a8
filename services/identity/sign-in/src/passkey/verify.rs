//! The check of a passkey at sign-in.

use api::Problem;
use ids::UserId;
use people::scope;
use serde_json::Value;
use sqlx::PgConnection;

use super::{
    Passkeys,
    model::Assertion,
    relying_party::{RelyingParty, answered, user_of},
    store,
};
use crate::totp::SecondFactor;

/// Uses up the challenge that the assertion answers, whatever the result of the sign-in. Returns its state; none if it
/// is unknown or has expired.
pub(super) async fn take_challenge(
    passkeys: &Passkeys,
    assertion: &Assertion,
) -> Result<Option<Value>, Problem> {
    let Some(hash) = answered(&assertion.response.client_data_json) else { return Ok(None) };
    let mut tx = passkeys.db.platform().await?;
    scope::passkey_challenge(&mut tx, &hash).await?;
    let kept = store::take_sign_in(&mut tx, &hash, passkeys.clock.now()).await?;
    tx.commit().await?;
    Ok(kept)
}

/// Checks the assertion of a passkey of the user whom it names, and records the use. Sets the transaction's scope to them.
/// Returns none, and logs why, if it is not valid.
pub(super) async fn verify(
    tx: &mut PgConnection,
    relying_party: &RelyingParty,
    assertion: &Assertion,
    kept: Value,
) -> Result<Option<UserId>, Problem> {
    let Some(user) = user_of(assertion) else { return Ok(None) };
    scope::user(tx, user).await?;
    let Some(stored) = store::lock(tx, user, assertion.get_credential_id()).await? else {
        tracing::info!(user.id = %user, "sign-in with an unknown passkey");
        return Ok(None);
    };
    let mut passkey = stored.credential.0;
    let changed = match relying_party.finish_sign_in(assertion, kept, &mut passkey) {
        Ok(changed) => changed,
        Err(error) => {
            // a counter that does not increase indicates a copied passkey
            tracing::warn!(user.id = %user, passkey.id = %stored.id, error = format!("{error:#}"), "passkey refused");
            return Ok(None);
        }
    };
    store::record_use(tx, stored.id, changed.then_some(&passkey)).await?;
    Ok(Some(user))
}

/// Checks a passkey instead of a code, after the user has given the right password.
///
/// # Errors
/// If passkeys are not configured.
pub async fn check_second_factor(
    passkeys: &Passkeys,
    user: UserId,
    assertion: &Assertion,
) -> Result<SecondFactor, Problem> {
    let relying_party = passkeys.relying_party()?;
    let Some(kept) = take_challenge(passkeys, assertion).await? else { return Ok(SecondFactor::Wrong) };
    if user_of(assertion) != Some(user) {
        return Ok(SecondFactor::Wrong);
    }
    let mut tx = passkeys.db.platform().await?;
    let verified = verify(&mut tx, relying_party, assertion, kept).await?;
    tx.commit().await?;
    Ok(if verified.is_some() { SecondFactor::Passed } else { SecondFactor::Wrong })
}

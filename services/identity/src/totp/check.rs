//! The check of a code at sign-in, and before changes of the factor.

use ids::UserId;
use sqlx::PgConnection;

use super::{model, store};
use crate::{error::Error, state::AppState};

/// Whether a user has shown the second factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SecondFactor {
    /// The user has none, or the code is right. It is not accepted again.
    Passed,
    /// A code is required, and none was given.
    Missing,
    /// The code is wrong, or was used before.
    Wrong,
}

/// Checks the code of a user who has given the right password. A right code is used up, whatever comes of the sign-in.
///
/// # Errors
/// If the stored secret cannot be decrypted.
pub(crate) async fn check(state: &AppState, user: UserId, code: Option<&str>) -> Result<SecondFactor, Error> {
    let mut tx = state.db.user(user).await?;
    let Some(factor) = store::find(&mut tx, user).await?.filter(|factor| factor.confirmed_at.is_some())
    else {
        return Ok(SecondFactor::Passed);
    };
    let Some(code) = code else { return Ok(SecondFactor::Missing) };
    let right = use_code(state, &mut tx, &factor, code).await?;
    tx.commit().await?;
    Ok(if right { SecondFactor::Passed } else { SecondFactor::Wrong })
}

/// Uses a code of the app or a recovery code up. Returns whether it is right.
pub(super) async fn use_code(
    state: &AppState,
    tx: &mut PgConnection,
    factor: &store::Factor,
    code: &str,
) -> Result<bool, Error> {
    let secret = state.cipher.decrypt(&factor.secret, &context(factor.user))?;
    match (model::step_of(&secret, code, state.now()), model::recovery_hash(code)) {
        (Some(step), _) => Ok(store::use_step(tx, factor.user, step).await?),
        (None, Some(hash)) => Ok(store::use_recovery_code(tx, factor.user, &hash).await?),
        (None, None) => Ok(false),
    }
}

/// What a secret is encrypted with besides the key, so that it belongs to its user alone.
pub(super) fn context(user: UserId) -> String {
    format!("totp {user}")
}

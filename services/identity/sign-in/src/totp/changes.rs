//! Changes of the factor, each within the transaction of its request.

use api::{Problem, ProblemType};
use auth::{Person, Principal};
use ids::UserId;
use people::{
    authority::{self, RecentSignIn},
    scope,
};
use sqlx::PgConnection;

use super::{SecondFactors, check, model, store};

/// Stores a new secret, which requires no codes yet.
pub(super) async fn enrol(
    factors: &SecondFactors,
    recent: RecentSignIn,
    tx: &mut PgConnection,
    caller: &Person,
    secret: &[u8],
) -> Result<(), Problem> {
    recent.require(tx, caller).await?;
    let user = caller.principal.user;
    let encrypted = factors.cipher.encrypt(secret, &check::context(user)).map_err(Problem::internal)?;
    if store::put(tx, user, &encrypted).await? { Ok(()) } else { Err(enabled()) }
}

/// Requires codes from now on, if the first one is right. `codes` are the recovery codes.
pub(super) async fn confirm(
    factors: &SecondFactors,
    tx: &mut PgConnection,
    caller: &Principal,
    code: &str,
    codes: &[String],
) -> Result<(), Problem> {
    authority::signed_in(tx, caller).await?;
    let factor = store::find(tx, caller.user).await?.ok_or_else(Problem::not_found)?;
    if factor.confirmed_at.is_some() {
        return Err(enabled());
    }
    if !factors.use_code(tx, &factor, code).await? {
        return Err(wrong());
    }
    store::confirm(tx, caller.user).await?;
    let hashes: Vec<_> = codes.iter().filter_map(|code| model::recovery_hash(code)).collect();
    Ok(store::add_recovery_codes(tx, caller.user, &hashes).await?)
}

/// Removes the caller's own factor with a code of it.
pub(super) async fn remove(
    factors: &SecondFactors,
    tx: &mut PgConnection,
    caller: &Principal,
    code: &str,
) -> Result<(), Problem> {
    authority::signed_in(tx, caller).await?;
    let factor = store::find(tx, caller.user).await?.ok_or_else(Problem::not_found)?;
    if factor.confirmed_at.is_some() && !factors.use_code(tx, &factor, code).await? {
        return Err(wrong());
    }
    store::delete(tx, caller.user).await.map(drop).map_err(Problem::from)
}

/// Removes the factor of a user who has lost the device and the recovery codes.
pub(super) async fn reset(tx: &mut PgConnection, caller: &Principal, user: UserId) -> Result<(), Problem> {
    authority::admin(tx, caller).await?;
    scope::user(tx, user).await?;
    if store::delete(tx, user).await? { Ok(()) } else { Err(Problem::not_found()) }
}

/// Codes are required already.
fn enabled() -> Problem {
    Problem::new(ProblemType::TotpEnabled, "Your sign-in already requires codes.")
}

/// The code is wrong, or was used before.
pub(super) fn wrong() -> Problem {
    Problem::invalid_field("/code", "is not a code of now, or was used before")
}

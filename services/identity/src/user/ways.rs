//! The ways in which a user can sign in: the password, passkeys, accounts of providers. One must remain.

use ids::UserId;
use sqlx::PgConnection;

use super::store;
use crate::{error::Error, state::AppState};

/// What a user has to sign in with.
#[derive(Debug, Clone)]
pub(super) struct Ways {
    /// Whether the user knows the password. That of a user whom a provider's sign-in has created is random.
    pub(super) has_password: bool,
    pub(super) passkeys: i64,
    /// Issuers of the accounts at providers.
    pub(super) issuers: Vec<String>,
}

impl Ways {
    fn suffice(&self, passkeys_are_configured: bool, is_configured: impl Fn(&str) -> bool) -> bool {
        self.has_password
            || self.issuers.iter().any(|issuer| is_configured(issuer))
            || passkeys_are_configured && self.passkeys > 0
    }
}

/// Checks that the user has a way to sign in, after one has been removed in the transaction. It must be in the scope of the
/// user, and hold [`store::lock_ways_to_sign_in`].
///
/// # Errors
/// If none is left.
pub(crate) async fn check_can_sign_in(
    state: &AppState,
    tx: &mut PgConnection,
    user: UserId,
) -> Result<(), Error> {
    let ways = store::ways_to_sign_in(tx, user).await?.ok_or(Error::UserDeleted)?;
    let is_configured = |issuer: &str| state.oidc.has_accounts_of(issuer);
    match ways.suffice(state.relying_party().is_ok(), is_configured) {
        true => Ok(()),
        false => Err(Error::LastSignInMethod),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_way_suffices() {
        let ways = |has_password, passkeys, issuers: &[&str]| {
            let issuers = issuers.iter().map(|issuer| (*issuer).to_owned()).collect();
            Ways { has_password, passkeys, issuers }
        };
        for (ways, configured, expected) in [
            (ways(true, 0, &[]), false, true),
            (ways(false, 0, &["old", "corp"]), false, true),
            (ways(false, 0, &["old"]), false, false),
            (ways(false, 1, &[]), true, true),
            (ways(false, 1, &[]), false, false),
            (ways(false, 0, &[]), true, false),
        ] {
            assert_eq!(ways.suffice(configured, |issuer| issuer == "corp"), expected, "{ways:?}");
        }
    }
}

//! The ways in which a user can sign in: the password, passkeys, accounts of providers. One must remain.

use ids::UserId;
use sqlx::PgConnection;

use super::store;
use crate::{error::Error, state::AppState};

/// What a user has to sign in with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ways {
    /// Whether the user knows the password. That of a user whom a provider's sign-in has created is random.
    pub(super) has_password: bool,
    pub(super) passkeys: i64,
    /// Accounts of providers that are configured.
    pub(super) accounts: i64,
}

impl Ways {
    fn suffice(self, passkeys_are_configured: bool) -> bool {
        self.has_password || self.accounts > 0 || passkeys_are_configured && self.passkeys > 0
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
    let issuers: Vec<String> = state.oidc.iter().map(|provider| provider.issuer.clone()).collect();
    let ways = store::ways_to_sign_in(tx, user, &issuers).await?.ok_or(Error::UserDeleted)?;
    if ways.suffice(state.relying_party().is_ok()) { Ok(()) } else { Err(Error::LastSignInMethod) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_way_suffices() {
        let ways = |has_password, passkeys, accounts| Ways { has_password, passkeys, accounts };
        for (ways, configured, expected) in [
            (ways(true, 0, 0), false, true),
            (ways(false, 0, 1), false, true),
            (ways(false, 1, 0), true, true),
            (ways(false, 1, 0), false, false),
            (ways(false, 0, 0), true, false),
        ] {
            assert_eq!(ways.suffice(configured), expected, "{ways:?}");
        }
    }
}

//! The sign-in methods of a user: the password, passkeys, accounts of providers. One must remain.

mod store;

use std::sync::Arc;

use api::{Problem, ProblemType};
use ids::UserId;
use people::user;
use sqlx::PgConnection;

use crate::provider::Providers;

pub use store::lock;

/// The sign-in methods of a user.
#[derive(Debug, Clone)]
struct Methods {
    /// Whether the user knows the password. The password of a user created by a provider's sign-in is random.
    has_password: bool,
    passkeys: i64,
    /// Issuers of the accounts at providers.
    issuers: Vec<String>,
}

impl Methods {
    fn suffice(&self, passkeys_are_configured: bool, is_configured: impl Fn(&str) -> bool) -> bool {
        self.has_password
            || self.issuers.iter().any(|issuer| is_configured(issuer))
            || passkeys_are_configured && self.passkeys > 0
    }
}

/// Which methods are configured.
#[derive(Clone)]
pub struct SignInMethods {
    pub providers: Arc<Providers>,
    pub has_passkeys: bool,
}

impl SignInMethods {
    /// Checks that the user still has a sign-in method after one was removed in the transaction, which must
    /// be in the scope of the user and hold [`lock`].
    ///
    /// # Errors
    /// If none is left.
    pub async fn check_one_remains(&self, tx: &mut PgConnection, user: UserId) -> Result<(), Problem> {
        let methods = store::find(tx, user).await?.ok_or(user::Error::Deleted)?;
        let is_configured = |issuer: &str| self.providers.has_accounts_of(issuer);
        match methods.suffice(self.has_passkeys, is_configured) {
            true => Ok(()),
            false => Err(Problem::new(ProblemType::LastSignInMethod, "It is your only way to sign in.")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_method_suffices() {
        let methods = |has_password, passkeys, issuers: &[&str]| {
            let issuers = issuers.iter().map(|issuer| (*issuer).to_owned()).collect();
            Methods { has_password, passkeys, issuers }
        };
        for (methods, configured, expected) in [
            (methods(true, 0, &[]), false, true),
            (methods(false, 0, &["old", "corp"]), false, true),
            (methods(false, 0, &["old"]), false, false),
            (methods(false, 1, &[]), true, true),
            (methods(false, 1, &[]), false, false),
            (methods(false, 0, &[]), true, false),
        ] {
            assert_eq!(methods.suffice(configured, |issuer| issuer == "corp"), expected, "{methods:?}");
        }
    }
}

//! The check of a code at sign-in, and before changes of the factor.

use std::sync::Arc;

use api::Problem;
use db::Db;
use encryption::Cipher;
use ids::UserId;
use people::clock::Clock;
use sqlx::PgConnection;

use super::{model, store};

/// Whether a user has shown the second factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecondFactor {
    /// The user has none, or the code is right. It is not accepted again.
    Passed,
    /// A code is required, and none was given.
    Missing,
    /// The code is wrong, or was used before.
    Wrong,
}

/// What checking second factors needs.
#[derive(Clone)]
pub struct SecondFactors {
    pub db: Db,
    pub clock: Clock,
    pub cipher: Arc<Cipher>,
}

impl SecondFactors {
    /// Checks the code of a user who has given the right password. A correct code is used up, regardless of
    /// the result of the sign-in.
    ///
    /// # Errors
    /// If the stored secret cannot be decrypted.
    pub async fn check(&self, user: UserId, code: Option<&str>) -> Result<SecondFactor, Problem> {
        let mut tx = self.db.user(user).await?;
        let Some(factor) = store::find(&mut tx, user).await?.filter(|factor| factor.confirmed_at.is_some())
        else {
            return Ok(SecondFactor::Passed);
        };
        let Some(code) = code else { return Ok(SecondFactor::Missing) };
        let right = self.use_code(&mut tx, &factor, code).await?;
        tx.commit().await?;
        Ok(if right { SecondFactor::Passed } else { SecondFactor::Wrong })
    }

    /// Uses up a code of the app or a recovery code. Returns whether it is correct.
    pub(super) async fn use_code(
        &self,
        tx: &mut PgConnection,
        factor: &store::Factor,
        code: &str,
    ) -> Result<bool, Problem> {
        let secret = self.cipher.decrypt(&factor.secret, &context(factor.user)).map_err(Problem::internal)?;
        match (model::step_of(&secret, code, self.clock.now()), model::recovery_hash(code)) {
            (Some(step), _) => Ok(store::use_step(tx, factor.user, step).await?),
            (None, Some(hash)) => Ok(store::use_recovery_code(tx, factor.user, &hash).await?),
            (None, None) => Ok(false),
        }
    }
}

/// The context of the encryption, which binds a secret to its user.
pub(super) fn context(user: UserId) -> String {
    format!("totp {user}")
}

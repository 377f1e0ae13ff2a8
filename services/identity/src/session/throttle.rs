//! Guessing a password gets slower with each failure: by account name, whether or not there is such an
//! account, and counted in the database, so in all replicas together. By caller the gateway limits.

use api::{Problem, ProblemType};
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};

use super::store;
use crate::app::App;

/// As many failures in a row cost nothing.
const FREE: i32 = 5;
/// The longest wait.
const LONGEST: SignedDuration = SignedDuration::from_secs(60);
/// After this long without a failure all is forgotten.
const FORGET: SignedDuration = SignedDuration::from_mins(15);

/// How long an account rests after so many failures in a row.
fn rest_after(failures: i32) -> SignedDuration {
    match u32::try_from(failures - FREE) {
        Err(_) | Ok(0) => SignedDuration::ZERO,
        Ok(more) => SignedDuration::from_secs(1 << (more - 1).min(6)).min(LONGEST),
    }
}

/// One try at an account's password. It must be begun before the hash is computed and be told the end.
pub(crate) struct Guess {
    account: Vec<u8>,
}

impl Guess {
    /// # Errors
    /// 429 while the account rests.
    pub(crate) async fn begin(app: &App, email: &str) -> Result<Self, Problem> {
        let account = Sha256::digest(email.to_lowercase().as_bytes()).to_vec();
        let mut tx = app.db.platform().await?;
        let until = store::blocked_until(&mut tx, &account).await?;
        tx.commit().await?;
        let rest = until.map_or(SignedDuration::ZERO, |until| until.duration_since(Timestamp::now()));
        if rest.is_positive() {
            let seconds = rest.as_secs() + 1;
            return Err(Problem::new(
                ProblemType::TooManyAttempts,
                format!("Sign-in is locked for {seconds} s after several wrong passwords."),
            )
            .with("retry_after", seconds));
        }
        Ok(Self { account })
    }

    /// The password was wrong.
    ///
    /// # Errors
    /// The database's.
    pub(crate) async fn wrong(self, app: &App) -> Result<(), Problem> {
        let now = Timestamp::now();
        let mut tx = app.db.platform().await?;
        let failures = store::count_failure(&mut tx, &self.account, now, now - FORGET).await?;
        let rest = rest_after(failures);
        if rest.is_positive() {
            store::block(&mut tx, &self.account, now + rest).await?;
        }
        tx.commit().await?;
        Ok(())
    }

    /// The password was right.
    ///
    /// # Errors
    /// The database's.
    pub(crate) async fn right(self, app: &App) -> Result<(), Problem> {
        let mut tx = app.db.platform().await?;
        store::clear_failures(&mut tx, &self.account).await?;
        tx.commit().await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_doubles_up_to_a_minute() {
        let seconds: Vec<_> = (0..16).map(|n| rest_after(n).as_secs()).collect();
        assert_eq!(seconds, [0, 0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60]);
        assert_eq!(rest_after(i32::MAX).as_secs(), 60);
    }
}

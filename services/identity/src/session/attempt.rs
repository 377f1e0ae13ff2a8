//! Password attempts. Each failure makes the next attempt wait longer, whether or not the account exists. Failures are
//! counted by e-mail address in the database, so all replicas count together. The gateway limits by client.

use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};

use super::store;
use crate::{error::Error, state::AppState};

/// Failures in a row without a lock.
const FREE_FAILURES: i32 = 5;
const LONGEST_LOCK: SignedDuration = SignedDuration::from_secs(60);
/// Failures are forgotten after this time without another one.
const FORGET_AFTER: SignedDuration = SignedDuration::from_mins(15);

/// How long sign-in is locked after so many failures in a row.
fn lock_after(failures: i32) -> SignedDuration {
    match u32::try_from(failures - FREE_FAILURES) {
        Err(_) | Ok(0) => SignedDuration::ZERO,
        Ok(more) => SignedDuration::from_secs(1 << (more - 1).min(6)).min(LONGEST_LOCK),
    }
}

/// One attempt at an account's password. Begin it before the password is hashed, and record its result.
pub(crate) struct Attempt {
    account: Vec<u8>,
}

impl Attempt {
    /// # Errors
    /// If sign-in is locked for this account.
    pub(crate) async fn begin(state: &AppState, email: &str) -> Result<Self, Error> {
        let account = Sha256::digest(email.to_lowercase().as_bytes()).to_vec();
        let mut tx = state.db.platform().await?;
        let until = store::locked_until(&mut tx, &account).await?;
        tx.commit().await?;
        match until.and_then(|until| remaining_seconds(until, state.now())) {
            Some(seconds) => Err(Error::SignInLocked { seconds }),
            None => Ok(Self { account }),
        }
    }

    /// Records a wrong password.
    pub(crate) async fn failed(self, state: &AppState) -> Result<(), Error> {
        let now = state.now();
        let mut tx = state.db.platform().await?;
        let failures = store::count_failure(&mut tx, &self.account, now, now - FORGET_AFTER).await?;
        let lock = lock_after(failures);
        if lock.is_positive() {
            store::lock_until(&mut tx, &self.account, now + lock).await?;
        }
        Ok(tx.commit().await?)
    }

    /// Records a right password.
    pub(crate) async fn succeeded(self, state: &AppState) -> Result<(), Error> {
        let mut tx = state.db.platform().await?;
        store::clear_failures(&mut tx, &self.account).await?;
        Ok(tx.commit().await?)
    }
}

/// Whole seconds until a lock has ended, rounded up; none if it has.
fn remaining_seconds(until: Timestamp, now: Timestamp) -> Option<i64> {
    let remaining = until.duration_since(now);
    remaining.is_positive().then(|| remaining.as_secs() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_doubles_up_to_a_minute() {
        let seconds: Vec<_> = (0..16).map(|n| lock_after(n).as_secs()).collect();
        assert_eq!(seconds, [0, 0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60]);
        assert_eq!(lock_after(i32::MAX).as_secs(), 60);
    }

    #[test]
    fn a_lock_ends_at_its_time() {
        let until = Timestamp::UNIX_EPOCH + SignedDuration::from_secs(10);
        let at =
            |millis| remaining_seconds(until, Timestamp::UNIX_EPOCH + SignedDuration::from_millis(millis));
        assert_eq!(at(8_500), Some(2));
        assert_eq!(at(9_999), Some(1));
        assert_eq!(at(10_000), None);
        assert_eq!(at(10_001), None);
    }
}

//! Password attempts. Each failure makes the next attempt wait longer, whether or not the account exists.
//!
//! Failures are counted by client address (a client that tries many accounts), by account and network (a client that
//! tries one account), and by account alone (many clients that try one account). The last count neither includes nor
//! locks networks with an earlier sign-in to the account: strangers cannot lock its owner out there.
//! The counts are in the database, so all replicas count together. The gateway limits the rate by client.
//!
//! A client in a known network of an account gets another answer than elsewhere while the account is under a
//! distributed attack. Only users of that network can learn from it that the account exists.
//!
//! A passkey cannot be guessed: failures with one count for the client alone, so that no other client locks the owner of a passkey
//! out.

use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};

use super::store;
use crate::{client_address::ClientAddress, error::Error, state::AppState};

/// Failures without a lock, of one account in one network.
const FREE_IN_NETWORK: i32 = 5;
/// Failures without a lock, of one client with all accounts.
const FREE_OF_CLIENT: i32 = 20;
/// Failures without a lock, of one account from all networks that are not known.
const FREE_OF_ACCOUNT: i32 = 100;
const LONGEST_LOCK: SignedDuration = SignedDuration::from_secs(60);
/// The time in which one failure is forgotten.
const FORGET_ONE: SignedDuration = SignedDuration::from_secs(60);
/// How long a network is known after a sign-in.
pub(super) const KNOWN_FOR: SignedDuration = SignedDuration::from_hours(90 * 24);

/// Duration of the lock after this number of failures.
fn lock_after(failures: i32, free: i32) -> SignedDuration {
    match u32::try_from(failures - free) {
        Err(_) | Ok(0) => SignedDuration::ZERO,
        Ok(more) => SignedDuration::from_secs(1 << (more - 1).min(6)).min(LONGEST_LOCK),
    }
}

/// One attempt at an account's password. Begin it before the password is hashed, and record its result.
pub(crate) struct Attempt {
    origin: Origin,
    /// How many of the counts a failure adds to: of the client, of the account in its network, of the account.
    counts: usize,
}

/// What an attempt is counted by.
pub(super) struct Origin {
    /// SHA-256 of the lower-case e-mail address.
    pub(super) account: Vec<u8>,
    /// The client, as [`ClientAddress::host`].
    pub(super) host: String,
    /// The client's network, as [`ClientAddress::network`].
    pub(super) network: String,
}

impl Attempt {
    /// # Errors
    /// If sign-in is locked for this client, or for this account.
    pub(crate) async fn begin(state: &AppState, client: ClientAddress, email: &str) -> Result<Self, Error> {
        let account = Sha256::digest(email.to_lowercase().as_bytes()).to_vec();
        let origin = Origin { account, host: client.host(), network: client.network() };
        let now = state.now();
        let mut tx = state.db.platform().await?;
        let is_known = store::is_known(&mut tx, &origin, now - KNOWN_FOR).await?;
        let until = store::locked_until(&mut tx, &origin, is_known).await?;
        tx.commit().await?;
        refuse_until(until, now)?;
        Ok(Self { origin, counts: if is_known { 2 } else { 3 } })
    }

    /// An attempt with a passkey.
    ///
    /// # Errors
    /// If sign-in is locked for this client.
    pub(crate) async fn begin_with_passkey(state: &AppState, client: ClientAddress) -> Result<Self, Error> {
        let origin = Origin { account: Vec::new(), host: client.host(), network: client.network() };
        let mut tx = state.db.platform().await?;
        let until = store::locked_until(&mut tx, &origin, true).await?;
        tx.commit().await?;
        refuse_until(until, state.now())?;
        Ok(Self { origin, counts: 1 })
    }

    /// Records a wrong password or passkey.
    pub(crate) async fn failed(self, state: &AppState) -> Result<(), Error> {
        let Origin { account, host, network } = &self.origin;
        let now = state.now();
        let mut tx = state.db.platform().await?;
        // always in this order, so that concurrent attempts do not deadlock
        let counts: [(&[u8], &str, i32); 3] = [
            (&[], host, FREE_OF_CLIENT),
            (account, network, FREE_IN_NETWORK),
            (account, "", FREE_OF_ACCOUNT),
        ];
        for (account, network, free) in counts.into_iter().take(self.counts) {
            let failures = store::count_failure(&mut tx, account, network, now, FORGET_ONE).await?;
            let lock = lock_after(failures, free);
            if lock.is_positive() {
                store::lock_until(&mut tx, account, network, now + lock).await?;
            }
        }
        Ok(tx.commit().await?)
    }

    /// Records a right password: the network becomes known. The failures of the client and of the account from other
    /// networks stay, or an attacker could clear the former with an account of their own.
    pub(crate) async fn succeeded(self, state: &AppState) -> Result<(), Error> {
        let mut tx = state.db.platform().await?;
        store::clear_failures(&mut tx, &self.origin).await?;
        store::remember_network(&mut tx, &self.origin, state.now()).await?;
        Ok(tx.commit().await?)
    }
}

fn refuse_until(until: Option<Timestamp>, now: Timestamp) -> Result<(), Error> {
    match until.and_then(|until| remaining_seconds(until, now)) {
        Some(seconds) => Err(Error::SignInLocked { seconds }),
        None => Ok(()),
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
        let seconds: Vec<_> = (0..16).map(|n| lock_after(n, 5).as_secs()).collect();
        assert_eq!(seconds, [0, 0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60]);
        assert_eq!(lock_after(i32::MAX, 5).as_secs(), 60);
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

//! Password attempts. Each failure makes the next attempt wait longer, whether or not the account exists.
//!
//! Attempts are counted in lanes; guessing locks only its own lane ([ADR
//! 9](../../../../../docs/adr/0009-sign-in-throttle.md)):
//!
//! - a browser in which somebody has signed in to the account before ([`Devices`]): separately, regardless of
//!   attempts elsewhere;
//! - other clients: by client address (a client that tries many accounts), and by account and network (a client that tries one
//!   account);
//! - those in networks without an earlier sign-in to the account, while it is under attack from such
//!   networks: each network has one attempt, then waits for a minute and longer. So the owner can sign in
//!   from anywhere with the right password, and a guesser needs a new network for each guess. The number of
//!   such networks is limited, too.
//!
//! The counts are in the database, so all replicas count together. The gateway limits the rate by client.
//!
//! A passkey cannot be guessed, so failures with it count only for the client, in a lane of their own. The
//! provider limits sign-ins with its accounts.

use api::{Problem, ProblemType};
use db::Db;
use jiff::{SignedDuration, Timestamp};
use sqlx::PgConnection;

use super::{
    device::Devices,
    lane::{KNOWN_FOR, Lane, account},
    store,
};
use crate::{client_address::ClientAddress, clock::Clock};

/// The limits for the failures of one lane.
#[derive(Debug, Clone, Copy)]
struct Rule {
    /// Failures without a lock.
    free: i32,
    /// The first lock; each further failure doubles it.
    first: SignedDuration,
    longest: SignedDuration,
    /// The time in which one failure is forgotten.
    forget_one: SignedDuration,
}

const SECOND: SignedDuration = SignedDuration::from_secs(1);
const MINUTE: SignedDuration = SignedDuration::from_secs(60);
const HOUR: SignedDuration = SignedDuration::from_hours(1);

/// The rule for one account in one network, or in one browser.
const OF_NETWORK: Rule = Rule { free: 5, first: SECOND, longest: MINUTE, forget_one: MINUTE };
/// The rule for one client with all accounts.
const OF_CLIENT: Rule = Rule { free: 20, first: SECOND, longest: MINUTE, forget_one: MINUTE };
/// The rule for one account from all unknown networks: more failures than these are an attack.
const OF_ACCOUNT: Rule = Rule { free: 100, first: SECOND, longest: MINUTE, forget_one: MINUTE };
/// The rule for one account under attack, in an unknown network.
const UNDER_ATTACK: Rule = Rule { free: 0, first: MINUTE, longest: HOUR, forget_one: HOUR };
/// Unknown networks with failures during an attack: if there are more, the others are locked.
const ATTACKERS: Rule = Rule { free: 1000, first: SECOND, longest: MINUTE, forget_one: MINUTE };

/// Placeholder for the network in the count of an account for all unknown networks.
const ALL_NETWORKS: &str = "";
/// Placeholder in the count of those networks.
const NUMBER_OF_NETWORKS: &str = "*";

impl Rule {
    /// Duration of the lock after this number of failures.
    fn lock_after(self, failures: i32) -> SignedDuration {
        match u32::try_from(failures - self.free) {
            Err(_) | Ok(0) => SignedDuration::ZERO,
            Ok(more) => (self.first * (1 << (more - 1).min(6))).min(self.longest),
        }
    }
}

/// The counts of attempts.
#[derive(Clone)]
pub struct Throttle {
    pub db: Db,
    pub clock: Clock,
}

impl Throttle {
    /// An attempt to sign in.
    ///
    /// # Errors
    /// If sign-in is locked for this client, or for this account.
    pub async fn begin(
        &self,
        client: ClientAddress,
        email: &str,
        devices: &Devices,
    ) -> Result<Attempt, Problem> {
        let account = account(email);
        let place = Lane { account: account.clone(), network: client.network() };
        if let Some(id) = devices.id(&account) {
            let own = Lane { account, network: format!("device {id}") };
            let lanes = vec![(own.clone(), OF_NETWORK)];
            return self.open(self.attempt(lanes, Some(own), Some(place))).await;
        }
        let now = self.clock.now();
        let mut tx = self.db.platform().await?;
        let is_known = store::is_known(&mut tx, &place, now - KNOWN_FOR).await?;
        let attack = Lane { account: account.clone(), network: ALL_NETWORKS.to_owned() };
        let failures = store::failures(&mut tx, &attack, now, OF_ACCOUNT.forget_one).await?;
        tx.commit().await?;
        let is_under_attack = !is_known && failures > OF_ACCOUNT.free;
        let mut attempt =
            self.by_network(client, place, if is_under_attack { UNDER_ATTACK } else { OF_NETWORK });
        attempt.stranger_to = (!is_known).then_some(account);
        attempt.is_under_attack = is_under_attack;
        self.open(attempt).await
    }

    /// An attempt of a signed-in person at their own password or code.
    ///
    /// # Errors
    /// If it is locked in this client's network.
    pub async fn begin_signed_in(&self, client: ClientAddress, email: &str) -> Result<Attempt, Problem> {
        let place = Lane { account: account(email), network: client.network() };
        self.open(self.by_network(client, place, OF_NETWORK)).await
    }

    /// An attempt with a passkey.
    ///
    /// # Errors
    /// If sign-in with passkeys is locked for this client.
    pub async fn begin_with_passkey(&self, client: ClientAddress) -> Result<Attempt, Problem> {
        let lane = Lane { account: Vec::new(), network: format!("passkey {}", client.host()) };
        self.open(self.attempt(vec![(lane, OF_CLIENT)], None, None)).await
    }

    /// Records that the owner of the account with this e-mail address has signed in from the client's network, without a password.
    pub async fn remember_network(
        &self,
        tx: &mut PgConnection,
        client: ClientAddress,
        email: &str,
    ) -> sqlx::Result<()> {
        let place = Lane { account: account(email), network: client.network() };
        store::remember_network(tx, &place, self.clock.now()).await
    }

    fn attempt(&self, lanes: Vec<(Lane, Rule)>, own: Option<Lane>, place: Option<Lane>) -> Attempt {
        Attempt { throttle: self.clone(), lanes, own, place, stranger_to: None, is_under_attack: false }
    }

    fn by_network(&self, client: ClientAddress, place: Lane, rule: Rule) -> Attempt {
        let host = Lane { account: Vec::new(), network: client.host() };
        let lanes = vec![(host, OF_CLIENT), (place.clone(), rule)];
        self.attempt(lanes, Some(place.clone()), Some(place))
    }

    /// Refuses the attempt while one of its lanes is locked.
    async fn open(&self, attempt: Attempt) -> Result<Attempt, Problem> {
        let mut lanes: Vec<_> = attempt.lanes.iter().map(|(lane, _)| lane.clone()).collect();
        if attempt.is_under_attack
            && let Some(account) = &attempt.stranger_to
        {
            lanes.push(Lane { account: account.clone(), network: NUMBER_OF_NETWORKS.to_owned() });
        }
        let mut tx = self.db.platform().await?;
        let until = store::locked_until(&mut tx, &lanes).await?;
        tx.commit().await?;
        match until.and_then(|until| remaining_seconds(until, self.clock.now())) {
            Some(seconds) => Err(Problem::new(
                ProblemType::TooManyAttempts,
                format!("Sign-in is locked for {seconds} s after several wrong passwords."),
            )
            .with("retry_after", seconds)),
            None => Ok(attempt),
        }
    }
}

/// One attempt at an account's password. Begin it before the password is hashed, and record its result.
pub struct Attempt {
    throttle: Throttle,
    lanes: Vec<(Lane, Rule)>,
    /// The lane that a correct password clears.
    own: Option<Lane>,
    /// The account and network that become known with a correct password.
    place: Option<Lane>,
    /// The account, if the network is not known for it: failures from all such networks are counted together.
    stranger_to: Option<Vec<u8>>,
    is_under_attack: bool,
}

impl Attempt {
    /// Records a wrong password or passkey.
    pub async fn failed(self) -> Result<(), Problem> {
        let now = self.throttle.clock.now();
        let mut tx = self.throttle.db.platform().await?;
        let mut of_network = 0;
        // always in this order, so that concurrent attempts do not deadlock
        for (lane, rule) in &self.lanes {
            of_network = count(&mut tx, lane, *rule, now).await?;
        }
        if let Some(account) = self.stranger_to {
            let all = Lane { account: account.clone(), network: ALL_NETWORKS.to_owned() };
            store::count_failure(&mut tx, &all, now, OF_ACCOUNT.forget_one).await?;
            if self.is_under_attack && of_network == 1 {
                let number = Lane { account, network: NUMBER_OF_NETWORKS.to_owned() };
                count(&mut tx, &number, ATTACKERS, now).await?;
            }
        }
        Ok(tx.commit().await?)
    }

    /// Records a right password: the network becomes known. The failures of the client and of the account
    /// from other networks stay: otherwise an attacker could clear the former with an account of their own.
    pub async fn succeeded(self) -> Result<(), Problem> {
        let mut tx = self.throttle.db.platform().await?;
        if let Some(own) = &self.own {
            store::clear_failures(&mut tx, own).await?;
        }
        if let Some(place) = &self.place {
            store::remember_network(&mut tx, place, self.throttle.clock.now()).await?;
        }
        Ok(tx.commit().await?)
    }
}

/// Counts a failure in a lane, and locks it if there are too many. Returns their number.
async fn count(tx: &mut PgConnection, lane: &Lane, rule: Rule, now: Timestamp) -> sqlx::Result<i32> {
    let failures = store::count_failure(tx, lane, now, rule.forget_one).await?;
    let lock = rule.lock_after(failures);
    if lock.is_positive() {
        store::lock_until(tx, lane, now + lock).await?;
    }
    Ok(failures)
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
    fn the_lock_doubles_up_to_the_longest() {
        let seconds = |rule: Rule| (0..16).map(|n| rule.lock_after(n).as_secs()).collect::<Vec<_>>();
        assert_eq!(seconds(OF_NETWORK), [0, 0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60]);
        assert_eq!(seconds(UNDER_ATTACK)[..9], [0, 60, 120, 240, 480, 960, 1920, 3600, 3600]);
        assert_eq!(OF_NETWORK.lock_after(i32::MAX).as_secs(), 60);
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

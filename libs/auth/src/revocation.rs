//! Rights that ended before the token that grants them expires.
//!
//! The identity service publishes each sign-out, and each change of a membership, user or tenant that removes rights.
//! All services follow that feed and keep it in memory, so that a check needs no query.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use api::Problem;
use backon::{BackoffBuilder, ExponentialBuilder};
use feed::{Change, Changes};
use ids::{SessionId, TenantId, UserId};
use jiff::{SignedDuration, Timestamp};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use service::{Duty, Task};
use tokio::{
    sync::{broadcast, watch},
    time::{Instant, sleep},
};
use utoipa::ToSchema;

/// How long revocations are kept: longer than the lifetime of any token or cookie.
pub const RETENTION: Duration = Duration::from_secs(24 * 3600);
/// How long one request for changes waits for some.
pub const WAIT: Duration = Duration::from_secs(8);
/// Limit of one request for changes, with some time for the response.
const TIMEOUT: Duration = Duration::from_secs(12);
/// Revocations that a slow subscriber may lag behind.
const NEWS: usize = 4096;
const MIN_DELAY: Duration = Duration::from_millis(100);
const MAX_DELAY: Duration = Duration::from_secs(2);

/// Revoked tokens: those that contain all of the given ids and were issued no later than the revocation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
pub struct Revocation {
    /// Tokens of this user.
    pub user_id: Option<UserId>,
    /// Tokens for this tenant.
    pub tenant_id: Option<TenantId>,
    /// Tokens of this session.
    pub session_id: Option<SessionId>,
}

/// Where revocations are read.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RevocationSource {
    /// `http://host:port` of the identity service.
    pub url: String,
    /// This service's token for it.
    pub token: SecretString,
    /// Seconds without an answer of the identity service (default 60) after which older tokens are refused (503).
    #[serde(default = "default_grace_seconds")]
    pub grace_seconds: u32,
}

fn default_grace_seconds() -> u32 {
    60
}

/// The revocable rights of a token or cookie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// The user.
    pub user: UserId,
    /// The tenant for which the user acts.
    pub tenant: Option<TenantId>,
    /// The session that it belongs to; none for tokens of other issuers.
    pub session: Option<SessionId>,
    /// When it was issued.
    pub issued_at: Timestamp,
}

/// Why a grant is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The token or cookie was revoked.
    #[error("the rights have ended")]
    Revoked,
    /// Whether it was revoked is unknown: the identity service has not answered for longer than the grace period.
    #[error("revocations are unknown")]
    Unknown,
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Revoked => Self::unauthenticated("The token was revoked; refresh it, or sign in again."),
            Refused::Unknown => Self::unavailable("The identity service", refused),
        }
    }
}

/// The revocations known to this process. Clones share them.
#[derive(Debug, Clone)]
pub struct Revocations(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// None: no revocations are followed, and every grant is known to be valid.
    grace: Option<Duration>,
    state: RwLock<State>,
    changed: watch::Sender<()>,
    news: broadcast::Sender<Revocation>,
}

#[derive(Debug, Default)]
struct State {
    ended: HashMap<Revocation, Timestamp>,
    /// All revocations until then are known.
    complete_at: Option<Instant>,
}

impl Revocations {
    /// No revocations yet. After `grace` without an answer of the source, older tokens are refused; none if there is no
    /// source.
    #[must_use]
    pub fn new(grace: Option<Duration>) -> Self {
        let (state, changed) = (RwLock::default(), watch::Sender::new(()));
        Self(Arc::new(Inner { grace, state, changed, news: broadcast::Sender::new(NEWS) }))
    }

    /// Returns the revocations that are applied from now on.
    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Revocation> {
        self.0.news.subscribe()
    }

    /// Checks that the grant has not ended.
    ///
    /// # Errors
    /// If it has, or if that is unknown.
    #[expect(
        clippy::disallowed_methods,
        reason = "a token's age is measured by the clock that checks its expiry"
    )]
    pub fn check(&self, grant: &Grant) -> Result<(), Refused> {
        let state = self.0.state.read().unwrap_or_else(PoisonError::into_inner);
        let known = |revocation| state.ended.get(&revocation).is_some_and(|at| grant.issued_at <= *at);
        let (user_id, tenant_id, session_id) = (Some(grant.user), grant.tenant, grant.session);
        let none = Revocation::default();
        let revoked = known(Revocation { user_id, ..none })
            || tenant_id.is_some() && known(Revocation { tenant_id, ..none })
            || tenant_id.is_some() && known(Revocation { user_id, tenant_id, ..none })
            || session_id.is_some() && known(Revocation { session_id, ..none });
        if revoked {
            return Err(Refused::Revoked);
        }
        let Some(grace) = self.0.grace else { return Ok(()) };
        let current = state.complete_at.is_some_and(|at| at.elapsed() <= grace);
        let young =
            SignedDuration::try_from(grace).is_ok_and(|grace| grant.issued_at + grace >= Timestamp::now());
        if current || young { Ok(()) } else { Err(Refused::Unknown) }
    }

    /// Whether all revocations were read once, or none are followed. Until then, older tokens are refused.
    ///
    /// # Errors
    /// The condition that is waited for.
    pub fn ready(&self) -> Result<(), String> {
        let state = self.0.state.read().unwrap_or_else(PoisonError::into_inner);
        let is_ready = self.0.grace.is_none() || state.complete_at.is_some();
        is_ready.then_some(()).ok_or_else(|| "waiting for revocations".to_owned())
    }

    /// Completes when the grant is revoked. For streams, which outlive the check of their request.
    pub async fn ended(&self, grant: Grant) {
        let mut changed = self.0.changed.subscribe();
        loop {
            changed.mark_unchanged();
            if self.check(&grant) == Err(Refused::Revoked) {
                return;
            }
            // the sender lives as long as `self`
            let _ = changed.changed().await;
        }
    }

    /// The task that applies what `read` returns. `read` takes a cursor, empty at
    /// first, and waits for changes after it, at most [`WAIT`].
    pub fn task<R>(&self, read: impl Fn(String) -> R + Clone + Send + Sync + 'static) -> Task
    where
        R: Future<Output = anyhow::Result<Changes<Revocation>>> + Send + 'static,
    {
        Task::new("revocations", Duty::Follow, self, move |revocations| {
            let read = read.clone();
            async move {
                revocations.follow(read).await;
                Ok(())
            }
        })
    }

    async fn follow<R>(&self, read: impl Fn(String) -> R)
    where
        R: Future<Output = anyhow::Result<Changes<Revocation>>>,
    {
        let (mut cursor, mut delays) = (String::new(), delays());
        loop {
            let asked = Instant::now();
            match read(cursor.clone()).await {
                Ok(changes) => {
                    cursor = changes.next_cursor;
                    delays = self::delays();
                    self.apply(&changes.items, changes.complete.then_some(asked));
                }
                Err(error) => {
                    tracing::warn!(error = format!("{error:#}"), "cannot read revocations; retrying");
                    // the cursor may be from before the database was restored
                    cursor.clear();
                    sleep(delays.next().unwrap_or(MAX_DELAY)).await;
                }
            }
        }
    }

    fn apply(&self, changes: &[Change<Revocation>], complete_at: Option<Instant>) {
        let mut state = self.0.state.write().unwrap_or_else(PoisonError::into_inner);
        state.complete_at = complete_at.or(state.complete_at);
        for Change { at, change } in changes {
            let last = state.ended.entry(*change).or_insert(*at);
            *last = (*last).max(*at);
        }
        if let Some(newest) = changes.iter().map(|change| change.at).max() {
            let retention = SignedDuration::try_from(RETENTION).unwrap_or(SignedDuration::MAX);
            state.ended.retain(|_, at| *at + retention > newest);
        }
        drop(state);
        if !changes.is_empty() {
            self.0.changed.send_replace(());
        }
        for Change { change, .. } in changes {
            // there may be no receiver
            let _ = self.0.news.send(*change);
        }
    }
}

fn delays() -> impl Iterator<Item = Duration> {
    ExponentialBuilder::default()
        .with_min_delay(MIN_DELAY)
        .with_max_delay(MAX_DELAY)
        .with_jitter()
        .without_max_times()
        .build()
}

impl RevocationSource {
    /// Reads the changes after a cursor.
    ///
    /// # Errors
    /// If the identity service does not answer with changes.
    pub(crate) async fn read(
        &self,
        http: &reqwest::Client,
        after: &str,
    ) -> anyhow::Result<Changes<Revocation>> {
        let url = format!("{}/internal/v1/revocations", self.url.trim_end_matches('/'));
        let response = http
            .get(url)
            .query(&[("after", after), ("wait_seconds", &WAIT.as_secs().to_string())])
            .bearer_auth(self.token.expose_secret())
            .timeout(TIMEOUT)
            .send()
            .await?;
        Ok(response.error_for_status()?.json().await?)
    }

    pub(crate) fn grace(&self) -> Duration {
        Duration::from_secs(self.grace_seconds.into())
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Waker};

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + seconds).unwrap()
    }

    fn grant() -> Grant {
        Grant {
            user: UserId::new(),
            tenant: Some(TenantId::new()),
            session: Some(SessionId::new()),
            issued_at: at(10),
        }
    }

    fn revoked(revocation: Revocation, at: Timestamp) -> Revocations {
        let revocations = Revocations::new(None);
        revocations.apply(&[Change { at, change: revocation }], None);
        revocations
    }

    #[test]
    fn a_revocation_concerns_tokens_with_all_of_its_ids() {
        let own = grant();
        let none = Revocation::default();
        for revocation in [
            Revocation { user_id: Some(own.user), ..none },
            Revocation { tenant_id: own.tenant, ..none },
            Revocation { session_id: own.session, ..none },
            Revocation { user_id: Some(own.user), tenant_id: own.tenant, ..none },
        ] {
            let revocations = revoked(revocation, at(10));
            assert_eq!(revocations.check(&own), Err(Refused::Revoked), "{revocation:?}");
            let later = Grant { issued_at: at(11), ..own };
            assert_eq!(revocations.check(&later), Ok(()), "issued later: {revocation:?}");
            assert_eq!(revocations.check(&grant()), Ok(()), "another: {revocation:?}");
        }
        let elsewhere = Revocation { user_id: Some(own.user), tenant_id: Some(TenantId::new()), ..none };
        assert_eq!(revoked(elsewhere, at(20)).check(&own), Ok(()), "another tenant of the user");
        let without = Grant { tenant: None, session: None, ..own };
        assert_eq!(revoked(none, at(20)).check(&without), Ok(()));
    }

    #[test]
    fn the_latest_revocation_counts_and_old_ones_are_forgotten() {
        let own = grant();
        let revocation = Revocation { user_id: Some(own.user), ..Revocation::default() };
        let revocations = revoked(revocation, at(10));
        revocations.apply(&[Change { at: at(5), change: revocation }], None);
        assert_eq!(revocations.check(&own), Err(Refused::Revoked));
        let day = i64::try_from(RETENTION.as_secs()).unwrap();
        let other = Revocation { user_id: Some(UserId::new()), ..Revocation::default() };
        revocations.apply(&[Change { at: at(10 + day), change: other }], None);
        assert_eq!(revocations.check(&own), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    #[expect(clippy::disallowed_methods, reason = "the age of a token is measured by the real clock")]
    async fn old_tokens_are_refused_while_revocations_are_unknown() {
        let revocations = Revocations::new(Some(Duration::from_secs(60)));
        let (old, young) = (grant(), Grant { issued_at: Timestamp::now(), ..grant() });
        assert_eq!(revocations.check(&old), Err(Refused::Unknown));
        assert_eq!(revocations.check(&young), Ok(()));
        assert!(revocations.ready().is_err() && Revocations::new(None).ready().is_ok());
        revocations.apply(&[], Some(Instant::now()));
        assert_eq!(revocations.check(&old), Ok(()));
        assert_eq!(revocations.ready(), Ok(()));
        tokio::time::advance(Duration::from_secs(61)).await;
        assert_eq!(revocations.check(&old), Err(Refused::Unknown));
        assert_eq!(revocations.check(&young), Ok(()));
    }

    #[test]
    fn a_stream_ends_when_its_grant_does() {
        let (revocations, own) = (Revocations::new(None), grant());
        let mut ended = std::pin::pin!(revocations.ended(own));
        let mut context = Context::from_waker(Waker::noop());
        for session in [Some(SessionId::new()), own.session] {
            assert!(ended.as_mut().poll(&mut context).is_pending());
            let revocation = Revocation { session_id: session, ..Revocation::default() };
            revocations.apply(&[Change { at: at(10), change: revocation }], None);
        }
        assert!(ended.as_mut().poll(&mut context).is_ready());
    }

    #[tokio::test(start_paused = true)]
    async fn a_follower_retries_soon_and_reads_all_again_after_an_error() {
        let (revocations, own) = (Revocations::new(None), grant());
        let revocation = Revocation { session_id: own.session, ..Revocation::default() };
        let page = |next: &str, complete| Changes {
            items: vec![Change { at: at(10), change: revocation }],
            next_cursor: next.to_owned(),
            complete,
        };
        let away = || Err(anyhow::anyhow!("away"));
        let answers =
            [away(), away(), Ok(page("1", false)), Ok(page("2", true)), away(), Ok(page("3", true))];
        let answers = Arc::new(std::sync::Mutex::new(answers.into_iter()));
        let (asked, mut cursors) = tokio::sync::mpsc::unbounded_channel();
        let begun = Instant::now();
        let follower = revocations.follow(|cursor| {
            let _ = asked.send((cursor, begun.elapsed()));
            let answer = answers.lock().unwrap().next();
            async move {
                match answer {
                    Some(answer) => answer,
                    None => std::future::pending().await,
                }
            }
        });
        let _ = tokio::time::timeout(Duration::from_secs(60), follower).await;
        let mut seen = Vec::new();
        while let Ok(call) = cursors.try_recv() {
            seen.push(call);
        }
        let cursors: Vec<_> = seen.iter().map(|(cursor, _)| cursor.as_str()).collect();
        assert_eq!(cursors, ["", "", "", "1", "2", "", "3"]);
        let third = seen[2].1;
        assert!(
            third >= MIN_DELAY * 2 && third < Duration::from_secs(1),
            "the third call came after {third:?}"
        );
        assert_eq!(revocations.check(&own), Err(Refused::Revoked));
    }

    #[test]
    fn tokens_are_doubted_after_a_minute_and_revocations_kept_for_a_day() {
        let source: RevocationSource =
            serde_json::from_value(serde_json::json!({ "url": "http://identity", "token": "t" })).unwrap();
        assert_eq!(source.grace(), Duration::from_secs(60));
        assert_eq!(RETENTION, Duration::from_secs(86_400));
    }
}

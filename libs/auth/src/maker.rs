//! Makers: the users and API keys that created credentials, links, keys and webhooks. These objects end with the rights
//! of their maker.
//!
//! A service stores the [`Maker`] with each such object, and implements [`Made`]. The worker of
//! [`crate::Verifier::makers_task`] asks the identity service about the makers in a revocation at once, and
//! about all makers periodically. The service then ends the objects of makers who have lost the right to
//! create them. So nothing is missed while the identity service is unavailable, and repeated checks have no
//! further effect.

use std::{collections::VecDeque, time::Duration};

use ids::{ApiKeyId, TenantId, UserId};
use jiff::Timestamp;
use secrecy::ExposeSecret as _;
use serde::{Deserialize, Serialize};
use tokio::{
    sync::broadcast::{Receiver, error::RecvError},
    time::{Instant, sleep, sleep_until},
};
use utoipa::ToSchema;

use crate::{
    principal::Principal,
    revocation::{Revocation, RevocationSource, Revocations},
};

/// Maximum number of makers in one call.
pub const MAX_MAKERS: usize = 500;
/// How often all makers are checked.
const PERIOD: Duration = Duration::from_secs(300);
/// When the makers of a revocation are checked again: a request that was accepted before it may have created something
/// afterwards.
const AGAIN: Duration = Duration::from_secs(60);
/// Pause after an error.
const RETRY: Duration = Duration::from_secs(5);
const TIMEOUT: Duration = Duration::from_secs(10);

/// A user, or an API key of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Maker {
    /// The user, with the right to write in the tenant.
    pub user_id: UserId,
    /// The tenant in which it was made; null for what belongs to the user.
    pub tenant_id: Option<TenantId>,
    /// The user's API key with which it was made; null if the user made it in a session.
    pub api_key_id: Option<ApiKeyId>,
}

impl Principal {
    /// The maker of an object that this request creates in the tenant of its token.
    #[must_use]
    pub fn maker(&self) -> Maker {
        Maker {
            user_id: self.user,
            tenant_id: self.tenant.map(|(tenant, _)| tenant),
            api_key_id: self.api_key,
        }
    }

    /// The maker of an object that this request creates for its user, in no tenant.
    #[must_use]
    pub fn maker_for_oneself(&self) -> Maker {
        Maker { tenant_id: None, ..self.maker() }
    }
}

/// Makers to check, at most 500.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MakerCheck {
    /// Makers.
    pub makers: Vec<Maker>,
}

/// The results for makers.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct MakerStandings {
    /// Since when each maker has had the right to write without interruption: an account that is not disabled, the role
    /// `member` or `owner` in the tenant, and the API key. Null if the maker no longer has it. In the order of the
    /// request.
    pub able_since: Vec<Option<Timestamp>>,
}

/// A maker of something that exists.
#[derive(Debug, Clone, Copy)]
pub struct MadeBy {
    /// Who made it.
    pub maker: Maker,
    /// Issue time of the token with which the oldest of its objects was created.
    pub rights_at: Timestamp,
}

/// A maker that has lost its rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndedMaker {
    /// Who.
    pub maker: Maker,
    /// Objects that were created with rights from before this time end: the maker has had new rights since.
    /// None if all objects end.
    pub before: Option<Timestamp>,
}

/// The makers of the objects to find.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Whom {
    /// Everybody's.
    pub all: bool,
    /// Those of these users,
    pub users: Vec<UserId>,
    /// and those of these API keys.
    pub api_keys: Vec<ApiKeyId>,
}

impl Whom {
    fn all() -> Self {
        Self { all: true, ..Self::default() }
    }

    fn is_nobody(&self) -> bool {
        self.users.is_empty() && self.api_keys.is_empty()
    }

    /// The end of a tenant's tokens does not end its members: a suspended tenant may become active again.
    fn add(&mut self, revocation: &Revocation) {
        self.users.extend(revocation.user_id);
        // the session that represents an API key has its id
        self.api_keys.extend(revocation.session_id.map(|session| ApiKeyId::from_uuid(session.uuid())));
    }
}

/// Objects of a service that end with their makers. Objects without a known maker belong to their tenant, and do not
/// end.
pub trait Made: Clone + Send + Sync + 'static {
    /// Returns the makers of existing objects.
    fn makers(&self, whom: &Whom) -> impl Future<Output = anyhow::Result<Vec<MadeBy>>> + Send;

    /// Ends the objects of `ended`. It may be called again.
    fn end(&self, ended: &EndedMaker) -> impl Future<Output = anyhow::Result<()>> + Send;
}

#[derive(Clone)]
pub(crate) struct Follower<M> {
    pub(crate) source: RevocationSource,
    pub(crate) http: reqwest::Client,
    pub(crate) made: M,
}

impl<M: Made> Follower<M> {
    /// Runs until it is dropped.
    pub(crate) async fn run(self, revocations: &Revocations) {
        loop {
            // before the first check, so that no revocation is missed in between
            let news = revocations.subscribe();
            if let Err(error) = self.follow(news).await {
                tracing::warn!(
                    error = format!("{error:#}"),
                    "cannot check who has made credentials; retrying"
                );
                sleep(RETRY).await;
            }
        }
    }

    /// Checks all makers, then those in revocations, until it is time to check all again.
    async fn follow(&self, mut news: Receiver<Revocation>) -> anyhow::Result<()> {
        self.look(&Whom::all()).await?;
        let all_again = Instant::now() + PERIOD;
        let mut again: VecDeque<(Instant, Whom)> = VecDeque::new();
        loop {
            let due = again.front().map_or(all_again, |(at, _)| (*at).min(all_again));
            let mut whom = Whom::default();
            tokio::select! {
                () = sleep_until(due) => match again.pop_front() {
                    Some((at, whom)) if at <= Instant::now() => {
                        self.look(&whom).await?;
                        continue;
                    }
                    _ => return Ok(()),
                },
                received = news.recv() => match received {
                    Ok(revocation) => whom.add(&revocation),
                    Err(RecvError::Lagged(_) | RecvError::Closed) => return Ok(()),
                },
            }
            while let Ok(revocation) = news.try_recv() {
                whom.add(&revocation);
            }
            if !whom.is_nobody() {
                self.look(&whom).await?;
                again.push_back((Instant::now() + AGAIN, whom));
            }
        }
    }

    async fn look(&self, whom: &Whom) -> anyhow::Result<()> {
        let made = self.made.makers(whom).await?;
        for some in made.chunks(MAX_MAKERS) {
            let makers = some.iter().map(|one| one.maker).collect();
            let able_since = self.ask(&MakerCheck { makers }).await?;
            anyhow::ensure!(able_since.len() == some.len(), "the identity service answered about others");
            for (one, able_since) in some.iter().zip(able_since) {
                if able_since.is_none_or(|since| one.rights_at < since) {
                    self.made.end(&EndedMaker { maker: one.maker, before: able_since }).await?;
                }
            }
        }
        Ok(())
    }

    async fn ask(&self, check: &MakerCheck) -> anyhow::Result<Vec<Option<Timestamp>>> {
        let url = format!("{}/internal/v1/maker-checks", self.source.url.trim_end_matches('/'));
        let request = self.http.post(url).bearer_auth(self.source.token.expose_secret());
        let response = request.timeout(TIMEOUT).json(check).send().await?;
        Ok(response.error_for_status()?.json::<MakerStandings>().await?.able_since)
    }
}

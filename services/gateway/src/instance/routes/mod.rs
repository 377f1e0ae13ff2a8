//! Routes to running instances. The gpu service is called once for each host name, and publishes changed
//! routes in a feed: until a change, a route is used from memory. After a change, requests call it again, and
//! connections to an instance that has stopped or moved are closed.
//!
//! Without the feed a route is used for a second. While the gpu service does not answer at all, the last known route is used
//! for a minute.

mod changed;
mod follow;
mod open;

use std::{
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use gpu_api::{Client, HostLabel};
use moka::future::Cache;
use tokio::time::Instant;

use changed::Changed;
pub(crate) use open::OpenRoute;
use open::Registry;

/// How long a route is used while changes are followed. Long enough that few calls of the gpu service are
/// needed, and short enough to limit the effect of a fault of the feed.
const FOLLOWED: Duration = Duration::from_secs(60);
/// The same for an instance that does not run, as the feed does not report all its changes, and for host
/// names without an instance.
const IDLE: Duration = Duration::from_secs(2);
const UNKNOWN: Duration = Duration::from_secs(10);
/// How long a route is used while changes are not followed.
const FRESH: Duration = Duration::from_secs(1);
/// Enough for a restart of the gpu service. Not longer, as the address of a deleted pod may be given to
/// another tenant's.
const WHILE_UNAVAILABLE: Duration = Duration::from_secs(60);
const HOSTS: u64 = 100_000;
/// Lookups of one host name that a change can outdate before the last one is used.
const ATTEMPTS: usize = 3;

/// The routes of all instances. Clones share them.
#[derive(Clone)]
pub(crate) struct Routes(Arc<Inner>);

struct Inner {
    gpu: Client,
    found: Cache<String, Found>,
    last: Cache<String, Found>,
    /// The routes in use, by instance.
    open: Arc<Registry>,
    changed: Changed,
    /// Until when the feed counts as followed.
    followed_until: RwLock<Option<Instant>>,
}

/// The result of a lookup.
#[derive(Clone)]
struct Found {
    route: Option<Arc<OpenRoute>>,
    /// Number of changes that were known at the time of the lookup.
    position: u64,
    at: Instant,
}

impl Routes {
    pub(crate) fn new(gpu: Client) -> Self {
        Self(Arc::new(Inner {
            gpu,
            found: Cache::builder().max_capacity(HOSTS).time_to_live(FOLLOWED).build(),
            last: Cache::builder().max_capacity(HOSTS).time_to_live(WHILE_UNAVAILABLE).build(),
            open: Arc::default(),
            changed: Changed::default(),
            followed_until: RwLock::new(None),
        }))
    }

    /// Returns whether the next lookup is answered from memory.
    pub(super) async fn is_known(&self, host: HostLabel, label: &str) -> bool {
        self.0.found.get(label).await.is_some_and(|found| self.0.is_valid(host, &found))
    }

    /// Returns the route of a host name's first label, or none if no instance has it.
    ///
    /// # Errors
    /// If the gpu service does not answer and no route is cached.
    pub(super) async fn find(
        &self,
        host: HostLabel,
        label: &str,
    ) -> Result<Option<Arc<OpenRoute>>, Arc<peer::Error>> {
        let inner = &self.0;
        let mut attempts = 0;
        loop {
            if let Some(found) = inner.found.get(label).await
                && !inner.is_valid(host, &found)
            {
                inner.found.invalidate(label).await;
            }
            let found = inner.found.try_get_with_by_ref(label, inner.fetch(host, label)).await?;
            attempts += 1;
            // a change may have happened during the lookup
            if inner.is_unchanged(host, &found) || attempts == ATTEMPTS {
                return Ok(found.route);
            }
        }
    }

    /// Makes the next lookup call the gpu service, because the address did not accept a connection.
    pub(super) async fn forget(&self, label: &str) {
        self.0.found.invalidate(label).await;
    }
}

impl Inner {
    fn is_followed(&self) -> bool {
        let until = *self.followed_until.read().unwrap_or_else(PoisonError::into_inner);
        until.is_some_and(|until| Instant::now() < until)
    }

    /// Whether the result can still be used.
    fn is_valid(&self, host: HostLabel, found: &Found) -> bool {
        let life = match (self.is_followed(), &found.route) {
            (true, Some(route)) if route.address.is_some() => FOLLOWED,
            (true, Some(_)) => IDLE,
            (true, None) => UNKNOWN,
            (false, Some(route)) if route.address.is_some() => FRESH,
            // the instance may start at any moment, and must then be reachable at once
            (false, _) => Duration::ZERO,
        };
        found.at.elapsed() < life && self.is_unchanged(host, found)
    }

    fn is_unchanged(&self, host: HostLabel, found: &Found) -> bool {
        let tenant = found.route.as_ref().map(|route| route.tenant_id);
        !self.changed.is_after(host.instance, tenant, found.position)
    }

    async fn fetch(&self, host: HostLabel, label: &str) -> Result<Found, peer::Error> {
        let position = self.changed.position();
        let found = |route| Found { route, position, at: Instant::now() };
        match self.gpu.route(label).await {
            Ok(route) => {
                let last = self.last.get(label).await.and_then(|last| last.route);
                let known = last.filter(|known| known.is(&route));
                let found = found(Some(known.unwrap_or_else(|| OpenRoute::new(label, route, &self.open))));
                self.last.insert(label.to_owned(), found.clone()).await;
                Ok(found)
            }
            Err(error) if error.is_not_found() => {
                self.last.invalidate(label).await;
                Ok(found(None))
            }
            Err(error) => match self.last.get(label).await.filter(|last| self.is_unchanged(host, last)) {
                Some(last) => {
                    tracing::warn!(error = %api::ErrorChain(&error), "gpu service unavailable, using the last known route");
                    Ok(Found { at: Instant::now(), ..last })
                }
                None => Err(error),
            },
        }
    }
}

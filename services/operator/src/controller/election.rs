//! Leader election by a Kubernetes Lease: a replica takes the lease when it is free or its holder has stopped renewing
//! it, renews it every third of its duration, and releases it on shutdown.
//!
//! Expiry is measured with this process's own clock, from when it last saw the lease change: clocks of different
//! machines are never compared. Between two renewals a [`Fence`] says how long this process may still write. It
//! closes before another replica can take the lease: after 0.8 of its duration, counted from before the renewal.
//!
//! **Why 3 s.** A leader that is killed has renewed the lease at most 1 s before, so it expires 2 to 3 s later. A
//! standby reads it every 0.5 s and tries to take it at the moment of expiry: hand-over takes at most 3.5 s and two
//! requests. The fence closes 2.4 s after a renewal began: time for that one and the next, of up to 1.2 s each.
//!
//! **A slow API server** would make the leader lose so short a lease again and again. It therefore declares a longer
//! one while requests are slow: five times the slowest of the recent ones, up to five times the setting. With requests
//! of 2 s it renews a lease of 10 s every 2 s, and the fence closes after 8 s: two requests fit that take twice as long
//! as any before. If they become slow from one renewal to the next, the fence closes until the answer arrives, and the
//! same replica continues.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::cache::Cache;
use super::metrics::Metrics;
use super::system;

/// Longest pause between two attempts of a replica that does not lead, or that failed to renew.
const RETRY: Duration = Duration::from_millis(500);
/// The fence closes after this part of the lease's duration.
const FENCE: f64 = 0.8;
/// The declared duration, as a multiple of the slowest request. The fence leaves time for two, one after the other, that
/// take twice as long.
const SLOW_REQUESTS: u32 = 5;
/// The longest declared duration, as a multiple of the setting.
const LONGEST: u32 = 5;

/// The lease and its duration.
#[derive(Clone, Debug)]
pub struct LeaseSettings {
    /// Namespace of the lease.
    pub namespace: String,
    /// Name of the lease.
    pub name: String,
    /// Time after its last renewal at which the lease expires: whole seconds. Longer while the API server is slow.
    pub duration: Duration,
}

impl Default for LeaseSettings {
    fn default() -> Self {
        Self {
            namespace: crds::names::SYSTEM_NAMESPACE.to_owned(),
            name: "atelier-operator".to_owned(),
            duration: Duration::from_secs(3),
        }
    }
}

/// The time until which this process may write.
#[derive(Clone, Debug, Default)]
pub struct Fence(Arc<Mutex<Option<Instant>>>);

impl Fence {
    /// Whether a write may begin now.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.until().is_some_and(|until| Instant::now() < until)
    }

    /// Waits until it is closed.
    async fn closed(&self) {
        while let Some(until) = self.until().filter(|until| Instant::now() < *until) {
            tokio::time::sleep_until(until).await;
        }
    }

    fn until(&self) -> Option<Instant> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets it close no later than this.
    fn lower(&self, until: Instant) {
        let mut own = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *own = own.map(|own| own.min(until));
    }

    fn set(&self, until: Option<Instant>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }
}

/// The worker that takes and renews the lease.
#[derive(Clone)]
pub(crate) struct Election {
    pub(crate) client: Client,
    pub(crate) settings: LeaseSettings,
    /// Name of this replica.
    pub(crate) identity: String,
    pub(crate) fence: Fence,
    pub(crate) cache: Cache,
    pub(crate) metrics: Metrics,
    pub(crate) clock: fn() -> Timestamp,
    /// Whether this replica leads.
    pub(crate) leads: watch::Sender<bool>,
}

impl Election {
    /// Takes and renews the lease until `shutdown`, then releases it. Leadership ends when the future is dropped.
    pub(crate) async fn run(self, shutdown: CancellationToken) -> anyhow::Result<()> {
        let resign = Resign(&self);
        let mut candidate = Candidate::new(&self);
        while !shutdown.is_cancelled() {
            let attempt = async {
                let next = Box::pin(self.campaign(&mut candidate)).await;
                tokio::time::sleep_until(next).await;
            };
            shutdown.run_until_cancelled(attempt).await;
        }
        drop(resign);
        if let Err(error) = candidate.release().await {
            tracing::warn!(%error, "cannot release the lease");
        }
        Ok(())
    }

    /// Tries once to take or renew the lease. Returns the time of the next attempt.
    async fn campaign(&self, candidate: &mut Candidate) -> Instant {
        let begun = Instant::now();
        let leads = *self.leads.borrow();
        let held = {
            let attempt = candidate.try_hold();
            tokio::pin!(attempt);
            tokio::select! {
                biased;
                held = &mut attempt => held,
                // the attempt continues: another replica may be as far from the API server as this one
                () = self.fence.closed(), if leads => {
                    self.set_leading(false);
                    attempt.await
                }
            }
        };
        match held {
            Ok(Some(until)) => {
                if !self.fence.is_open() {
                    // nobody could act on what was seen meanwhile
                    self.cache.begin((self.clock)());
                }
                self.fence.set(Some(until));
                self.set_leading(self.fence.is_open());
                return begun + self.settings.duration / 3;
            }
            Ok(None) => self.set_leading(false),
            // the fence stays open for as long as no other replica can have taken the lease
            Err(error) => {
                tracing::warn!(%error, "cannot take or renew the lease");
                // on a new cluster the namespace of the lease may not exist yet
                if matches!(&error, kube::Error::Api(status) if status.code == 404)
                    && let Err(error) = system::ensure(&self.client).await
                {
                    tracing::warn!(%error, "cannot create the system objects");
                }
                self.set_leading(self.fence.is_open());
            }
        }
        let retry = Instant::now() + RETRY;
        candidate.expiry().map_or(retry, |expiry| expiry.min(retry))
    }

    fn set_leading(&self, leads: bool) {
        if !leads {
            self.fence.set(None);
        }
        let changed = self.leads.send_if_modified(|led| std::mem::replace(led, leads) != leads);
        if changed {
            self.metrics.leads(leads);
            tracing::info!(identity = self.identity, leads, "leadership changed");
        }
    }
}

/// Ends the leadership when dropped, also by a panic. The next attempt can take the lease at once: it is still in
/// this replica's name.
struct Resign<'a>(&'a Election);

impl Drop for Resign<'_> {
    fn drop(&mut self) {
        self.0.set_leading(false);
    }
}

/// The requests of the election.
struct Candidate {
    api: Api<Lease>,
    settings: LeaseSettings,
    identity: String,
    fence: Fence,
    clock: fn() -> Timestamp,
    /// The lease as it was last read or written, unless a write has failed since.
    seen: Option<Seen>,
    /// Duration of the slowest of the recent requests.
    slowest: Duration,
}

/// A version of the lease.
struct Seen {
    lease: Lease,
    /// When this process first saw it.
    since: Instant,
}

impl Seen {
    fn holder(&self) -> &str {
        self.lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref()).unwrap_or_default()
    }

    /// When the lease expires unless it is renewed.
    fn expiry(&self) -> Instant {
        let declared = self.lease.spec.as_ref().and_then(|spec| spec.lease_duration_seconds);
        let seconds = declared.and_then(|seconds| u64::try_from(seconds).ok()).unwrap_or_default();
        self.since + Duration::from_secs(seconds.max(1))
    }
}

impl Candidate {
    fn new(election: &Election) -> Self {
        Self {
            api: Api::namespaced(election.client.clone(), &election.settings.namespace),
            settings: election.settings.clone(),
            identity: election.identity.clone(),
            fence: election.fence.clone(),
            clock: election.clock,
            seen: None,
            slowest: Duration::ZERO,
        }
    }

    /// Tries to take or renew the lease. Returns until when this replica may write if it holds the lease now.
    async fn try_hold(&mut self) -> Result<Option<Instant>, kube::Error> {
        match self.try_hold_seen().await {
            // the version that was seen is not the current one
            Err(kube::Error::Api(status)) if status.code == 409 => self.try_hold_seen().await,
            tried => tried,
        }
    }

    async fn try_hold_seen(&mut self) -> Result<Option<Instant>, kube::Error> {
        if !self.seen.as_ref().is_some_and(|seen| self.may_take(seen)) {
            self.read().await?;
        }
        match self.seen.take() {
            Some(seen) if !self.may_take(&seen) => {
                self.seen = Some(seen);
                Ok(None)
            }
            seen => self.write(seen.map(|seen| seen.lease)).await.map(Some),
        }
    }

    /// Whether this replica holds the lease, it is free, or it has expired.
    fn may_take(&self, seen: &Seen) -> bool {
        let holder = seen.holder();
        holder == self.identity || holder.is_empty() || Instant::now() >= seen.expiry()
    }

    /// When the lease of another replica expires.
    fn expiry(&self) -> Option<Instant> {
        self.seen.as_ref().map(Seen::expiry)
    }

    async fn read(&mut self) -> Result<(), kube::Error> {
        let (api, name) = (self.api.clone(), self.settings.name.clone());
        let found = self.timed(api.get_opt(&name)).await?;
        let since = match (&self.seen, &found) {
            (Some(seen), Some(lease))
                if seen.lease.metadata.resource_version == lease.metadata.resource_version =>
            {
                seen.since
            }
            _ => Instant::now(),
        };
        self.seen = found.map(|lease| Seen { lease, since });
        Ok(())
    }

    /// Writes the lease in this replica's name, bound to the version that was read: of two replicas only one succeeds.
    /// Returns until when this replica may write.
    async fn write(&mut self, lease: Option<Lease>) -> Result<Instant, kube::Error> {
        let now = MicroTime((self.clock)());
        let duration = self.duration();
        let before = lease.as_ref().and_then(|lease| lease.spec.clone()).unwrap_or_default();
        let renewed = before.holder_identity.as_deref() == Some(self.identity.as_str());
        let spec = LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: Some(i32::try_from(duration.as_secs()).unwrap_or(i32::MAX)),
            acquire_time: if renewed { before.acquire_time } else { Some(now.clone()) },
            renew_time: Some(now),
            lease_transitions: Some(
                before.lease_transitions.unwrap_or(0).saturating_add(i32::from(!renewed)),
            ),
            ..LeaseSpec::default()
        };
        let (api, name, params) = (self.api.clone(), self.settings.name.clone(), PostParams::default());
        // counted from before the request: the lease may be written at any time from now on
        let until = Instant::now() + duration.mul_f64(FENCE);
        // the lease may become shorter although the answer is lost
        self.fence.lower(until);
        let written = match lease {
            None => {
                let metadata = ObjectMeta { name: Some(name), ..ObjectMeta::default() };
                self.timed(api.create(&params, &Lease { metadata, spec: Some(spec) })).await?
            }
            Some(lease) => {
                self.timed(api.replace(&name, &params, &Lease { spec: Some(spec), ..lease })).await?
            }
        };
        self.seen = Some(Seen { lease: written, since: Instant::now() });
        Ok(until)
    }

    /// The duration to declare, in whole seconds.
    fn duration(&self) -> Duration {
        let slow = (self.slowest * SLOW_REQUESTS).as_secs_f64().ceil();
        let setting = self.settings.duration.max(Duration::from_secs(1));
        Duration::from_secs_f64(slow).clamp(setting, setting * LONGEST)
    }

    /// Sends a request and measures it. One that is too slow for the longest lease fails: its connection may be dead.
    async fn timed<T>(
        &mut self,
        request: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<T, kube::Error> {
        let begun = Instant::now();
        let result = tokio::time::timeout(self.settings.duration * LONGEST / SLOW_REQUESTS, request)
            .await
            .map_err(|_| kube::Error::Service("no answer in time".into()))?;
        self.slowest = begun.elapsed().max(self.slowest.mul_f64(0.8));
        result
    }

    /// Releases the lease if this replica holds it.
    async fn release(&mut self) -> Result<(), kube::Error> {
        self.read().await?;
        let Some(mut lease) = self.seen.take().map(|seen| seen.lease) else { return Ok(()) };
        let Some(spec) = lease
            .spec
            .as_mut()
            .filter(|spec| spec.holder_identity.as_deref() == Some(self.identity.as_str()))
        else {
            return Ok(());
        };
        spec.holder_identity = Some(String::new());
        spec.lease_duration_seconds = Some(1);
        let (api, name) = (self.api.clone(), self.settings.name.clone());
        match self.timed(api.replace(&name, &PostParams::default(), &lease)).await {
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
            other => other.map(drop),
        }
    }
}

#[cfg(test)]
mod tests;

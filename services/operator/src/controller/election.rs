//! Leader election by a Kubernetes Lease: a replica takes the lease when it is free or its holder has stopped renewing
//! it, renews it every third of its duration, and releases it on shutdown.
//!
//! Expiry is measured with this process's own clock, from when it last saw the lease change: clocks of different
//! machines are never compared. Between two renewals a [`Fence`] says how long this process may still write. It
//! closes before another replica can take the lease.

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

/// Longest pause between two attempts of a replica that does not lead.
const CAMPAIGN_PERIOD: Duration = Duration::from_secs(1);

/// The lease and its duration.
#[derive(Clone, Debug)]
pub struct LeaseSettings {
    /// Namespace of the lease.
    pub namespace: String,
    /// Name of the lease.
    pub name: String,
    /// Time after its last renewal at which the lease expires.
    pub duration: Duration,
}

impl Default for LeaseSettings {
    fn default() -> Self {
        Self {
            namespace: crds::names::SYSTEM_NAMESPACE.to_owned(),
            name: "atelier-operator".to_owned(),
            duration: Duration::from_secs(15),
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
        let until = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        until.is_some_and(|until| Instant::now() < until)
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
            let period = self.settings.duration / 3;
            self.campaign(&mut candidate, period).await;
            let pause = if *self.leads.borrow() { period } else { period.min(CAMPAIGN_PERIOD) };
            shutdown.run_until_cancelled(tokio::time::sleep(pause)).await;
        }
        drop(resign);
        if let Err(error) = candidate.release().await {
            tracing::warn!(%error, "cannot release the lease");
        }
        Ok(())
    }

    async fn campaign(&self, candidate: &mut Candidate, timeout: Duration) {
        let was_open = self.fence.is_open();
        match tokio::time::timeout(timeout, candidate.try_hold()).await {
            Ok(Ok(held)) => {
                if held && !was_open {
                    // nobody could act on what was seen meanwhile
                    self.cache.begin((self.clock)());
                }
                self.set_leading(held);
            }
            // the fence stays open for as long as no other replica can have taken the lease
            Ok(Err(error)) => {
                tracing::warn!(%error, "cannot take or renew the lease");
                // on a new cluster the namespace of the lease may not exist yet
                if matches!(&error, kube::Error::Api(status) if status.code == 404)
                    && let Err(error) = system::ensure(&self.client).await
                {
                    tracing::warn!(%error, "cannot create the system objects");
                }
                self.set_leading(self.fence.is_open());
            }
            Err(_) => {
                tracing::warn!("timeout while taking or renewing the lease");
                self.set_leading(self.fence.is_open());
            }
        }
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
    seen: Option<SeenLease>,
}

/// The version of the lease that was read last.
struct SeenLease {
    version: String,
    since: Instant,
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
        }
    }

    /// Tries once to take or renew the lease. Returns whether this replica holds it now.
    async fn try_hold(&mut self) -> Result<bool, kube::Error> {
        // counted from before the request: the lease may have been written at any time since
        let begun = Instant::now();
        let held = match self.api.get_opt(&self.settings.name).await? {
            None => self.write(None).await?,
            Some(lease) => {
                let spec = lease.spec.clone().unwrap_or_default();
                let holder = spec.holder_identity.unwrap_or_default();
                if holder == self.identity || holder.is_empty() || self.has_expired(&lease) {
                    self.write(Some(lease)).await?
                } else {
                    false
                }
            }
        };
        if held {
            self.fence.set(Some(begun + self.settings.duration.mul_f64(0.8)));
        }
        Ok(held)
    }

    /// Whether the holder has not renewed the lease for its duration.
    fn has_expired(&mut self, lease: &Lease) -> bool {
        let version = lease.metadata.resource_version.clone().unwrap_or_default();
        let declared = lease
            .spec
            .as_ref()
            .and_then(|spec| spec.lease_duration_seconds)
            .and_then(|seconds| u64::try_from(seconds).ok());
        let duration =
            declared.map_or(self.settings.duration, Duration::from_secs).max(Duration::from_secs(1));
        match &self.seen {
            Some(seen) if seen.version == version => seen.since.elapsed() >= duration,
            _ => {
                self.seen = Some(SeenLease { version, since: Instant::now() });
                false
            }
        }
    }

    /// Writes the lease in this replica's name. Returns false if another replica wrote it first.
    async fn write(&self, lease: Option<Lease>) -> Result<bool, kube::Error> {
        let now = MicroTime((self.clock)());
        let seconds = i32::try_from(self.settings.duration.as_secs().max(1)).unwrap_or(i32::MAX);
        let before = lease.as_ref().and_then(|lease| lease.spec.clone()).unwrap_or_default();
        let renewed = before.holder_identity.as_deref() == Some(self.identity.as_str());
        let spec = LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: Some(seconds),
            acquire_time: if renewed { before.acquire_time } else { Some(now.clone()) },
            renew_time: Some(now),
            lease_transitions: Some(
                before.lease_transitions.unwrap_or(0).saturating_add(i32::from(!renewed)),
            ),
            ..LeaseSpec::default()
        };
        let written = match lease {
            None => {
                let metadata = ObjectMeta { name: Some(self.settings.name.clone()), ..ObjectMeta::default() };
                self.api.create(&PostParams::default(), &Lease { metadata, spec: Some(spec) }).await
            }
            // bound to the version that was read: of two replicas only one succeeds
            Some(lease) => {
                self.api
                    .replace(
                        &self.settings.name,
                        &PostParams::default(),
                        &Lease { spec: Some(spec), ..lease },
                    )
                    .await
            }
        };
        match written {
            Ok(_) => Ok(true),
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Releases the lease if this replica holds it.
    async fn release(&self) -> Result<(), kube::Error> {
        let Some(mut lease) = self.api.get_opt(&self.settings.name).await? else { return Ok(()) };
        let Some(spec) = lease
            .spec
            .as_mut()
            .filter(|spec| spec.holder_identity.as_deref() == Some(self.identity.as_str()))
        else {
            return Ok(());
        };
        spec.holder_identity = Some(String::new());
        spec.lease_duration_seconds = Some(1);
        match self.api.replace(&self.settings.name, &PostParams::default(), &lease).await {
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
            other => other.map(drop),
        }
    }
}

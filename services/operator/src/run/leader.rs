//! One leader among the replicas, by a Lease: taken when it is free or its holder fell silent, renewed by a
//! third of its time, given back on an orderly end so that the next replica need not wait.
//!
//! Silence is measured by this process's own clock, from when it saw the lease change last: clocks of
//! different machines are never compared. Between two renewals a [`Fence`] tells how long this process may
//! still write; it closes before anybody else can take the lease.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use tokio::time::Instant;

/// The lease and its times.
#[derive(Clone, Debug)]
pub struct LeaseSettings {
    /// Namespace of the lease.
    pub namespace: String,
    /// Name of the lease.
    pub name: String,
    /// How long a silent holder keeps it.
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

/// Until when this process may write.
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

/// This replica's part in the election.
pub(crate) struct Candidate {
    api: Api<Lease>,
    settings: LeaseSettings,
    identity: String,
    fence: Fence,
    clock: fn() -> Timestamp,
    /// The holder and version seen last, and since when they stand.
    seen: Option<(String, Instant)>,
}

impl Candidate {
    pub(crate) fn new(
        client: Client,
        settings: LeaseSettings,
        identity: String,
        fence: Fence,
        clock: fn() -> Timestamp,
    ) -> Self {
        let api = Api::namespaced(client, &settings.namespace);
        Self { api, settings, identity, fence, clock, seen: None }
    }

    /// How often the lease is looked at.
    pub(crate) fn pace(&self) -> Duration {
        self.settings.duration / 3
    }

    /// Tries once to take or renew the lease; true when this replica holds it now.
    pub(crate) async fn try_hold(&mut self) -> Result<bool, kube::Error> {
        // counted from before the request: the lease may have been written at any time since
        let begun = Instant::now();
        let held = match self.api.get_opt(&self.settings.name).await? {
            None => self.write(None).await?,
            Some(lease) => {
                let spec = lease.spec.clone().unwrap_or_default();
                let holder = spec.holder_identity.unwrap_or_default();
                if holder == self.identity || holder.is_empty() || self.is_silent(&lease) {
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

    fn is_silent(&mut self, lease: &Lease) -> bool {
        let version = lease.metadata.resource_version.clone().unwrap_or_default();
        let own = lease
            .spec
            .as_ref()
            .and_then(|spec| spec.lease_duration_seconds)
            .and_then(|seconds| u64::try_from(seconds).ok());
        let patience = own.map_or(self.settings.duration, Duration::from_secs).max(Duration::from_secs(1));
        match &self.seen {
            Some((seen, since)) if *seen == version => since.elapsed() >= patience,
            _ => {
                self.seen = Some((version, Instant::now()));
                false
            }
        }
    }

    /// Writes the lease in this replica's name; false when another was faster.
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
            // carries the version that was read: of two replicas only one succeeds
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

    /// Stops writing and gives the lease back, if this replica holds it.
    pub(crate) async fn give_back(&self) -> Result<(), kube::Error> {
        self.fence.set(None);
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

    /// The lease is lost: no write may begin any more.
    pub(crate) fn stop_writing(&self) {
        self.fence.set(None);
    }
}

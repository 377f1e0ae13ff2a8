//! Calls of the stock service.

use api::Changes;
use ids::{DatacenterId, GpuSpecId, InstanceId};
use jiff::Timestamp;
use peer::{Endpoint, Error, NO_BODY, Peer};
use reqwest::Method;
use secrecy::SecretString;

use crate::{
    Claim, ClaimPatch, ClaimRequest, Datacenter, GpuSpec, Grant, QueueEntries, Quote, SpareUnits, Turn,
    WaitRequest,
};

/// Client of the stock service.
#[derive(Debug, Clone)]
pub struct Client(Peer);

impl Client {
    /// A client for the service at `endpoint`.
    #[must_use]
    pub fn new(http: reqwest::Client, endpoint: Endpoint) -> Self {
        Self(Peer::new(http, endpoint))
    }

    /// Claims a unit, or returns the claim that the instance already holds.
    ///
    /// # Errors
    /// Returns the problem `stock-exhausted` if no unit is free, or the errors of every call.
    pub async fn claim(&self, request: &ClaimRequest) -> Result<Claim, Error> {
        let key = peer::new_key();
        self.0.call(Method::POST, "/internal/v1/claims", Some(&key), Some(request)).await
    }

    /// Returns the claim of the instance.
    ///
    /// # Errors
    /// Returns the problem `not-found` if the instance holds no unit, or the errors of every call.
    pub async fn find_claim(&self, instance: InstanceId) -> Result<Claim, Error> {
        self.0.call(Method::GET, &format!("/internal/v1/claims/{instance}"), None, NO_BODY).await
    }

    /// Changes the recall rank of the interruptible claim that the instance made at this time.
    ///
    /// # Errors
    /// Returns the problem `not-found` if there is no such claim, or the errors of every call.
    pub async fn update_claim(&self, instance: InstanceId, patch: &ClaimPatch) -> Result<(), Error> {
        let path = format!("/internal/v1/claims/{instance}");
        self.0.call(Method::PATCH, &path, None, Some(patch)).await
    }

    /// Claims a unit, or enters the instance into the queue if none is free. Idempotent: a place in the queue is kept.
    ///
    /// # Errors
    /// Returns the problem `stock-exhausted` if there is nothing to wait for, or the errors of every call.
    pub async fn claim_or_wait(&self, instance: InstanceId, request: &WaitRequest) -> Result<Turn, Error> {
        let key = peer::new_key();
        self.0.call(Method::PUT, &format!("/internal/v1/queue/{instance}"), Some(&key), Some(request)).await
    }

    /// Releases the claim made at `claimed_at`, and ends the wait of this start (`attempt`) or an earlier
    /// one. A later claim or wait of the instance stays, even if the call arrives late. Idempotent.
    ///
    /// # Errors
    /// Returns the errors of every call.
    pub async fn release(
        &self,
        instance: InstanceId,
        claimed_at: Timestamp,
        attempt: i64,
    ) -> Result<(), Error> {
        let key = peer::new_key();
        let path = format!("/internal/v1/claims/{instance}?claimed_at={claimed_at}&attempt={attempt}");
        self.0.call(Method::DELETE, &path, Some(&key), NO_BODY).await
    }

    /// Returns the entries of those of the instances that wait, at most 200. `subject` is the access token of the user who
    /// sees them, if it is a user's request.
    ///
    /// # Errors
    /// Returns the errors of every call.
    pub async fn queue_entries(
        &self,
        instances: &[InstanceId],
        subject: Option<&SecretString>,
    ) -> Result<QueueEntries, Error> {
        let ids: Vec<String> = instances.iter().map(InstanceId::to_string).collect();
        let path = format!("/internal/v1/queue?instance_ids={}", ids.join(","));
        self.0.call_for(subject, Method::GET, &path, None, NO_BODY).await
    }

    /// Returns the grants after a cursor (empty: the beginning), and waits for the next if there are none, at most for
    /// `wait_seconds` (20).
    ///
    /// # Errors
    /// Returns the errors of every call.
    pub async fn queue_grants(&self, after: &str, wait_seconds: u32) -> Result<Changes<Grant>, Error> {
        let after = peer::query_value(after);
        let path = format!("/internal/v1/queue-grants?wait_seconds={wait_seconds}&after={after}");
        self.0.call(Method::GET, &path, None, NO_BODY).await
    }

    /// Returns what a claim of a unit would get now. `subject` is the access token of the user who asks.
    ///
    /// # Errors
    /// Returns the errors of every call.
    pub async fn quote(
        &self,
        spec: GpuSpecId,
        datacenter: Option<DatacenterId>,
        subject: &SecretString,
    ) -> Result<Quote, Error> {
        let place = datacenter.map(|id| format!("&datacenter_id={id}")).unwrap_or_default();
        let path = format!("/internal/v1/quotes?gpu_spec_id={spec}{place}");
        self.0.call_for(Some(subject), Method::GET, &path, None, NO_BODY).await
    }

    /// Returns how many units interruptible claims of the specification with this name would get now.
    ///
    /// # Errors
    /// Returns the problem `not-found`, or the errors of every call.
    pub async fn spare_units(&self, gpu_spec: &str) -> Result<SpareUnits, Error> {
        let path = format!("/internal/v1/spare-units?gpu_spec={}", peer::query_value(gpu_spec));
        self.0.call(Method::GET, &path, None, NO_BODY).await
    }

    /// Returns the specification with this id or name. `subject` is the access token of the user who names it; none if a
    /// service does.
    ///
    /// # Errors
    /// Returns the problem `not-found`, or the errors of every call.
    pub async fn gpu_spec(&self, id_or_name: &str, subject: Option<&SecretString>) -> Result<GpuSpec, Error> {
        let path = format!("/internal/v1/gpu-specs/{}", peer::segment(id_or_name));
        self.0.call_for(subject, Method::GET, &path, None, NO_BODY).await
    }

    /// Returns the datacenter with this id or name, for the user whose access token is `subject`.
    ///
    /// # Errors
    /// Returns the problem `not-found`, or the errors of every call.
    pub async fn datacenter(&self, id_or_name: &str, subject: &SecretString) -> Result<Datacenter, Error> {
        let path = format!("/v1/datacenters/{}", peer::segment(id_or_name));
        self.0.call_for(Some(subject), Method::GET, &path, None, NO_BODY).await
    }

    /// Returns the datacenter with this id or name, for a service that names it.
    ///
    /// # Errors
    /// Returns the problem `not-found`, or the errors of every call.
    pub async fn find_datacenter(&self, id_or_name: &str) -> Result<Datacenter, Error> {
        let path = format!("/internal/v1/datacenters/{}", peer::segment(id_or_name));
        self.0.call(Method::GET, &path, None, NO_BODY).await
    }
}

//! The stock service, as the gpu service calls it.

use ids::{DatacenterId, GpuSpecId, InstanceId, TenantId, UnitId};
use jiff::Timestamp;
use reqwest::Method;
use rust_decimal::Decimal;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::http::{Endpoint, Error, NO_BODY, Peer};

/// A request for one unit of a specification.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ClaimRequest {
    /// The instance that claims. A repeated request returns the unit it holds.
    pub instance_id: InstanceId,
    /// The owner of the instance.
    pub tenant_id: TenantId,
    /// The specification of the unit.
    pub gpu_spec_id: GpuSpecId,
    /// Restricts the claim to this datacenter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datacenter_id: Option<DatacenterId>,
    /// Node to prefer, if it has a free unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preferred_node: Option<String>,
    /// Whether a claim that finds no free unit may take this one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interruptible: bool,
}

/// The claim that another one has interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
pub struct ClaimRecall {
    /// The instance that has to leave the unit.
    pub instance_id: InstanceId,
    /// Until when it leaves.
    pub leave_by: Timestamp,
}

/// A change of an interruptible claim.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct ClaimPatch {
    /// Time of the claim: a later one does not change.
    #[schema(value_type = String, format = DateTime)]
    pub claimed_at: Timestamp,
    /// Lower is taken first.
    pub recall_rank: i16,
}

/// A unit held by an instance.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
pub struct Claim {
    /// The holder.
    pub instance_id: InstanceId,
    /// The unit.
    pub unit_id: UnitId,
    /// Name of the `GpuUnit`.
    pub unit_name: String,
    /// The unit's specification.
    pub gpu_spec_id: GpuSpecId,
    /// The specification's name.
    pub gpu_spec_name: String,
    /// The unit's datacenter.
    pub datacenter_id: DatacenterId,
    /// The datacenter's name.
    pub datacenter_name: String,
    /// The configured name of the datacenter's cluster.
    pub cluster: String,
    /// The node that the unit's place is on.
    pub node: Option<String>,
    /// Price per hour at the time of the claim.
    #[schema(value_type = String)]
    pub price_per_hour: Decimal,
    /// ISO 4217.
    pub currency: String,
    /// Part of the price for which the instance may keep the unit while it is stopped; none if it may not.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub hold_price_fraction: Option<Decimal>,
    /// Time of the claim.
    pub claimed_at: Timestamp,
    /// The interruptible claim whose unit this one has taken.
    #[serde(default)]
    pub recall: Option<ClaimRecall>,
}

/// A request for a unit now, or as soon as it is the instance's turn.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct WaitRequest {
    /// The owner of the instance.
    pub tenant_id: TenantId,
    /// The specification of the unit.
    pub gpu_spec_id: GpuSpecId,
    /// Restricts the claim to this datacenter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datacenter_id: Option<DatacenterId>,
    /// Node to prefer, if it has a free unit now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preferred_node: Option<String>,
    /// Number of the instance's start.
    pub attempt: i64,
}

/// The answer to an instance that is ready to wait.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
pub struct Turn {
    /// The claim; none while the instance waits in the queue.
    pub claim: Option<Claim>,
}

/// Units that interruptible claims would get now, and those that they are wanted to return.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
pub struct SpareUnits {
    /// Units that they would get.
    pub units: i64,
    /// Of each datacenter with fewer free units than are held back, what is wanted back. Empty in answers of earlier releases.
    #[serde(default)]
    pub wanted_back: Vec<WantedBack>,
}

/// Units of a datacenter that interruptible claims are wanted to return.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
pub struct WantedBack {
    /// How many are missing.
    pub units: i64,
    /// Instances with interruptible claims there.
    pub instances: Vec<InstanceId>,
}

/// Id and name of a GPU specification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GpuSpecRef {
    /// GPU specification id.
    pub id: GpuSpecId,
    /// Name.
    pub name: String,
}

/// Id and name of a datacenter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DatacenterRef {
    /// Datacenter id.
    pub id: DatacenterId,
    /// Name.
    pub name: String,
}

/// Units that could be claimed now instead.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Alternative {
    /// Specification of the units.
    pub gpu_spec: GpuSpecRef,
    /// Datacenter of the units.
    pub datacenter: DatacenterRef,
    /// Free units.
    pub available: i64,
    /// Price per hour.
    #[schema(value_type = String)]
    pub price_per_hour: Decimal,
    /// Currency (ISO 4217).
    pub currency: String,
}

/// When a unit is expected, if units are released as often as recently.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Estimate {
    /// Expected time.
    pub starts_at: Timestamp,
    /// Releases of such units on which the estimate is based.
    pub releases: i64,
    /// Seconds in which these releases happened, until now.
    pub period_seconds: i64,
}

/// An instance that waits for a unit.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
pub struct QueueEntry {
    /// The instance.
    pub instance_id: InstanceId,
    /// Its place; 1 is next.
    pub position: i64,
    /// Instances that wait for the specification.
    pub length: i64,
    /// The specification.
    pub gpu_spec: GpuSpecRef,
    /// The required datacenter.
    pub datacenter: Option<DatacenterRef>,
    /// Whether the required datacenter is draining.
    pub draining: bool,
    /// Time since which it waits.
    pub since: Timestamp,
    /// When a unit is expected.
    pub estimate: Option<Estimate>,
    /// Units that could be claimed now instead.
    pub alternatives: Vec<Alternative>,
}

/// The entries of instances that wait.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
pub struct QueueEntries {
    /// Instances that do not wait are missing.
    pub items: Vec<QueueEntry>,
}

/// What a claim would get now.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
pub struct Quote {
    /// Free units.
    pub available: i64,
    /// Whether the required datacenter is draining.
    pub draining: bool,
    /// Instances that wait for such a unit.
    pub waiting: i64,
    /// When a unit is expected for one more that waits.
    pub estimate: Option<Estimate>,
    /// Units that could be claimed now instead.
    pub alternatives: Vec<Alternative>,
}

/// A unit was given to an instance that waited for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
pub struct Grant {
    /// The instance.
    pub instance_id: InstanceId,
}

/// One grant in the feed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
pub struct GrantChange {
    /// The grant.
    pub change: Grant,
}

/// Grants after a cursor.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
pub struct Grants {
    /// The grants, oldest first.
    pub items: Vec<GrantChange>,
    /// The cursor after them.
    pub next_cursor: String,
}

/// State of a GPU specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum GpuSpecState {
    /// Offered to tenants.
    Active,
    /// Not offered any more; existing units remain.
    Retired,
}

/// A GPU specification, as far as the gpu service needs it.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
pub struct GpuSpec {
    /// Id of the specification.
    pub id: GpuSpecId,
    /// Name of the specification.
    pub name: String,
    /// Model of its GPUs.
    pub gpu_model: String,
    /// Number of its GPUs.
    pub gpu_count: i64,
    /// Whether new instances may use it.
    pub state: GpuSpecState,
    /// Current price per hour.
    #[schema(value_type = String)]
    pub price_per_hour: Decimal,
    /// ISO 4217.
    pub currency: String,
    /// Part of the price for which a stopped instance may keep its unit; none if it may not.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub hold_price_fraction: Option<Decimal>,
}

/// A datacenter that exists.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
pub struct Datacenter {
    /// Id of the datacenter.
    pub id: DatacenterId,
    /// Its name.
    pub name: String,
}

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
        let key = crate::http::new_key();
        self.0.call(Method::POST, "/internal/v1/claims", Some(&key), Some(request)).await
    }

    /// Returns the claim of the instance.
    ///
    /// # Errors
    /// Returns the problem `not-found` if the instance holds no unit, or the errors of every call.
    pub async fn find_claim(&self, instance: InstanceId) -> Result<Claim, Error> {
        self.0.call(Method::GET, &format!("/internal/v1/claims/{instance}"), None, NO_BODY).await
    }

    /// Changes when the interruptible claim that the instance made at this time is taken.
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
        let key = crate::http::new_key();
        self.0.call(Method::PUT, &format!("/internal/v1/queue/{instance}"), Some(&key), Some(request)).await
    }

    /// Releases the claim made at `claimed_at`, and ends the wait of this start (`attempt`) or an earlier one. A later
    /// claim or wait of the instance stays, however late the call arrives. Idempotent.
    ///
    /// # Errors
    /// Returns the errors of every call.
    pub async fn release(
        &self,
        instance: InstanceId,
        claimed_at: Timestamp,
        attempt: i64,
    ) -> Result<(), Error> {
        let key = crate::http::new_key();
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
    pub async fn queue_grants(&self, after: &str, wait_seconds: u32) -> Result<Grants, Error> {
        let after = crate::http::query_value(after);
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
        let path = format!("/internal/v1/spare-units?gpu_spec={}", crate::http::query_value(gpu_spec));
        self.0.call(Method::GET, &path, None, NO_BODY).await
    }

    /// Returns the specification with this id or name. `subject` is the access token of the user who names it; none if a
    /// service does.
    ///
    /// # Errors
    /// Returns the problem `not-found`, or the errors of every call.
    pub async fn gpu_spec(&self, id_or_name: &str, subject: Option<&SecretString>) -> Result<GpuSpec, Error> {
        let path = format!("/internal/v1/gpu-specs/{}", crate::http::segment(id_or_name));
        self.0.call_for(subject, Method::GET, &path, None, NO_BODY).await
    }

    /// Returns the datacenter with this id or name, for the user whose access token is `subject`.
    ///
    /// # Errors
    /// Returns the problem `not-found`, or the errors of every call.
    pub async fn datacenter(&self, id_or_name: &str, subject: &SecretString) -> Result<Datacenter, Error> {
        let path = format!("/v1/datacenters/{}", crate::http::segment(id_or_name));
        self.0.call_for(Some(subject), Method::GET, &path, None, NO_BODY).await
    }

    /// Returns the datacenter with this id or name, for a service that names it.
    ///
    /// # Errors
    /// Returns the problem `not-found`, or the errors of every call.
    pub async fn find_datacenter(&self, id_or_name: &str) -> Result<Datacenter, Error> {
        let path = format!("/internal/v1/datacenters/{}", crate::http::segment(id_or_name));
        self.0.call(Method::GET, &path, None, NO_BODY).await
    }
}

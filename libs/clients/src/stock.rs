//! The stock service, as the gpu service calls it.

use ids::{DatacenterId, GpuSpecId, InstanceId, TenantId, UnitId};
use jiff::Timestamp;
use reqwest::Method;
use rust_decimal::Decimal;
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
    /// Time of the claim.
    pub claimed_at: Timestamp,
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
    /// Whether new instances may use it.
    pub state: GpuSpecState,
    /// Current price per hour.
    #[schema(value_type = String)]
    pub price_per_hour: Decimal,
    /// ISO 4217.
    pub currency: String,
}

/// A datacenter that exists.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
pub struct Datacenter {
    /// Id of the datacenter.
    pub id: DatacenterId,
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

    /// Releases the claim made at `claimed_at`. A later claim of the instance stays, however late the call arrives.
    /// Idempotent.
    ///
    /// # Errors
    /// Returns the errors of every call.
    pub async fn release(&self, instance: InstanceId, claimed_at: Timestamp) -> Result<(), Error> {
        let key = crate::http::new_key();
        let path = format!("/internal/v1/claims/{instance}?claimed_at={claimed_at}");
        self.0.call(Method::DELETE, &path, Some(&key), NO_BODY).await
    }

    /// Returns the specification with this id or name.
    ///
    /// # Errors
    /// Returns the problem `not-found`, or the errors of every call.
    pub async fn gpu_spec(&self, id_or_name: &str) -> Result<GpuSpec, Error> {
        let path = format!("/internal/v1/gpu-specs/{}", crate::http::segment(id_or_name));
        self.0.call(Method::GET, &path, None, NO_BODY).await
    }

    /// Returns the datacenter, on behalf of a user (`token` is the user's access token).
    ///
    /// # Errors
    /// Returns the problem `not-found`, or the errors of every call.
    pub async fn datacenter(&self, id: DatacenterId, token: &str) -> Result<Datacenter, Error> {
        self.0.call_as(token, Method::GET, &format!("/v1/datacenters/{id}"), None, NO_BODY).await
    }
}

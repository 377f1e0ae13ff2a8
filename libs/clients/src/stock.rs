//! The stock service, as the gpu service calls it.

use ids::{DatacenterId, GpuSpecId, InstanceId, TenantId, UnitId};
use jiff::Timestamp;
use reqwest::Method;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::http::{Endpoint, Error, NO_BODY, Peer};

/// Asks for one unit of a specification.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ClaimRequest {
    /// For whom; the same instance always gets the same unit.
    pub instance_id: InstanceId,
    /// Whose it is.
    pub tenant_id: TenantId,
    /// Of which specification.
    pub gpu_spec_id: GpuSpecId,
    /// Only there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datacenter_id: Option<DatacenterId>,
    /// There, if it has a unit that is free.
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
    /// The name of its `GpuUnit`.
    pub unit_name: String,
    /// Its specification.
    pub gpu_spec_id: GpuSpecId,
    /// The specification's name.
    pub gpu_spec_name: String,
    /// Where it is.
    pub datacenter_id: DatacenterId,
    /// The datacenter's name.
    pub datacenter_name: String,
    /// The configured name of the datacenter's cluster.
    pub cluster: String,
    /// The node on which it holds its place.
    pub node: Option<String>,
    /// Price per hour at the time of the claim.
    #[schema(value_type = String)]
    pub price_per_hour: Decimal,
    /// ISO 4217.
    pub currency: String,
    /// Since when it is held.
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

/// What the gpu service needs to know of a specification.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
pub struct GpuSpec {
    /// Its id.
    pub id: GpuSpecId,
    /// Its name.
    pub name: String,
    /// Whether new instances may use it.
    pub state: GpuSpecState,
    /// Price per hour now.
    #[schema(value_type = String)]
    pub price_per_hour: Decimal,
    /// ISO 4217.
    pub currency: String,
}

/// A datacenter that there is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
pub struct Datacenter {
    /// Its id.
    pub id: DatacenterId,
}

/// The stock service.
#[derive(Debug, Clone)]
pub struct Client(Peer);

impl Client {
    /// A client for the service at `endpoint`.
    #[must_use]
    pub fn new(http: reqwest::Client, endpoint: Endpoint) -> Self {
        Self(Peer::new(http, endpoint))
    }

    /// Claims a unit, or gives the one that the instance already holds.
    ///
    /// # Errors
    /// The problem `stock-exhausted` when none is free, and the errors of every call.
    pub async fn claim(&self, request: &ClaimRequest) -> Result<Claim, Error> {
        let key = crate::http::new_key();
        self.0.call(Method::POST, "/internal/v1/claims", Some(&key), Some(request)).await
    }

    /// The unit that the instance holds.
    ///
    /// # Errors
    /// The problem `not-found` when it holds none, and the errors of every call.
    pub async fn find_claim(&self, instance: InstanceId) -> Result<Claim, Error> {
        self.0.call(Method::GET, &format!("/internal/v1/claims/{instance}"), None, NO_BODY).await
    }

    /// Gives the unit back that was claimed at this time, and no other: however late the call arrives, what
    /// was claimed since stays. Repeatable.
    ///
    /// # Errors
    /// Those of every call.
    pub async fn release(&self, instance: InstanceId, claimed_at: Timestamp) -> Result<(), Error> {
        let key = crate::http::new_key();
        let path = format!("/internal/v1/claims/{instance}?claimed_at={claimed_at}");
        self.0.call(Method::DELETE, &path, Some(&key), NO_BODY).await
    }

    /// The specification with this id or name.
    ///
    /// # Errors
    /// The problem `not-found`, and the errors of every call.
    pub async fn gpu_spec(&self, id_or_name: &str) -> Result<GpuSpec, Error> {
        let path = format!("/internal/v1/gpu-specs/{}", crate::http::segment(id_or_name));
        self.0.call(Method::GET, &path, None, NO_BODY).await
    }

    /// The datacenter, asked as a user (`token` is the user's access token).
    ///
    /// # Errors
    /// The problem `not-found`, and the errors of every call.
    pub async fn datacenter(&self, id: DatacenterId, token: &str) -> Result<Datacenter, Error> {
        self.0.call_as(token, Method::GET, &format!("/v1/datacenters/{id}"), None, NO_BODY).await
    }
}

//! The gpu service, as the gateway calls it.

use ids::{InstanceId, TenantId, UserId};
use reqwest::Method;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::http::{Endpoint, Error, NO_BODY, Peer};

/// Where the traffic of an instance goes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
pub struct Route {
    /// The instance.
    pub instance_id: InstanceId,
    /// Whose it is.
    pub tenant_id: TenantId,
    /// `ip:port` of its public port; null unless it runs.
    pub address: Option<String>,
    /// Its state.
    pub state: String,
}

/// Redeems a one-time ticket.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct RedeemRequest {
    /// As the user's browser brought it.
    pub ticket: String,
    /// The host name's first label, which the ticket must be for.
    pub host_label: String,
}

/// For whom a ticket was made.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
pub struct Redeemed {
    /// The instance it opens.
    pub instance_id: InstanceId,
    /// Whose that is.
    pub tenant_id: TenantId,
    /// The user who asked for it.
    pub user_id: UserId,
}

/// The gpu service.
#[derive(Debug, Clone)]
pub struct Client(Peer);

impl Client {
    /// A client for the service at `endpoint`.
    #[must_use]
    pub fn new(http: reqwest::Client, endpoint: Endpoint) -> Self {
        Self(Peer::new(http, endpoint))
    }

    /// Where the traffic for a host name's first label goes.
    ///
    /// # Errors
    /// The problem `not-found`, and the errors of every call.
    pub async fn route(&self, host_label: &str) -> Result<Route, Error> {
        let path = format!("/internal/v1/routes/{}", crate::http::segment(host_label));
        self.0.call(Method::GET, &path, None, NO_BODY).await
    }

    /// Redeems a ticket; it works once.
    ///
    /// # Errors
    /// The problem `not-found` when it was used, is too old or is for another host; the errors of every
    /// call.
    pub async fn redeem(&self, request: &RedeemRequest) -> Result<Redeemed, Error> {
        self.0.call(Method::POST, "/internal/v1/tickets/redeem", None, Some(request)).await
    }
}

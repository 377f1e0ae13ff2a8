//! A client of the services that own data of tenants, for the identity service.

use ids::TenantId;
use peer::{Endpoint, Error, Peer};
use reqwest::Method;

use crate::{TenantOrder, TenantProgress};

/// Client of one of the services.
#[derive(Debug, Clone)]
pub struct Client(Peer);

impl Client {
    /// A client for the service at `endpoint`.
    #[must_use]
    pub fn new(http: reqwest::Client, endpoint: Endpoint) -> Self {
        Self(Peer::new(http, endpoint))
    }

    /// Has the service carry out the state of the tenant. Repeat it until it is done.
    ///
    /// # Errors
    /// Returns the errors of every call.
    pub async fn put(&self, tenant: TenantId, order: &TenantOrder) -> Result<TenantProgress, Error> {
        self.0.call(Method::PUT, &format!("/internal/v1/tenants/{tenant}"), None, Some(order)).await
    }
}

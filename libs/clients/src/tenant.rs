//! The services that own something of tenants, as the identity service calls them.

use std::collections::BTreeMap;

use ids::TenantId;
use reqwest::Method;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::http::{Endpoint, Error, Peer};

/// What is to become of what a tenant owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TenantFate {
    /// Nothing: the tenant is active.
    Active,
    /// Nothing new is created or started.
    Suspended,
    /// All of it is deleted.
    Deleting,
}

/// The state of a tenant, for a service to carry out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct TenantOrder {
    /// Number of the change; an order with a lower one than the last is ignored.
    pub generation: i64,
    /// What is to become of what the tenant owns.
    pub state: TenantFate,
    /// Whether a suspension stops running instances too.
    pub stop_instances: bool,
    /// Whether a deletion deletes storages already.
    pub delete_storages: bool,
}

/// How far a service is with an order.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
pub struct TenantProgress {
    /// Whether the order is carried out.
    pub done: bool,
    /// Objects that are still to be stopped or deleted, by kind.
    pub remaining: BTreeMap<String, i64>,
}

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

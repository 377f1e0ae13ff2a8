//! Calls of the gpu service.

use std::time::Duration;

use api::Changes;
use ids::{InstanceId, TenantId};
use peer::{Endpoint, Error, NO_BODY, Peer};
use reqwest::Method;
use secrecy::SecretString;

use crate::{
    ActivityReport, InstanceEvents, ManagedChange, ManagedInstance, ManagedOrder, OpenLinkRequest,
    OpenedLink, RedeemRequest, Redeemed, Route, RouteChange, ShareLinkTicket, SpentTenants,
};

/// Client of the gpu service.
#[derive(Debug, Clone)]
pub struct Client(Peer);

impl Client {
    /// A client for the service at `endpoint`.
    #[must_use]
    pub fn new(http: reqwest::Client, endpoint: Endpoint) -> Self {
        Self(Peer::new(http, endpoint))
    }

    /// Returns the route for the first label of a host name.
    ///
    /// # Errors
    /// Returns the problem `not-found`, or the errors of every call.
    pub async fn route(&self, host_label: &str) -> Result<Route, Error> {
        let path = format!("/internal/v1/routes/{}", peer::segment(host_label));
        self.0.call(Method::GET, &path, None, NO_BODY).await
    }

    /// Returns the changes of routes after a cursor, empty at first, and waits for the next if there are none.
    ///
    /// # Errors
    /// Returns the errors of every call.
    pub async fn route_changes(&self, after: &str, wait: Duration) -> Result<Changes<RouteChange>, Error> {
        let (wait_seconds, after) = (wait.as_secs(), peer::query_value(after));
        let path = format!("/internal/v1/route-changes?wait_seconds={wait_seconds}&after={after}");
        self.0.call(Method::GET, &path, None, NO_BODY).await
    }

    /// Redeems a ticket. A ticket can be redeemed once.
    ///
    /// # Errors
    /// Returns the problem `not-found` if the ticket was redeemed before, has expired or is for another host, or
    /// the errors of every call.
    pub async fn redeem(&self, request: &RedeemRequest) -> Result<Redeemed, Error> {
        self.0.call(Method::POST, "/internal/v1/tickets/redeem", None, Some(request)).await
    }

    /// Opens a share link for everyone who has it.
    ///
    /// # Errors
    /// Returns the problem `not-found` if the link has ended or is for another host, or the errors of every call.
    pub async fn open_link(&self, request: &OpenLinkRequest) -> Result<OpenedLink, Error> {
        self.0.call(Method::POST, "/internal/v1/share-links/open", None, Some(request)).await
    }

    /// Returns a ticket if a share link is for the user with the access token `subject`.
    ///
    /// # Errors
    /// Returns the problem `not-found` if the link has ended, or is for another person or host, or the errors of every call.
    pub async fn link_ticket(
        &self,
        request: &OpenLinkRequest,
        subject: &SecretString,
    ) -> Result<ShareLinkTicket, Error> {
        let path = "/internal/v1/share-links/tickets";
        self.0.call_for(Some(subject), Method::POST, path, None, Some(request)).await
    }

    /// Opens a share link with the ticket of a person. A ticket can be redeemed once.
    ///
    /// # Errors
    /// As [`Self::redeem`].
    pub async fn redeem_link(&self, request: &RedeemRequest) -> Result<OpenedLink, Error> {
        self.0.call(Method::POST, "/internal/v1/share-links/redeem", None, Some(request)).await
    }

    /// Returns the tenants that cannot start anything now, because their budget or an allowance is used up; or whether
    /// this tenant is one of them.
    ///
    /// # Errors
    /// Returns the errors of every call.
    pub async fn spent_tenants(&self, tenant: Option<TenantId>) -> Result<SpentTenants, Error> {
        let path = match tenant {
            Some(tenant) => format!("/internal/v1/allowances?tenant_id={tenant}"),
            None => "/internal/v1/allowances".to_owned(),
        };
        self.0.call(Method::GET, &path, None, NO_BODY).await
    }

    /// Creates an instance with this id and starts it, or returns the one that the same order created before.
    ///
    /// # Errors
    /// Returns the problems of an order (`invalid-field`, `quota-exceeded`, `cost-limit-exceeded`, `budget-exhausted`,
    /// `allowance-expired`, `tenant-suspended`), `instance-exists` if another order has the id, `not-found` if the instance is
    /// deleted, or the errors of every call.
    pub async fn put_instance(&self, id: InstanceId, order: &ManagedOrder) -> Result<ManagedInstance, Error> {
        self.0.call(Method::PUT, &format!("/internal/v1/instances/{id}"), None, Some(order)).await
    }

    /// Returns an instance that the calling service manages.
    ///
    /// # Errors
    /// Returns the problem `not-found` if it does not exist or is deleted, or the errors of every call.
    pub async fn instance(&self, id: InstanceId) -> Result<ManagedInstance, Error> {
        self.0.call(Method::GET, &format!("/internal/v1/instances/{id}"), None, NO_BODY).await
    }

    /// Changes the recall rank of an interruptible instance that the calling service manages.
    ///
    /// # Errors
    /// Returns the problem `not-found` if it does not exist, is not interruptible, or has no unit, or the errors of every call.
    pub async fn update_instance(&self, id: InstanceId, change: &ManagedChange) -> Result<(), Error> {
        self.0.call(Method::PATCH, &format!("/internal/v1/instances/{id}"), None, Some(change)).await
    }

    /// Requests the deletion of an instance that the calling service manages; it is stopped first. Idempotent: succeeds if it
    /// is being deleted, or does not exist.
    ///
    /// # Errors
    /// Returns the problem `not-found` if another manages it, or the errors of every call.
    pub async fn delete_instance(&self, id: InstanceId) -> Result<(), Error> {
        self.0.call(Method::DELETE, &format!("/internal/v1/instances/{id}"), None, NO_BODY).await
    }

    /// Returns the events of instances of all tenants after a cursor, and waits for the next if there are none. With
    /// the cursor `latest`, it starts with new events.
    ///
    /// # Errors
    /// Returns the errors of every call.
    pub async fn events(&self, after: &str, wait: Duration) -> Result<InstanceEvents, Error> {
        let (wait_seconds, after) = (wait.as_secs(), peer::query_value(after));
        let path = format!("/internal/v1/events?wait_seconds={wait_seconds}&after={after}");
        self.0.call(Method::GET, &path, None, NO_BODY).await
    }

    /// Reports which instances are in use.
    ///
    /// # Errors
    /// Returns the errors of every call.
    pub async fn report_activity(&self, report: &ActivityReport) -> Result<(), Error> {
        self.0.call(Method::POST, "/internal/v1/instance-activity", None, Some(report)).await
    }
}

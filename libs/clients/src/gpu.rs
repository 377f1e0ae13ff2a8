//! The gpu service, as the gateway and the jobs service call it.

use std::{fmt, time::Duration};

use ids::{InstanceId, SessionId, ShareLinkId, TenantId, UserId};
use jiff::Timestamp;
use reqwest::Method;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize, Serializer};
use utoipa::ToSchema;

use crate::http::{Endpoint, Error, NO_BODY, Peer};

/// Where the traffic of an instance goes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
pub struct Route {
    /// The instance.
    pub instance_id: InstanceId,
    /// The owner of the instance.
    pub tenant_id: TenantId,
    /// `ip:port` of its public port; null unless it runs.
    pub address: Option<String>,
    /// State of the instance.
    pub state: String,
    /// Whether it waits in the queue for a free unit.
    #[serde(default)]
    pub is_queued: bool,
    /// Whether only those who have opened the host name may use it.
    #[serde(default = "yes")]
    pub sign_in: bool,
    /// The valid share links of the host name.
    #[serde(default)]
    pub share_links: Vec<ShareLinkId>,
    /// Its place in the queue, if it waits and the place is known.
    #[serde(default)]
    pub queue: Option<QueuePlace>,
}

/// A place in the queue for a free unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
pub struct QueuePlace {
    /// The place; 1 is next.
    pub position: i64,
    /// Instances that wait.
    pub length: i64,
    /// When a unit is expected.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub starts_at: Option<Timestamp>,
}

fn yes() -> bool {
    true
}

/// Routes that have changed: those of an instance, or of all instances of a tenant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RouteChange {
    /// The instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_id: Option<InstanceId>,
    /// The tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<TenantId>,
}

/// One change in the feed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
pub struct PublishedRouteChange {
    /// The change.
    pub change: RouteChange,
}

/// Changes of routes after a cursor.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
pub struct RouteChanges {
    /// The changes, oldest first.
    pub items: Vec<PublishedRouteChange>,
    /// The cursor after them.
    pub next_cursor: String,
    /// Whether these are all changes until now.
    pub complete: bool,
}

/// The first label of a host name of an instance: `inst-…`, or `p8188-inst-…` for one of its ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HostLabel {
    /// The instance.
    pub instance: InstanceId,
    /// The port; none for the public port of its service.
    pub port: Option<u16>,
}

impl HostLabel {
    /// Parses a label. None if no instance can have it: each host name has one spelling.
    #[must_use]
    pub fn parse(label: &str) -> Option<Self> {
        let (port, name) = match label.strip_prefix('p').and_then(|rest| rest.split_once('-')) {
            Some((port, name)) => (Some(port.parse::<u16>().ok().filter(|port| *port > 0)?), name),
            None => (None, label),
        };
        let parsed = Self { instance: InstanceId::from_k8s_name(name).ok()?, port };
        (parsed.to_string() == label).then_some(parsed)
    }
}

impl fmt::Display for HostLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(port) = self.port {
            write!(f, "p{port}-")?;
        }
        f.write_str(&self.instance.k8s_name())
    }
}

/// Redeems a one-time ticket.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct RedeemRequest {
    /// The ticket from the browser's request.
    pub ticket: String,
    /// The host name's first label, which the ticket must be for.
    pub host_label: String,
}

/// What a redeemed ticket opens, and its user.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
pub struct Redeemed {
    /// The instance that the ticket opens.
    pub instance_id: InstanceId,
    /// The owner of the instance.
    pub tenant_id: TenantId,
    /// The user who created the ticket.
    pub user_id: UserId,
    /// The session in which it was created.
    pub session_id: Option<SessionId>,
    /// Issue time of the access token with which it was created.
    #[schema(value_type = String, format = DateTime)]
    pub rights_at: Timestamp,
}

/// Opens a share link.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct OpenLinkRequest {
    /// The secret from the browser's request.
    pub secret: String,
    /// The host name's first label, which the link must be for.
    pub host_label: String,
}

/// What a share link opens.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
pub struct OpenedLink {
    /// The link.
    pub share_link_id: ShareLinkId,
    /// The instance that it opens.
    pub instance_id: InstanceId,
    /// The owner of the instance.
    pub tenant_id: TenantId,
    /// The user who created the link.
    pub created_by: UserId,
    /// When the rights of this user were read.
    #[schema(value_type = String, format = DateTime)]
    pub rights_at: Timestamp,
    /// End of the link.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Timestamp,
    /// The person who has opened it; none if it is for everyone who has it.
    #[serde(default)]
    pub person: Option<LinkPerson>,
}

/// The rights of the person for whom a link is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
pub struct LinkPerson {
    /// The user.
    pub user_id: UserId,
    /// The session in which the link was opened.
    pub session_id: Option<SessionId>,
    /// Issue time of the access token with which it was opened.
    #[schema(value_type = String, format = DateTime)]
    pub rights_at: Timestamp,
}

/// A one-time ticket that opens a link to a person.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
pub struct ShareLinkTicket {
    /// URL at the instance's host.
    pub url: String,
}

/// The instances that a replica of the gateway carries connections to.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ActivityReport {
    /// The replica.
    pub reporter: String,
    /// Instances with open connections, or with connections since the last report.
    pub instances: Vec<ReportedActivity>,
    /// Whether this is all, with the reports since the last complete one.
    pub is_complete: bool,
    /// Whether the replica shuts down.
    pub has_ended: bool,
}

/// The connections to one instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct ReportedActivity {
    /// The instance.
    pub instance_id: InstanceId,
    /// Seconds since the last connection was closed; 0 while one is open.
    pub seconds_ago: u32,
}

/// An order of an instance that the calling service manages, for a tenant.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ManagedOrder {
    /// The owner, whose quota and budget apply.
    pub tenant_id: TenantId,
    /// Name for people; generated if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// GPU specification, by id or name.
    pub gpu_spec: String,
    /// Service of the catalogue.
    pub service: String,
    /// Version of the service; the recommended one if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Required datacenter, by id or name; any if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datacenter: Option<String>,
    /// Environment variables, added to those of the service.
    pub env: Vec<EnvVar>,
    /// Environment variables whose values only the container gets.
    pub secrets: Vec<Secret>,
    /// Whether the instance waits in the queue if no unit is free. Otherwise the start fails at once.
    pub wait: bool,
    /// Whether an instance that finds no free unit may take the one of this instance. Not with `wait`.
    pub interruptible: bool,
    /// Whether the instance and other instances of the tenant that have this, too, can open connections to each other.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reaches_peers: bool,
    /// Whether programs of the tenant run in the instance. The datacenter's policy for code of tenants holds then.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub runs_tenant_code: bool,
}

/// A change of an interruptible instance.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct ManagedChange {
    /// Of the interruptible instances, those with lower ranks are taken first.
    pub recall_rank: i16,
}

/// An interruptible instance has lost its unit to another instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
pub struct Recall {
    /// When the platform stops it, unless it is deleted before.
    #[schema(value_type = String, format = DateTime)]
    pub leave_by: Timestamp,
}

/// An environment variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct EnvVar {
    /// Name.
    pub name: String,
    /// Value.
    pub value: String,
}

/// A secret environment variable.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Secret {
    /// Name.
    pub name: String,
    /// Value.
    #[serde(serialize_with = "exposed")]
    #[schema(value_type = String)]
    pub value: SecretString,
}

fn exposed<S: Serializer>(value: &SecretString, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(value.expose_secret())
}

/// State of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum InstanceState {
    /// It should run and has no unit yet.
    Pending,
    /// It has a unit and is not ready yet.
    Starting,
    /// It is ready and billed.
    Running,
    /// It is terminating.
    Stopping,
    /// It does not run.
    Stopped,
    /// It is being deleted.
    Deleting,
}

/// An instance that the calling service manages.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
pub struct ManagedInstance {
    /// The instance.
    pub id: InstanceId,
    /// The owner.
    pub tenant_id: TenantId,
    /// Current state.
    pub state: InstanceState,
    /// Machine-readable reason of the state, as in `GET /v1/instances/{id}`.
    pub reason: Option<String>,
    /// The reason in a sentence for a person.
    pub message: Option<String>,
    /// Name of the GPU specification.
    pub gpu_spec: String,
    /// Name of the datacenter of the current or last unit.
    pub datacenter: Option<String>,
    /// Its node; none if it has no unit.
    pub node: Option<String>,
    /// Number of the start; grows with each.
    pub attempt: i64,
    /// Set once it has lost its unit to another instance; it is not started again.
    pub recalled: Option<Recall>,
}

/// A tenant that may start nothing.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
pub struct SpentTenant {
    /// The tenant.
    pub tenant_id: TenantId,
    /// `budget_exhausted`, or `allowance_expired`: what runs goes on.
    pub reason: String,
    /// The reason in a sentence for a person.
    pub message: String,
    /// When there is more again; none if that is not known.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub renews_at: Option<Timestamp>,
}

/// Tenants that may start nothing.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
pub struct SpentTenants {
    /// The tenants, by id.
    pub items: Vec<SpentTenant>,
}

/// What happened to an instance, as far as its caller needs it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
pub struct InstanceEvent {
    /// The instance; none if the event is about something else.
    #[serde(default)]
    pub instance_id: Option<InstanceId>,
}

/// Events after a cursor.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
pub struct InstanceEvents {
    /// The events, oldest first.
    pub items: Vec<InstanceEvent>,
    /// The cursor after them.
    pub next_cursor: String,
}

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
        let path = format!("/internal/v1/routes/{}", crate::http::segment(host_label));
        self.0.call(Method::GET, &path, None, NO_BODY).await
    }

    /// Returns the changes of routes after a cursor, empty at first, and waits for the next if there are none.
    ///
    /// # Errors
    /// Returns the errors of every call.
    pub async fn route_changes(&self, after: &str, wait: Duration) -> Result<RouteChanges, Error> {
        let (wait_seconds, after) = (wait.as_secs(), crate::http::query_value(after));
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

    /// Recognizes a user, whose access token is `subject`, as the person for whom a share link is.
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

    /// Returns the tenants that may start nothing now, as nothing is left of their budget or of what another service allows; or
    /// whether this tenant is one.
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

    /// Changes when an interruptible instance that the calling service manages is taken.
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

    /// Returns the events of instances of all tenants after a cursor, and waits for the next if there are none. `latest` as the
    /// cursor begins with what happens from now on.
    ///
    /// # Errors
    /// Returns the errors of every call.
    pub async fn events(&self, after: &str, wait: Duration) -> Result<InstanceEvents, Error> {
        let (wait_seconds, after) = (wait.as_secs(), crate::http::query_value(after));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_host_name_has_one_spelling() {
        let instance = InstanceId::new();
        let name = instance.k8s_name();
        assert_eq!(HostLabel::parse(&name), Some(HostLabel { instance, port: None }));
        let port = format!("p8188-{name}");
        assert_eq!(HostLabel::parse(&port), Some(HostLabel { instance, port: Some(8188) }));
        for bad in [
            "",
            "p",
            "p8188",
            "p8188-",
            "inst-x",
            &format!("p0-{name}"),
            &format!("p08188-{name}"),
            &format!("p+8188-{name}"),
            &format!("p65536-{name}"),
            &format!("p-{name}"),
            &format!("8188-{name}"),
            &format!("p8188-p8188-{name}"),
            &format!("P8188-{name}"),
        ] {
            assert_eq!(HostLabel::parse(bad), None, "{bad}");
        }
    }
}

//! Types on the wire.

use std::fmt;

use ids::{InstanceId, SessionId, ShareLinkId, TenantId, UserId};
use jiff::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize, Serializer};
use utoipa::ToSchema;

/// Where the traffic of an instance goes, as callers read it: replicas of another release may send other states, or not all fields.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QueuePlace {
    /// The place; 1 is next.
    pub position: i64,
    /// Instances that wait.
    pub length: i64,
    /// When a unit is expected; null if too few were released recently.
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

/// A ticket to redeem.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RedeemRequest {
    /// Secret from the ticket's URL.
    pub ticket: String,
    /// First label of the host name, `inst-…` or `p8188-inst-…`. The ticket must be for this instance and port.
    pub host_label: String,
}

/// The tenant and user of a redeemed ticket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Redeemed {
    /// Instance id.
    pub instance_id: InstanceId,
    /// Id of the instance's tenant.
    pub tenant_id: TenantId,
    /// Id of the user who created the ticket.
    pub user_id: UserId,
    /// The session in which it was created.
    pub session_id: Option<SessionId>,
    /// Issue time of the access token with which it was created.
    pub rights_at: Timestamp,
}

/// A link to open.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenLinkRequest {
    /// Secret from the link.
    pub secret: String,
    /// First label of the host name, `inst-…` or `p8188-inst-…`. The link must be for this instance and port.
    pub host_label: String,
}

/// An opened link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OpenedLink {
    /// Share link id.
    pub share_link_id: ShareLinkId,
    /// Instance id.
    pub instance_id: InstanceId,
    /// Id of the instance's tenant.
    pub tenant_id: TenantId,
    /// Id of the user who created the link.
    pub created_by: UserId,
    /// When the link was created: revocations of this user's rights after it end the link.
    pub rights_at: Timestamp,
    /// End of the link.
    pub expires_at: Timestamp,
    /// The person who has opened it; null if it is for everyone who has it.
    pub person: Option<LinkPerson>,
}

/// The rights of the person for whom a link is. Connections that were opened with it end with these rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LinkPerson {
    /// User id.
    pub user_id: UserId,
    /// The session in which the link was opened.
    pub session_id: Option<SessionId>,
    /// Issue time of the access token with which it was opened.
    pub rights_at: Timestamp,
}

/// A one-time ticket that opens a link to a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ShareLinkTicket {
    /// URL at the instance's host, valid for a minute.
    pub url: String,
}

/// The instances to which a replica of the gateway has connections.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ActivityReport {
    /// The replica: 1 to 64 characters, unique among all of them.
    pub reporter: String,
    /// Instances with open connections, or with connections since the last report; at most 5000.
    #[schema(max_items = 5000)]
    pub instances: Vec<ReportedActivity>,
    /// Whether the reports since the last complete one, including this one, list all instances.
    pub is_complete: bool,
    /// Whether the replica is shutting down.
    pub has_ended: bool,
}

/// The connections to one instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportedActivity {
    /// Instance id.
    pub instance_id: InstanceId,
    /// Seconds since the last connection was closed; 0 while one is open.
    pub seconds_ago: u32,
}

/// An order of an instance that the calling service manages, for a tenant, as callers send it. The service's own type has the
/// variables and secrets of its rules, and never serializes a secret's value.
#[derive(Debug, Clone, Serialize)]
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
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ManagedChange {
    /// Among interruptible instances, those with lower ranks lose their units first. 0 until it is changed; a start
    /// sets it to 0 again.
    pub recall_rank: i16,
}

/// The loss of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = InstanceRecall)]
pub struct Recall {
    /// When the platform stops it, unless it is deleted before.
    pub leave_by: Timestamp,
}

/// An environment variable, as callers send it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EnvVar {
    /// Name.
    pub name: String,
    /// Value.
    pub value: String,
}

/// A secret environment variable, as callers send it.
#[derive(Debug, Clone, Serialize)]
pub struct Secret {
    /// Name.
    pub name: String,
    /// Value.
    #[serde(serialize_with = "exposed")]
    pub value: SecretString,
}

fn exposed<S: Serializer>(value: &SecretString, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(value.expose_secret())
}

/// State of an instance, as callers read it. The service's own belongs to its rules, which are built without a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
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

/// An instance that the calling service manages, as callers read it: its reason is any code.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
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

/// A tenant that cannot start anything, as callers read it: its reason is any code.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct SpentTenant {
    /// The tenant.
    pub tenant_id: TenantId,
    /// `budget_exhausted`, or `allowance_expired`: running instances continue.
    pub reason: String,
    /// The reason in a sentence for a person.
    pub message: String,
    /// When more becomes available; none if that is not known.
    pub renews_at: Option<Timestamp>,
}

/// Tenants that cannot start anything, as callers read them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct SpentTenants {
    /// The tenants, by id.
    pub items: Vec<SpentTenant>,
}

/// The fields of an event that callers need.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct InstanceEvent {
    /// The instance; none if the event is about something else.
    #[serde(default)]
    pub instance_id: Option<InstanceId>,
}

/// Events after a cursor, with the fields that callers need.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct InstanceEvents {
    /// The events, oldest first.
    pub items: Vec<InstanceEvent>,
    /// The cursor after them.
    pub next_cursor: String,
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

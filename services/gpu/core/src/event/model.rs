//! Events: their types, who caused them and why. Pure.

use ids::{EventId, InstanceId, TenantId, UserId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::data::{
    BudgetReached, BudgetResumed, BudgetStopped, BudgetStopping, Claimed, Created, Deleted, Failed,
    HoldEnded, HoldStarted, IdleStopAnnounced, IdleStopWithdrawn, Interrupted, Recalled, Requested, RunEnded,
    Started, StopRequested, Stopped, StorageChanged, TerminalClosed, TerminalOpened, Updated,
};
use crate::reason::ReasonCode;

macro_rules! events {
    ($($(#[doc = $doc:literal])+ $name:ident($data:ty) = $wire:tt;)+) => {
        /// The type of an event.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
        pub enum EventType {
            $($(#[doc = $doc])+ #[serde(rename = $wire)] $name,)+
        }

        impl EventType {
            /// All types.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// Returns the stable name.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $wire),+ }
            }
        }

        /// The type of an event with its data.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
        #[serde(tag = "type", content = "data")]
        #[schema(as = EventDetail)]
        pub enum Detail {
            $($(#[doc = $doc])+ #[serde(rename = $wire)] $name($data),)+
        }

        impl Detail {
            /// Returns the type.
            #[must_use]
            pub const fn event_type(&self) -> EventType {
                match self { $(Self::$name(_) => EventType::$name),+ }
            }
        }
    };
}

events! {
    /// The instance was ordered.
    Created(Created) = "instance.created";
    /// The name or the order was changed.
    Updated(Updated) = "instance.updated";
    /// A start was requested.
    StartRequested(Requested) = "instance.start_requested";
    /// A stop was requested: by a user, an administrator, or because the tenant is suspended.
    StopRequested(StopRequested) = "instance.stop_requested";
    /// A restart was requested.
    RestartRequested(Requested) = "instance.restart_requested";
    /// The deletion was requested.
    DeletionRequested(Requested) = "instance.deletion_requested";
    /// A storage is attached for this start.
    StorageAttached(StorageChanged) = "instance.storage_attached";
    /// A storage is detached: it was removed from the stopped instance, or the instance is deleted.
    StorageDetached(StorageChanged) = "instance.storage_detached";
    /// The instance has claimed a unit, at this price.
    UnitClaimed(Claimed) = "instance.unit_claimed";
    /// The instance is ready, and a run has begun: after a start, a restart, or a restart of its container.
    Started(Started) = "instance.started";
    /// The instance was ready and is not: its container exited, its probe fails, or it was removed from its unit.
    Interrupted(Interrupted) = "instance.interrupted";
    /// Another instance has claimed the unit of the interruptible instance, which is stopped soon.
    Recalled(Recalled) = "instance.recalled";
    /// The instance is ready again, in the same run.
    Recovered(Started) = "instance.recovered";
    /// A run has ended.
    RunEnded(RunEnded) = "instance.run_ended";
    /// The start failed: the instance has not been ready since the request.
    StartFailed(Failed) = "instance.start_failed";
    /// The instance failed after it had been ready.
    Failed(Failed) = "instance.failed";
    /// The instance has stopped, and its unit is released.
    Stopped(Stopped) = "instance.stopped";
    /// The instance has stopped and keeps its unit for a part of the price.
    HoldStarted(HoldStarted) = "instance.hold_started";
    /// The hold ended.
    HoldEnded(HoldEnded) = "instance.hold_ended";
    /// The instance is idle and will be stopped.
    IdleStopAnnounced(IdleStopAnnounced) = "instance.idle_stop_announced";
    /// The instance will not be stopped as announced.
    IdleStopWithdrawn(IdleStopWithdrawn) = "instance.idle_stop_withdrawn";
    /// The instance is deleted.
    Deleted(Deleted) = "instance.deleted";
    /// A user opened a terminal.
    TerminalOpened(TerminalOpened) = "instance.terminal_opened";
    /// The terminal has ended.
    TerminalClosed(TerminalClosed) = "instance.terminal_closed";
    /// A step of the tenant's budget was reached.
    BudgetReached(BudgetReached) = "budget.reached";
    /// The budget will be exhausted soon, and instances stopped.
    BudgetStopping(BudgetStopping) = "budget.stopping";
    /// The budget is exhausted: instances are stopped, and none can be started.
    BudgetStopped(BudgetStopped) = "budget.stopped";
    /// Instances can be started again.
    BudgetResumed(BudgetResumed) = "budget.resumed";
}

/// Who caused an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[schema(as = EventActor)]
pub enum Actor {
    /// A user of the tenant.
    User {
        /// The user.
        user_id: UserId,
    },
    /// An administrator of the platform.
    Administrator,
    /// Another service of the platform.
    Service {
        /// Name of the service.
        name: String,
    },
    /// This service: it carries out what was requested, and observes the cluster.
    System,
}

/// The author of a change, with reason and message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct By {
    actor: Actor,
    message: Option<String>,
}

impl By {
    /// A user of the tenant.
    #[must_use]
    pub fn user(user_id: UserId) -> Self {
        Self { actor: Actor::User { user_id }, message: None }
    }

    /// An administrator, who gives a reason.
    #[must_use]
    pub fn administrator(reason: &str) -> Self {
        Self { actor: Actor::Administrator, message: Some(reason.to_owned()) }
    }

    /// Another service.
    #[must_use]
    pub fn service(name: &str, message: Option<&str>) -> Self {
        Self { actor: Actor::Service { name: name.to_owned() }, message: message.map(str::to_owned) }
    }

    /// This service.
    #[must_use]
    pub fn system() -> Self {
        Self { actor: Actor::System, message: None }
    }
}

/// The log entries of a change of an instance, before its author is known.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Type and data.
    pub detail: Detail,
    /// Why, for programs.
    pub reason: Option<ReasonCode>,
    /// Why, for people.
    pub message: Option<String>,
}

impl From<Detail> for Entry {
    fn from(detail: Detail) -> Self {
        Self { detail, reason: None, message: None }
    }
}

impl Entry {
    /// Adds why.
    #[must_use]
    pub fn because(mut self, reason: Option<&crate::reason::Reason>) -> Self {
        self.reason = reason.map(|reason| reason.code);
        self.message = reason.map(|reason| reason.message.clone());
        self
    }
}

/// What happened to an instance, or to the budget of a tenant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Event {
    /// Event id.
    pub id: EventId,
    /// Position in the tenant's log: 1, 2, 3 and so on, without gaps. It is the `id` of the server-sent event.
    pub sequence: i64,
    /// When it was recorded. It does not decrease from one event of the tenant to the next, unless the clock of the
    /// database is set back.
    pub time: Timestamp,
    /// Owner of the instance.
    pub tenant_id: TenantId,
    /// The instance; null if the event concerns the tenant.
    pub instance_id: Option<InstanceId>,
    /// Who caused it.
    pub actor: Actor,
    /// Machine-readable reason, or null.
    pub reason: Option<ReasonCode>,
    /// The reason in a sentence for a person, or null.
    pub message: Option<String>,
    /// Type and data.
    #[serde(flatten)]
    pub detail: Detail,
}

/// An event as stored, without the fields that the database adds.
#[derive(Debug, Serialize)]
pub struct NewEvent<'a> {
    id: EventId,
    tenant_id: TenantId,
    instance_id: Option<InstanceId>,
    actor: &'a Actor,
    reason: Option<ReasonCode>,
    message: Option<&'a str>,
    #[serde(flatten)]
    detail: &'a Detail,
}

impl<'a> NewEvent<'a> {
    pub fn new(tenant: TenantId, instance: Option<InstanceId>, by: &'a By, entry: &'a Entry) -> Self {
        Self {
            id: EventId::new(),
            tenant_id: tenant,
            instance_id: instance,
            actor: &by.actor,
            reason: entry.reason,
            message: entry.message.as_deref().or(by.message.as_deref()),
            detail: &entry.detail,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;
    use crate::event::StopCause;

    #[test]
    fn names_are_stable_dotted_and_documented() {
        let document = include_str!("../../../../../docs/EVENTS.md");
        // the first column of the table under "Types"
        let documented: BTreeSet<_> = document
            .lines()
            .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
            .filter(|(name, _)| name.starts_with("instance.") || name.starts_with("budget."))
            .map(|(name, _)| name.to_owned())
            .collect();
        let known: BTreeSet<_> = EventType::ALL.iter().map(|known| known.as_str().to_owned()).collect();
        assert_eq!(documented, known);
        for known in EventType::ALL {
            assert_eq!(json!(known), known.as_str());
        }
    }

    #[test]
    fn the_data_of_each_type_is_documented() {
        let document = include_str!("../../../../../docs/EVENTS.md");
        let schema = serde_json::to_value(<Detail as utoipa::PartialSchema>::schema()).unwrap();
        let mut schemas = Vec::new();
        <Detail as ToSchema>::schemas(&mut schemas);
        for variant in schema["oneOf"].as_array().unwrap() {
            let name = variant["properties"]["type"]["enum"][0].as_str().unwrap();
            let target = variant["properties"]["data"]["$ref"].as_str().unwrap().rsplit('/').next().unwrap();
            let (_, data) = schemas.iter().find(|(name, _)| name == target).unwrap();
            let data = serde_json::to_value(data).unwrap();
            let line =
                document.lines().find(|line| line.starts_with(&format!("| `{name}` "))).unwrap_or_default();
            for field in data["properties"].as_object().unwrap().keys() {
                assert!(line.contains(&format!("`{field}`")), "{name}: {field} is missing in {line:?}");
            }
        }
    }

    #[test]
    fn an_event_is_stored_as_it_is_shown() {
        let (tenant, instance, user) = (TenantId::new(), InstanceId::new(), UserId::new());
        let entry = Entry::from(Detail::Stopped(Stopped { cause: StopCause::Failure }))
            .because(Some(&crate::reason::Reason::new(ReasonCode::NodeLost, "The node is lost.")));
        let by = By::user(user);
        let stored = serde_json::to_value(NewEvent::new(tenant, Some(instance), &by, &entry)).unwrap();
        let mut shown = stored.clone();
        shown["sequence"] = json!(7);
        shown["time"] = json!("2026-01-01T00:00:00Z");
        let event: Event = serde_json::from_value(shown.clone()).unwrap();
        assert_eq!(serde_json::to_value(&event).unwrap(), shown);
        assert_eq!(event.detail.event_type().as_str(), "instance.stopped");
        assert_eq!(stored["actor"], json!({ "kind": "user", "user_id": user }));
        assert_eq!(
            (&stored["reason"], &stored["message"]),
            (&json!("node_lost"), &json!("The node is lost."))
        );
        let by = By::administrator("abuse");
        let entry = Entry::from(Detail::Deleted(Deleted { name: "x".into() }));
        let stored = serde_json::to_value(NewEvent::new(tenant, Some(instance), &by, &entry)).unwrap();
        assert_eq!(
            (&stored["actor"], &stored["message"]),
            (&json!({ "kind": "administrator" }), &json!("abuse"))
        );
    }
}

//! Events: their types, the data of each, who caused them and why. Pure.

use ids::{
    DatacenterId, EventId, GpuSpecId, InstanceId, OperationId, StorageId, TenantId, TerminalId, UnitId,
    UserId,
};
use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    instance::{HoldEnd, ReasonCode},
    usage::EndReason,
};

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
    /// The name was changed, or what was ordered.
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
    /// The instance has a unit, and this price.
    UnitClaimed(Claimed) = "instance.unit_claimed";
    /// The instance is ready, and a run has begun: after a start, a restart, or a restart of its container.
    Started(Started) = "instance.started";
    /// The instance was ready and is not: its container exited, its probe fails, or it was removed from its unit.
    Interrupted(Interrupted) = "instance.interrupted";
    /// The instance is ready again, in the run that it was in.
    Recovered(Started) = "instance.recovered";
    /// A run has ended.
    RunEnded(RunEnded) = "instance.run_ended";
    /// The start failed: the instance was not ready since it was requested.
    StartFailed(Failed) = "instance.start_failed";
    /// The instance failed after it had been ready.
    Failed(Failed) = "instance.failed";
    /// The instance has stopped, and its unit is released.
    Stopped(Stopped) = "instance.stopped";
    /// The instance has stopped and keeps its unit for a part of the price.
    HoldStarted(HoldStarted) = "instance.hold_started";
    /// The hold ended.
    HoldEnded(HoldEnded) = "instance.hold_ended";
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

/// What was ordered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = InstanceCreated)]
pub struct Created {
    /// Name of the instance.
    pub name: String,
    /// GPU specification.
    pub gpu_spec_id: GpuSpecId,
    /// Name of the GPU specification.
    pub gpu_spec: String,
    /// Service.
    pub service: String,
    /// Version of the service.
    pub version: String,
    /// Storage at the mount path of the service, or null.
    pub storage_id: Option<StorageId>,
    /// All storages to mount.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub storage_ids: Vec<StorageId>,
    /// Required datacenter, or null.
    pub datacenter_id: Option<DatacenterId>,
    /// Price of an hour at the time of the order.
    pub price_per_hour: Decimal,
    /// ISO 4217.
    pub currency: String,
    /// The operation that creates it and, unless it was created stopped, starts it.
    pub operation_id: OperationId,
}

/// A field of an instance that can be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum InstanceField {
    /// The name.
    Name,
    /// The GPU specification, and with it the price.
    GpuSpec,
    /// The version of the service.
    Version,
    /// The environment variables.
    Env,
    /// The storages.
    Storages,
    /// What happens when its node is lost.
    OnNodeLoss,
}

/// What was changed. Events of earlier releases have the names only.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = InstanceUpdated)]
pub struct Updated {
    /// Name of the instance.
    pub name: String,
    /// The name before.
    pub previous_name: String,
    /// The fields that were changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<InstanceField>,
    /// Name of the GPU specification.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub gpu_spec: String,
    /// Version of the service.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// Price of an hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_per_hour: Option<Decimal>,
    /// ISO 4217.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub currency: String,
}

/// What was requested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = InstanceRequested)]
pub struct Requested {
    /// The operation that carries it out.
    pub operation_id: OperationId,
}

/// What was requested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = InstanceStopRequested)]
pub struct StopRequested {
    /// The operation that carries it out; null unless a user requested it.
    pub operation_id: Option<OperationId>,
}

/// Which storage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = InstanceStorageChanged)]
pub struct StorageChanged {
    /// The storage.
    pub storage_id: StorageId,
}

/// The claimed unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = InstanceUnitClaimed)]
pub struct Claimed {
    /// The unit.
    pub unit_id: UnitId,
    /// Datacenter of the unit.
    pub datacenter_id: DatacenterId,
    /// Name of the datacenter.
    pub datacenter: String,
    /// Price of an hour from this claim on.
    pub price_per_hour: Decimal,
    /// ISO 4217.
    pub currency: String,
}

/// The run that the instance is in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = InstanceStarted)]
pub struct Started {
    /// Number of the start; grows with each.
    pub attempt: i64,
    /// When the run began, as the cluster reports it.
    pub started_at: Timestamp,
    /// Node, or null if it is not known.
    pub node: Option<String>,
}

/// The interrupted start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = InstanceInterrupted)]
pub struct Interrupted {
    /// Number of the start.
    pub attempt: i64,
}

/// The run that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = InstanceRunEnded)]
pub struct RunEnded {
    /// Number of the start that the run belongs to.
    pub attempt: i64,
    /// When the run began.
    pub started_at: Timestamp,
    /// When it ended, as the cluster reports it; null if nobody observed the end.
    pub ended_at: Option<Timestamp>,
    /// Why it ended.
    pub end_reason: EndReason,
}

/// The failed start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = InstanceFailed)]
pub struct Failed {
    /// Number of the start.
    pub attempt: i64,
}

/// Who or what stopped the instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopCause {
    /// A user of the tenant.
    User,
    /// An administrator. The event's message has the reason.
    Administrator,
    /// The tenant is suspended.
    TenantSuspended,
    /// The tenant has spent its budget.
    BudgetExhausted,
    /// A failure, such as a lost node. The event's reason says which.
    Failure,
}

/// Why the instance has stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = InstanceStopped)]
pub struct Stopped {
    /// Who or what stopped it.
    pub cause: StopCause,
}

/// The unit that is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = InstanceHoldStarted)]
pub struct HoldStarted {
    /// The unit.
    pub unit_id: UnitId,
    /// Time since which it is billed as held.
    pub started_at: Timestamp,
    /// When the hold ends, unless it is given up before.
    pub until: Timestamp,
    /// Price of an hour of the hold.
    pub price_per_hour: Decimal,
    /// ISO 4217.
    pub currency: String,
}

/// The hold that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = InstanceHoldEnded)]
pub struct HoldEnded {
    /// When it began; null if it was cancelled before.
    pub started_at: Option<Timestamp>,
    /// When it ended; null if it did not begin.
    pub ended_at: Option<Timestamp>,
    /// Why it ended.
    pub cause: HoldEnd,
}

/// What was deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = InstanceDeleted)]
pub struct Deleted {
    /// The last name of the instance.
    pub name: String,
}

/// The opened terminal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = InstanceTerminalOpened)]
pub struct TerminalOpened {
    /// Session id.
    pub session_id: TerminalId,
    /// IP address of the client, or null if it is not known.
    pub client_address: Option<String>,
}

/// Why a terminal has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TerminalEnd {
    /// The command ended, or its container.
    Exited,
    /// The client closed it, or lost the connection and did not connect again in time.
    Disconnected,
    /// Nothing was typed or printed for too long.
    Idle,
    /// The rights of the user ended.
    RightsEnded,
    /// The replica that ran it was stopped.
    ServiceStopped,
}

/// The terminal that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = InstanceTerminalClosed)]
pub struct TerminalClosed {
    /// Session id.
    pub session_id: TerminalId,
    /// When it was opened.
    pub opened_at: Timestamp,
    /// Why it has ended.
    pub end_reason: TerminalEnd,
}

/// The step that was reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BudgetReached {
    /// First day of the month in UTC (`2026-01-01`).
    pub month: String,
    /// The step, in percent of the amount.
    pub percent: u8,
    /// The amount of the budget.
    pub amount: Decimal,
    /// What was spent in the month.
    pub spent: Decimal,
    /// ISO 4217.
    pub currency: String,
}

/// The stop that is ahead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BudgetStopping {
    /// The amount of the budget.
    pub amount: Decimal,
    /// What was spent in the month.
    pub spent: Decimal,
    /// ISO 4217.
    pub currency: String,
    /// When instances are stopped at the present rate.
    pub stops_at: Timestamp,
}

/// The stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BudgetStopped {
    /// The amount of the budget.
    pub amount: Decimal,
    /// What was spent in the month.
    pub spent: Decimal,
    /// ISO 4217.
    pub currency: String,
    /// When the next month begins.
    pub renews_at: Timestamp,
}

/// Why instances can be started again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResumeCause {
    /// A month has begun.
    NewMonth,
    /// The budget was changed or removed.
    BudgetChanged,
    /// A correction of the meter: less was spent.
    Correction,
}

/// The end of a stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BudgetResumed {
    /// Why.
    pub cause: ResumeCause,
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

/// Who makes a change, and what they say about it.
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

/// What a change of an instance adds to the log, before it is known who makes the change.
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
    pub fn because(mut self, reason: Option<&crate::instance::Reason>) -> Self {
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

/// An event as stored: without what the database adds.
#[derive(Debug, Serialize)]
pub(super) struct NewEvent<'a> {
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
    pub(super) fn new(tenant: TenantId, instance: Option<InstanceId>, by: &'a By, entry: &'a Entry) -> Self {
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

    #[test]
    fn names_are_stable_dotted_and_documented() {
        let document = include_str!("../../../../docs/EVENTS.md");
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
        let document = include_str!("../../../../docs/EVENTS.md");
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
            .because(Some(&crate::instance::Reason::new(ReasonCode::NodeLost, "The node is lost.")));
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

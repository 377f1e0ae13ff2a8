//! The data of each type of event. Pure.

use ids::{DatacenterId, GpuSpecId, OperationId, StorageId, TerminalId, UnitId};
use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ends::{EndReason, HoldEnd};

/// The ordered instance.
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
    #[serde(default)]
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
    /// The image of the tenant's own.
    Image,
    /// The environment variables.
    Env,
    /// The secrets.
    Secrets,
    /// The storages.
    Storages,
    /// What happens when its node is lost.
    OnNodeLoss,
    /// When it is stopped because it is idle.
    IdleStop,
    /// The ports with host names of their own.
    PublicPorts,
}

/// The change.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = InstanceUpdated)]
pub struct Updated {
    /// Name of the instance.
    pub name: String,
    /// The name before.
    pub previous_name: String,
    /// The fields that were changed.
    #[serde(default)]
    pub changed: Vec<InstanceField>,
    /// Name of the GPU specification.
    #[serde(default)]
    pub gpu_spec: String,
    /// Version of the service.
    #[serde(default)]
    pub version: String,
    /// Price of an hour.
    #[serde(default)]
    pub price_per_hour: Option<Decimal>,
    /// ISO 4217.
    #[serde(default)]
    pub currency: String,
}

/// The request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = InstanceRequested)]
pub struct Requested {
    /// The operation that carries it out.
    pub operation_id: OperationId,
}

/// The request.
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

/// The current run of the instance.
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

/// The loss of a unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = InstanceRecalled)]
pub struct Recalled {
    /// Number of the start.
    pub attempt: i64,
    /// When the instance is stopped, unless it is deleted before.
    pub leave_by: Timestamp,
}

/// The run that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = InstanceRunEnded)]
pub struct RunEnded {
    /// Number of the start that the run belongs to.
    pub attempt: i64,
    /// When the run began.
    pub started_at: Timestamp,
    /// When it ended, as the cluster reports it; null if the end was not observed.
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
    /// The instance was idle for `idle_stop.after_seconds`.
    Idle,
    /// Another instance needed the unit of an interruptible instance.
    Recalled,
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

/// The announced stop. No connection, terminal or SSH session is open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = InstanceIdleStopAnnounced)]
pub struct IdleStopAnnounced {
    /// Since when the instance is idle.
    pub idle_since: Timestamp,
    /// When it is stopped, unless it is used or the stop is postponed.
    pub stop_at: Timestamp,
    /// The highest use of the CPU since then, in percent of the cores of the unit.
    pub cpu_percent: f64,
    /// The highest use of a GPU since then, in percent; null if it is not known.
    pub gpu_percent: Option<f64>,
}

/// Why an announced stop was withdrawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum IdleStopWithdrawal {
    /// CPU or GPU were used.
    Used,
    /// A connection, a terminal or an SSH session was opened.
    Connected,
    /// Observations are missing: gateway reports or metrics.
    Unknown,
    /// A user put the stop off.
    Postponed,
    /// A user changed `idle_stop`.
    SettingsChanged,
    /// The instance does not run any more, or began another run.
    NotRunning,
}

/// The withdrawn stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = InstanceIdleStopWithdrawn)]
pub struct IdleStopWithdrawn {
    /// When it would have been stopped.
    pub stop_at: Timestamp,
    /// Why it was withdrawn.
    pub cause: IdleStopWithdrawal,
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

/// The deleted instance.
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

/// The announced stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BudgetStopping {
    /// The amount of the budget.
    pub amount: Decimal,
    /// What was spent in the month.
    pub spent: Decimal,
    /// ISO 4217.
    pub currency: String,
    /// When instances will be stopped at the current rate.
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

//! Events in their public form, as the views of the migration build them.

use events::OperationChanged;
use ids::UnitId;
use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{reason::UnitReason, unit::UnitState};
use stock_api::{DatacenterRef, GpuSpecRef};

/// An event of the stock. Administrators get the units and operations, others only that the stock has changed.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(tag = "type")]
pub enum StockEvent {
    /// The stock of a specification in a datacenter has changed: read it again.
    #[serde(rename = "stock.changed")]
    Stock(StockChanged),
    /// A unit was added, or its state, reason, node or holder has changed.
    #[serde(rename = "unit.changed")]
    Unit(UnitChanged),
    /// A unit does not exist any more.
    #[serde(rename = "unit.removed")]
    Removed(UnitRemoved),
    /// An operation has begun, advanced or ended.
    #[serde(rename = "operation.changed")]
    Operation(OperationChanged),
}

/// Where the stock has changed.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct StockChanged {
    /// The specification.
    pub gpu_spec: GpuSpecRef,
    /// The datacenter.
    pub datacenter: DatacenterRef,
}

/// A unit at the time of the event.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct UnitChanged {
    /// When it happened.
    pub time: Timestamp,
    /// The unit.
    pub unit_id: UnitId,
    /// Its specification.
    pub gpu_spec: GpuSpecRef,
    /// Its datacenter.
    pub datacenter: DatacenterRef,
    /// Its state.
    pub state: UnitState,
    /// Machine-readable reason why the unit does not hold its resources or has no object, or null.
    pub reason: Option<UnitReason>,
}

/// A unit that does not exist any more.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct UnitRemoved {
    /// When it happened.
    pub time: Timestamp,
    /// The unit.
    pub unit_id: UnitId,
    /// Its specification.
    pub gpu_spec: GpuSpecRef,
    /// Its datacenter.
    pub datacenter: DatacenterRef,
}

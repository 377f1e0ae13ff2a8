//! Claims of units, as the stock service grants them. Values only.

use ids::{DatacenterId, InstanceId, UnitId};
use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use crate::unit::UnitRef;

/// A unit that the instance has claimed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// Unit.
    pub unit_id: UnitId,
    /// The unit's `GpuUnit`.
    #[serde(flatten)]
    pub unit: UnitRef,
    /// Where the unit is.
    pub place: Place,
    /// Price from this claim on.
    pub price_per_hour: Decimal,
    /// ISO 4217.
    pub currency: String,
    /// Part of that price while the unit is held; none if it cannot be held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold_price_fraction: Option<Decimal>,
    /// Time of the claim, set by the stock service.
    pub claimed_at: Timestamp,
    /// The instance that has the unit, until the claim is stored.
    #[serde(skip)]
    pub displaced: Option<Displaced>,
}

/// An interruptible instance that has lost its unit to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Displaced {
    /// The instance.
    pub instance: InstanceId,
    /// Time by which it leaves.
    pub leave_by: Timestamp,
}

impl Claim {
    /// Returns the price per hour of the unit while it is held; none if it cannot be held.
    #[must_use]
    pub fn hold_price_per_hour(&self) -> Option<Decimal> {
        self.hold_price_fraction.map(|fraction| hold_price(self.price_per_hour, fraction))
    }
}

/// Returns the price per hour of a hold.
pub fn hold_price(price_per_hour: Decimal, fraction: Decimal) -> Decimal {
    (price_per_hour * fraction).normalize()
}

/// Where an instance is or was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Datacenter.
    pub datacenter_id: DatacenterId,
    /// Name of the datacenter.
    pub datacenter_name: String,
    /// Node, if known.
    pub node: Option<String>,
}

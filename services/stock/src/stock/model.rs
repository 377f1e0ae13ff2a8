//! Lines of the list of stock, and changes of stock.

use std::fmt;

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use stock_api::{DatacenterRef, DatacenterState, GpuSpec};

/// The most units in one addition or removal.
pub(crate) const MAX_UNITS: i64 = 1000;

/// The stock of a specification in a datacenter.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct StockRow {
    /// The specification.
    pub gpu_spec: GpuSpec,
    /// The datacenter.
    pub datacenter: DatacenterRef,
    /// Whether units can be claimed in the datacenter.
    pub datacenter_state: DatacenterState,
    /// Units that can be claimed.
    pub available: i64,
    /// Number of these whose instances have interruptible claims and leave within seconds when the unit is claimed.
    pub interruptible: i64,
    /// Free units that interruptible claims do not get, because other claims are expected.
    pub hold_back: i64,
    /// Units that cannot be claimed now.
    pub inactive: i64,
    /// Units that instances have claimed, and keep.
    pub used: i64,
    /// Sum of the three. Units that are being created or removed do not count.
    pub total: i64,
    /// Price per hour, a decimal number.
    #[serde(with = "rust_decimal::serde::str")]
    #[schema(value_type = String, example = "0.2")]
    pub price_per_hour: Decimal,
    /// ISO 4217 code of the currency.
    pub currency: String,
}

/// An addition to, or removal from, the stock.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StockChange {
    /// Name or id of the specification.
    #[schema(example = "3080-small-4-1")]
    pub gpu_spec: String,
    /// Name or id of the datacenter.
    #[schema(example = "uk-1")]
    pub datacenter: String,
    /// Number of units, 1 to 1000.
    #[schema(example = 3)]
    pub count: i64,
}

/// By how much the counts of a specification in a datacenter were corrected.
#[derive(Debug)]
pub(crate) struct CountCorrection {
    pub(crate) gpu_spec: String,
    pub(crate) datacenter: String,
    pub(crate) available: i64,
    pub(crate) inactive: i64,
    pub(crate) used: i64,
    pub(crate) changing: i64,
}

impl fmt::Display for CountCorrection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { gpu_spec, datacenter, available, inactive, used, changing } = self;
        write!(
            f,
            "The counts of {gpu_spec} in {datacenter} were corrected by {available} available, {inactive} inactive, \
             {used} used, {changing} changing."
        )
    }
}

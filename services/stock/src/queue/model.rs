//! What waiting instances, and those who think of starting one, are told. Pure.

use ids::{InstanceId, UnitId};
use jiff::{SignedDuration, Timestamp};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{datacenter::DatacenterRef, gpu_spec::GpuSpecRef};

/// A unit was given to an instance that waited for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Grant {
    /// Instance that holds the unit now.
    pub instance_id: InstanceId,
    /// The unit.
    pub unit_id: UnitId,
}

/// Units that could be claimed instead.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Alternative {
    /// Specification of the units.
    pub gpu_spec: GpuSpecRef,
    /// Datacenter of the units.
    pub datacenter: DatacenterRef,
    /// Free units.
    pub available: i64,
    /// Price per hour, a decimal number.
    #[serde(with = "rust_decimal::serde::str")]
    #[schema(value_type = String, example = "0.2")]
    pub price_per_hour: Decimal,
    /// ISO 4217 code of the currency.
    pub currency: String,
}

/// When a unit is expected, if units are released as often as recently.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Estimate {
    /// Expected time.
    pub starts_at: Timestamp,
    /// Releases of units of the specification (in the required datacenter) on which the estimate is based.
    pub releases: i64,
    /// Seconds in which these releases happened, until now.
    pub period_seconds: i64,
}

/// Fewer releases than this say nothing about the next one.
const MIN_RELEASES: i64 = 3;

/// Recent releases of units.
#[derive(Debug, Clone, Copy)]
pub(super) struct Releases {
    /// Number.
    pub(super) count: i64,
    /// Time of the oldest.
    pub(super) oldest: Option<Timestamp>,
    /// Current time.
    pub(super) now: Timestamp,
}

impl Estimate {
    /// Returns the estimate for a place in the queue, which counts from one. The time since the last release counts as
    /// one more interval, so the estimate moves away while nothing is released.
    pub(super) fn of(position: i64, releases: &Releases) -> Option<Self> {
        let Releases { count, oldest, now } = *releases;
        let period = now.duration_since(oldest?).as_secs().max(1);
        if count < MIN_RELEASES {
            return None;
        }
        let seconds = period.checked_mul(position)? / (count - 1);
        let starts_at = now.checked_add(SignedDuration::from_secs(seconds)).ok()?;
        Some(Self { starts_at, releases: count, period_seconds: period })
    }
}

/// An instance that waits for a unit.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct QueueEntry {
    /// Instance that waits.
    pub instance_id: InstanceId,
    /// Its place among those that wait for the same units; 1 is next.
    pub position: i64,
    /// Instances that wait for the specification.
    pub length: i64,
    /// Specification of the units.
    pub gpu_spec: GpuSpecRef,
    /// Required datacenter; null if any will do.
    pub datacenter: Option<DatacenterRef>,
    /// The required datacenter is draining: its units are not given to anybody.
    pub draining: bool,
    /// Priority; higher is first.
    pub priority: i32,
    /// Time since which it waits.
    pub since: Timestamp,
    /// When a unit is expected; null if too few were released recently.
    pub estimate: Option<Estimate>,
    /// Units that could be claimed now instead.
    pub alternatives: Vec<Alternative>,
}

/// What a claim would get now.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Quote {
    /// Free units. With at least one, a claim succeeds.
    pub available: i64,
    /// The required datacenter is draining: its units cannot be claimed.
    pub draining: bool,
    /// Instances that wait for such a unit.
    pub waiting: i64,
    /// When a unit is expected for one more instance that waits; null if one is free, or too few were released recently.
    pub estimate: Option<Estimate>,
    /// Units that could be claimed now instead; empty if one is free.
    pub alternatives: Vec<Alternative>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn an_estimate_is_the_place_times_the_mean_interval() {
        // released at 0, 30 and 60; now 60: one each 30 s
        let releases = Releases { count: 3, oldest: Some(at(0)), now: at(60) };
        let estimate = Estimate::of(1, &releases).unwrap();
        assert_eq!(estimate, Estimate { starts_at: at(90), releases: 3, period_seconds: 60 });
        assert_eq!(Estimate::of(4, &releases).unwrap().starts_at, at(180));
        // nothing for a while: the interval grows
        let later = Releases { now: at(600), ..releases };
        assert_eq!(Estimate::of(1, &later).unwrap().starts_at, at(900));
    }

    #[test]
    fn too_few_releases_are_no_basis() {
        let releases = Releases { count: 2, oldest: Some(at(0)), now: at(60) };
        assert_eq!(Estimate::of(1, &releases), None);
        assert_eq!(Estimate::of(1, &Releases { count: 0, oldest: None, now: at(60) }), None);
        // any number is answered
        let many = Releases { count: 100, oldest: Some(at(0)), now: at(60) };
        assert_eq!(Estimate::of(i64::MAX, &many), None);
    }
}

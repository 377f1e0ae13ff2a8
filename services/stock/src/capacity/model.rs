//! Capacity over time, and the periods for which it is read.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;

/// Length of the steps of a period.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum CapacityStep {
    /// An hour. Kept for 62 days.
    #[default]
    Hour,
    /// A day in UTC. Kept for three years.
    Day,
}

impl CapacityStep {
    fn seconds(self) -> i64 {
        match self {
            Self::Hour => HOUR,
            Self::Day => DAY,
        }
    }

    /// Days of a period, unless the request names others, and at most.
    fn days(self) -> (i64, i64) {
        match self {
            Self::Hour => (1, 31),
            Self::Day => (30, 400),
        }
    }
}

/// Units in a step of time. Averages have two decimals.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct CapacityUnits {
    /// Units that could be claimed, on average.
    pub available: f64,
    /// Units that could not be claimed, on average.
    pub inactive: f64,
    /// Units that instances had claimed and kept, on average.
    pub used: f64,
    /// Sum of the three.
    pub total: f64,
    /// Lowest number of units that could be claimed at a time. For several specifications or datacenters, the sum of
    /// their lowest numbers.
    pub least_available: i64,
}

/// A step of the period.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct CapacityPoint {
    /// When the step begins. The last one may not be over.
    pub at: Timestamp,
    /// The units, or null if none were counted in the step: the platform did not run, or the counts are deleted.
    pub units: Option<CapacityUnits>,
}

/// Units over time.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct StockCapacity {
    /// Length of the steps.
    pub step: CapacityStep,
    /// Beginning of the first step: the requested one, rounded down.
    pub from: Timestamp,
    /// End of the last step.
    pub to: Timestamp,
    /// One for each step, oldest first.
    pub points: Vec<CapacityPoint>,
}

/// The measurement of a step: units times seconds, over `seconds`.
#[derive(Debug, Clone, Default)]
pub(super) struct Counted {
    pub(super) begins_at: Timestamp,
    pub(super) seconds: i64,
    pub(super) available: i64,
    pub(super) inactive: i64,
    pub(super) used: i64,
    pub(super) least_available: i64,
}

impl Counted {
    fn units(&self) -> CapacityUnits {
        #[expect(clippy::cast_precision_loss, reason = "sums of units are far below 2^52")]
        let average = |sum: i64| (100.0 * sum as f64 / self.seconds.max(1) as f64).round() / 100.0;
        CapacityUnits {
            available: average(self.available),
            inactive: average(self.inactive),
            used: average(self.used),
            total: average(self.available + self.inactive + self.used),
            least_available: self.least_available,
        }
    }
}

/// A period in whole steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Period {
    pub(super) step: CapacityStep,
    /// In seconds since 1970.
    begin: i64,
    end: i64,
}

impl Period {
    /// The period of a request at the time `now`. Its future part is left out.
    ///
    /// # Errors
    /// The parameter that is not valid, and why.
    pub(super) fn new(
        step: CapacityStep,
        from: Option<Timestamp>,
        to: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<Self, (&'static str, String)> {
        let ((usual, most), seconds) = (step.days(), step.seconds());
        let to = to.map_or(now, |to| to.min(now)).as_second();
        let from = from.map_or(to.saturating_sub(usual * DAY), Timestamp::as_second);
        if from >= to {
            return Err(("from", "must be before `to`, and in the past".to_owned()));
        }
        if to - from > most * DAY {
            return Err(("from", format!("must be at most {most} days before `to`")));
        }
        let begin = from.div_euclid(seconds) * seconds;
        let end = (to - 1).div_euclid(seconds) * seconds + seconds;
        Ok(Self { step, begin, end })
    }

    pub(super) fn begins_at(self) -> Timestamp {
        Timestamp::from_second(self.begin).unwrap_or_default()
    }

    pub(super) fn ends_at(self) -> Timestamp {
        Timestamp::from_second(self.end).unwrap_or_default()
    }

    /// All steps of the period, with the counts of those that have a record. `counted` is in the order of time.
    pub(super) fn fill(self, counted: Vec<Counted>) -> StockCapacity {
        let mut counted = counted.into_iter().peekable();
        let length = usize::try_from(self.step.seconds()).unwrap_or(usize::MAX);
        let points = (self.begin..self.end).step_by(length).map(|second| {
            let at = Timestamp::from_second(second).unwrap_or_default();
            let units = counted.next_if(|record| record.begins_at == at).map(|record| record.units());
            CapacityPoint { at, units }
        });
        StockCapacity {
            step: self.step,
            points: points.collect(),
            from: self.begins_at(),
            to: self.ends_at(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn period(step: CapacityStep, from: &str, to: &str) -> Result<Period, (&'static str, String)> {
        let at = |text: &str| (!text.is_empty()).then(|| time(text));
        Period::new(step, at(from), at(to), time("2026-05-04T10:20:00Z"))
    }

    #[test]
    fn a_period_has_whole_steps_and_no_future() {
        for (step, from, to, begin, end) in [
            (CapacityStep::Hour, "", "", "2026-05-03T10:00:00Z", "2026-05-04T11:00:00Z"),
            (CapacityStep::Day, "", "", "2026-04-04T00:00:00Z", "2026-05-05T00:00:00Z"),
            (
                CapacityStep::Hour,
                "2026-05-04T08:59:59Z",
                "2026-05-04T10:00:00Z",
                "2026-05-04T08:00:00Z",
                "2026-05-04T10:00:00Z",
            ),
            (
                CapacityStep::Day,
                "2026-05-01T00:00:00Z",
                "2026-05-09T00:00:00Z",
                "2026-05-01T00:00:00Z",
                "2026-05-05T00:00:00Z",
            ),
        ] {
            let period = period(step, from, to).unwrap();
            assert_eq!((period.begins_at(), period.ends_at()), (time(begin), time(end)), "{from} {to}");
        }
    }

    #[test]
    fn a_period_that_is_empty_or_too_long_is_refused() {
        for (step, from, to) in [
            (CapacityStep::Hour, "2026-05-04T10:20:00Z", ""),
            (CapacityStep::Hour, "2027-01-01T00:00:00Z", "2027-01-02T00:00:00Z"),
            (CapacityStep::Hour, "2026-04-03T10:19:59Z", ""),
            (CapacityStep::Day, "2025-03-30T10:19:59Z", ""),
            (CapacityStep::Hour, "-009999-01-02T01:59:59Z", "-009999-01-02T01:59:59Z"),
        ] {
            assert_eq!(period(step, from, to).unwrap_err().0, "from", "{from} {to}");
        }
        for step in [CapacityStep::Hour, CapacityStep::Day] {
            let longest = Timestamp::from_second(1_777_890_000 - step.days().1 * DAY).unwrap();
            assert!(Period::new(step, Some(longest), None, time("2026-05-04T10:20:00Z")).is_ok());
        }
    }

    #[test]
    fn a_step_without_a_record_is_unknown_and_not_zero() {
        let period = period(CapacityStep::Hour, "2026-05-04T07:00:00Z", "2026-05-04T10:00:00Z").unwrap();
        let at = |text: &str, seconds| Counted {
            begins_at: time(text),
            seconds,
            available: 10,
            inactive: 0,
            used: 5,
            least_available: 2,
        };
        let filled = period.fill(vec![at("2026-05-04T07:00:00Z", 3), at("2026-05-04T09:00:00Z", 5)]);
        let units: Vec<_> = filled.points.iter().map(|point| point.units.as_ref()).collect();
        let first =
            CapacityUnits { available: 3.33, inactive: 0.0, used: 1.67, total: 5.0, least_available: 2 };
        let last = CapacityUnits { available: 2.0, inactive: 0.0, used: 1.0, total: 3.0, least_available: 2 };
        assert_eq!(units, [Some(&first), None, Some(&last)]);
    }
}

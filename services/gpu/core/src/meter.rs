//! Metered runs: which are open and closed, and what they cost. Pure.

use ids::{InstanceId, RunId};
use jiff::Timestamp;
use rust_decimal::{Decimal, RoundingStrategy};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ends::{EndReason, HoldEnd};

/// Digits after the decimal point of an amount. Each run's amount is rounded once, and totals are sums of rounded
/// amounts: the lines of a bill add up.
const SCALE: u32 = 6;

/// Returns the price of `seconds`: seconds × price ÷ 3600, rounded half to even at the sixth digit.
#[must_use]
pub fn amount(seconds: i64, price_per_hour: Decimal) -> Decimal {
    (Decimal::from(seconds) * price_per_hour / Decimal::from(3600))
        .round_dp_with_strategy(SCALE, RoundingStrategy::MidpointNearestEven)
        .normalize()
}

/// Identity of a run of one instance: an interval of confirmed running, by the cluster's evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RunKey {
    /// Number of the start that it belongs to.
    pub attempt: i64,
    /// When it began, in whole seconds.
    pub since: Timestamp,
}

impl RunKey {
    /// Returns the id of this run of the instance. It sorts by the second, then by the attempt. A database
    /// that was restored to a time before the run computes the same id, so that no run is charged twice.
    #[must_use]
    pub fn id(self, instance: InstanceId) -> RunId {
        let since = self.since.duration_since(Timestamp::UNIX_EPOCH).unsigned_abs();
        RunId::derived_at(
            since,
            self.attempt.unsigned_abs(),
            &[&instance.to_string(), &self.attempt.to_string()],
        )
    }
}

/// A run that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedRun {
    /// Which run.
    pub key: RunKey,
    /// When it ended, in whole seconds.
    pub ended_at: Timestamp,
    /// The end was not observed: the run ended at `ended_at` at the latest, and is billed until it was last
    /// confirmed.
    pub unseen: bool,
    /// Why it ended.
    pub reason: EndReason,
}

/// The progress of an instance's meter in following the cluster's evidence.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meter {
    /// The open run.
    pub open: Option<RunKey>,
    /// The newest run with a recorded end, and that end.
    pub closed: Option<(RunKey, Timestamp)>,
    /// A hold without a recorded end: requests end holds, and only reconciles write runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_hold: Option<EndedHold>,
}

impl Meter {
    /// Returns whether the end of a run is recorded. A container that restarts within one second has a second run
    /// with the key of the first: while that is open, an end with this key is new.
    #[must_use]
    pub fn knows(&self, run: &EndedRun) -> bool {
        self.open != Some(run.key) && self.closed.is_some_and(|closed| (run.key, run.ended_at) <= closed)
    }
}

/// A change of the meter's table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Metering {
    /// A run has begun.
    Open(RunKey),
    /// A run has ended. Its beginning may not have been recorded.
    Close(EndedRun),
    /// A run has ended without evidence of when: it is closed at the last time it was confirmed.
    CloseUnseen(RunKey),
    /// A stopped instance keeps its unit.
    OpenHold(RunKey),
    /// The hold of a stopped instance has ended.
    CloseHold(EndedHold),
}

/// A hold that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedHold {
    /// Which hold.
    pub key: RunKey,
    /// When it ended, in whole seconds. If the unit was lost, it is billed until it was last confirmed.
    pub ended_at: Timestamp,
    /// Why it ended.
    pub cause: HoldEnd,
}

/// Why the interval of a closed run was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Correction {
    /// The cluster reported the end after the run had been closed.
    LateEvidence,
    /// The cluster's history has another interval.
    ClusterHistory,
    /// The cluster's history has this run, and the meter did not.
    MissedRun,
    /// The cluster's history does not have this run.
    UnprovenRun,
}

words! {
    Correction {
        LateEvidence = "late_evidence",
        ClusterHistory = "cluster_history",
        MissedRun = "missed_run",
        UnprovenRun = "unproven_run",
    }
}

/// Kind of usage of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum UsageKind {
    /// The instance ran.
    Running,
    /// The instance was stopped and kept its unit.
    Held,
}

words! {
    UsageKind {
        Running = "running",
        Held = "held",
    }
}

/// Time up to which the runs of a cluster are confirmed.
#[derive(Debug, Serialize, ToSchema)]
pub struct Watermark {
    /// Configured name of the cluster.
    pub cluster: String,
    /// Time up to which the cluster has confirmed all its open runs. It does not advance while the cluster does not
    /// answer.
    pub confirmed_through: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn key(attempt: i64, since: i64) -> RunKey {
        RunKey { attempt, since: at(since) }
    }

    #[test]
    fn an_amount_is_exact_to_the_sixth_digit() {
        let price = |text: &str| text.parse::<Decimal>().unwrap();
        assert_eq!(amount(3600, price("0.45")), price("0.45"));
        assert_eq!(amount(1, price("0.45")), price("0.000125"));
        assert_eq!(amount(1, price("1")), price("0.000278"));
        assert_eq!(amount(0, price("9")), Decimal::ZERO);
        // half to even
        assert_eq!(amount(1, price("0.0018")), price("0"));
        assert_eq!(amount(1, price("0.0054")), price("0.000002"));
        // ten years of the most expensive machine still fit
        assert_eq!(amount(315_360_000, price("1000")), price("87600000"));
    }

    /// A database that was restored finds a run of its clusters again: whoever bills replaces it, and does not add it.
    #[test]
    fn a_run_that_is_found_again_has_its_former_id() {
        let [instance, other] = [InstanceId::new(), InstanceId::new()];
        let id = key(2, 100).id(instance);
        assert_eq!(key(2, 100).id(instance), id);
        for another in [key(2, 100).id(other), key(3, 100).id(instance), key(2, 101).id(instance)] {
            assert_ne!(another, id);
        }
    }

    #[test]
    fn runs_of_one_second_sort_by_their_attempts() {
        let instance = InstanceId::new();
        let ids: Vec<_> = (1..50).map(|attempt| key(attempt, 100).id(instance)).collect();
        assert!(ids.is_sorted());
    }

    #[test]
    fn the_meter_knows_the_runs_up_to_the_one_it_closed_last() {
        let meter = Meter { closed: Some((key(2, 100), at(160))), ..Meter::default() };
        let ended = |attempt, since, until| EndedRun {
            key: key(attempt, since),
            ended_at: at(until),
            unseen: false,
            reason: EndReason::Stopped,
        };
        for (run, known) in [
            (ended(2, 100, 160), true),
            (ended(2, 100, 159), true),
            (ended(2, 100, 161), false),
            (ended(2, 101, 160), false),
            (ended(2, 99, 300), true),
            (ended(1, 500, 600), true),
            (ended(3, 0, 1), false),
        ] {
            assert_eq!(meter.knows(&run), known, "{run:?}");
            assert!(!Meter::default().knows(&run));
        }
        // a second run within the same second
        let reopened = Meter { open: Some(key(2, 100)), ..meter };
        assert!(!reopened.knows(&ended(2, 100, 160)));
        assert!(reopened.knows(&ended(2, 99, 160)));
    }

    #[test]
    fn every_reason_of_the_operator_is_known() {
        for reason in units::RunEndReason::ALL {
            assert_ne!(EndReason::reported(reason.as_str()), EndReason::Unknown, "{reason}");
        }
        assert_eq!(EndReason::reported("Nonsense"), EndReason::Unknown);
    }
}

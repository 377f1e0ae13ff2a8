//! The charge for an attempt. Pure.
//!
//! Work is charged from the first report of a phase after loading; loading is not charged. A user pays for
//! work that led to results or that the user ended, and for work that is kept in a checkpoint.

use jiff::Timestamp;
use rust_decimal::{Decimal, RoundingStrategy, prelude::ToPrimitive};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::amount::SCALE;

const SECONDS_PER_HOUR: i64 = 3_600;
/// A limit that is reached only after more than ten years counts as none.
const FAR: i64 = 315_360_000;

/// The price of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rate {
    pub price_per_hour: Decimal,
    pub currency: String,
    pub level_factor: Decimal,
}

/// Whether work may cost more at one of these rates, by specification, than at each of those. Unknown ones may.
pub fn may_be_dearer(rates: &[(String, Rate)], than: &[(String, Rate)]) -> bool {
    let is_covered = |rate: &Rate| {
        than.iter().any(|(_, other)| other.currency == rate.currency && other.per_hour() >= rate.per_hour())
    };
    rates.is_empty() != than.is_empty() || !rates.iter().all(|(_, rate)| is_covered(rate))
}

impl Rate {
    fn per_hour(&self) -> Decimal {
        self.price_per_hour * self.level_factor
    }

    /// Returns the price of `seconds`: seconds × price × factor ÷ 3600, rounded half to even at the sixth digit, as that of runs
    /// of instances.
    pub fn amount(&self, seconds: i64) -> Decimal {
        (Decimal::from(seconds) * self.per_hour() / Decimal::from(SECONDS_PER_HOUR))
            .round_dp_with_strategy(SCALE, RoundingStrategy::MidpointNearestEven)
            .normalize()
    }

    /// Returns how many seconds cost at most `amount`; none if that is more than an attempt can take.
    pub fn affordable(&self, amount: Decimal) -> Option<i64> {
        let per_hour = self.per_hour();
        if per_hour.is_zero() {
            return None;
        }
        let seconds =
            amount.max(Decimal::ZERO).checked_mul(Decimal::from(SECONDS_PER_HOUR))?.checked_div(per_hour)?;
        seconds.floor().to_i64().filter(|seconds| *seconds <= FAR)
    }
}

/// The end of an attempt, with the facts that determine its cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Succeeded,
    /// By the user, confirmed by its worker.
    Cancelled,
    /// The cost has reached the limit.
    OverCost,
    /// An action of its tenant prevents it from continuing.
    Prevented,
    /// It failed, and its job with it.
    Failed,
    /// It failed, and another may succeed.
    Retried,
    Lost,
    Preempted,
    Recalled,
}

/// Why seconds of an attempt are not charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type), sqlx(type_name = "text", rename_all = "snake_case"))]
#[schema(as = UnchargedReason)]
pub enum Uncharged {
    /// The worker was loading.
    Loading,
    /// The attempt failed. A training pays until its last stored checkpoint.
    Failed,
    /// The worker was lost. A training pays until its last stored checkpoint.
    Lost,
    /// The attempt left for another job. A training pays until its last stored checkpoint.
    Preempted,
    /// The worker lost its GPU. A training pays until its last stored checkpoint.
    Recalled,
    /// The job had reached `max_cost`.
    MaxCost,
    /// The job failed in the end.
    JobFailed,
    /// The price of the GPU specification was not known.
    NoPrice,
}

/// When an attempt did what.
#[derive(Debug, Clone, Copy)]
pub struct Work {
    pub assigned_at: Timestamp,
    /// The first report of a phase after loading.
    pub working_at: Option<Timestamp>,
    /// When the cost reaches the limit of the job.
    pub stop_at: Option<Timestamp>,
    /// The work until then is in a stored checkpoint.
    pub checkpoint_at: Option<Timestamp>,
    pub ended_at: Timestamp,
}

/// The charge for an attempt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Charge {
    pub seconds: i64,
    pub amount: Decimal,
    /// The other seconds since the assignment.
    pub uncharged_seconds: i64,
    /// Why; none if all is charged.
    pub reason: Option<Uncharged>,
}

/// Whole seconds from one time to another; 0 if that is not later.
fn seconds(from: Timestamp, to: Timestamp) -> i64 {
    to.duration_since(from).as_secs().max(0)
}

/// Returns the charge for an attempt; none without a rate.
pub fn charge(outcome: Outcome, work: &Work, rate: Option<&Rate>) -> Charge {
    let total = seconds(work.assigned_at, work.ended_at);
    let (until, lacks) = match outcome {
        Outcome::Succeeded | Outcome::Cancelled | Outcome::OverCost | Outcome::Prevented => {
            (Some(work.ended_at), None)
        }
        Outcome::Failed => (None, Some(Uncharged::JobFailed)),
        Outcome::Retried => (work.checkpoint_at, Some(Uncharged::Failed)),
        Outcome::Lost => (work.checkpoint_at, Some(Uncharged::Lost)),
        Outcome::Preempted => (work.checkpoint_at, Some(Uncharged::Preempted)),
        Outcome::Recalled => (work.checkpoint_at, Some(Uncharged::Recalled)),
    };
    let limit = work.stop_at.unwrap_or(work.ended_at).min(work.ended_at);
    let counted = work.working_at.zip(until).map(|(from, until)| seconds(from, until.min(limit)));
    let charged = rate.and(counted).unwrap_or_default().min(total);
    let rest = total - charged;
    let reason = if rate.is_none() {
        Some(Uncharged::NoPrice)
    } else if lacks.is_some() {
        lacks
    } else if rest == 0 {
        None
    } else if limit < work.ended_at {
        Some(Uncharged::MaxCost)
    } else {
        Some(Uncharged::Loading)
    };
    Charge {
        seconds: charged,
        amount: rate.map(|rate| rate.amount(charged)).unwrap_or_default(),
        uncharged_seconds: rest,
        reason,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn rate(price: &str, factor: &str) -> Rate {
        Rate {
            price_per_hour: price.parse().unwrap(),
            currency: "USD".to_owned(),
            level_factor: factor.parse().unwrap(),
        }
    }

    fn decimal(text: &str) -> Decimal {
        text.parse().unwrap()
    }

    /// Assigned at 0, loaded at 20, ended at 100.
    fn work() -> Work {
        Work {
            assigned_at: at(0),
            working_at: Some(at(20)),
            stop_at: None,
            checkpoint_at: None,
            ended_at: at(100),
        }
    }

    #[test]
    fn a_pool_may_be_dearer_if_one_of_its_rates_is_higher_or_not_known() {
        let rates = |prices: &[&str]| prices.iter().map(|price| (String::new(), rate(price, "2"))).collect();
        let dearer = |of: &[&str], than: &[&str]| {
            let (of, than): (Vec<_>, Vec<_>) = (rates(of), rates(than));
            may_be_dearer(&of, &than)
        };
        assert!(!dearer(&["1", "3"], &["2", "3"]));
        assert!(dearer(&["1", "4"], &["2", "3"]));
        assert!(!dearer(&[], &[]));
        assert!(dearer(&[], &["1"]), "its price is not known");
        assert!(dearer(&["1"], &[]));
        let mut other = rate("1", "1");
        other.currency = "CHF".to_owned();
        let (other, own): (Vec<_>, Vec<_>) = (vec![(String::new(), other)], rates(&["9"]));
        assert!(may_be_dearer(&other, &own));
    }

    #[test]
    fn an_amount_is_exact_to_the_sixth_digit() {
        assert_eq!(rate("0.45", "1").amount(3_600), decimal("0.45"));
        assert_eq!(rate("0.45", "1.5").amount(80), decimal("0.015"));
        assert_eq!(rate("1", "0.4").amount(1), decimal("0.000111"));
        assert_eq!(rate("9", "1").amount(0), Decimal::ZERO);
        // half to even
        assert_eq!(rate("0.0018", "1").amount(1), decimal("0"));
        assert_eq!(rate("0.0054", "1").amount(1), decimal("0.000002"));
        assert_eq!(rate("1000000", "100").amount(FAR), decimal("8760000000000"));
    }

    #[test]
    fn a_user_pays_for_results_and_for_what_the_user_ended_or_prevented() {
        let rate = rate("3.6", "1");
        for outcome in [Outcome::Succeeded, Outcome::Cancelled, Outcome::Prevented] {
            let charge = charge(outcome, &work(), Some(&rate));
            assert_eq!((charge.seconds, charge.amount), (80, decimal("0.08")), "{outcome:?}");
            assert_eq!((charge.uncharged_seconds, charge.reason), (20, Some(Uncharged::Loading)));
        }
        // without a report of work there was only loading
        let idle = Work { working_at: None, ..work() };
        assert_eq!(charge(Outcome::Cancelled, &idle, Some(&rate)).seconds, 0);
        let quick = Work { working_at: Some(at(0)), ..work() };
        let all = charge(Outcome::Succeeded, &quick, Some(&rate));
        assert_eq!((all.seconds, all.uncharged_seconds, all.reason), (100, 0, None));
    }

    #[test]
    fn other_ends_cost_what_is_kept_in_a_checkpoint() {
        let rate = rate("3.6", "1");
        for (outcome, reason) in [
            (Outcome::Retried, Uncharged::Failed),
            (Outcome::Lost, Uncharged::Lost),
            (Outcome::Preempted, Uncharged::Preempted),
            (Outcome::Recalled, Uncharged::Recalled),
        ] {
            let none = charge(outcome, &work(), Some(&rate));
            assert_eq!((none.seconds, none.amount), (0, Decimal::ZERO), "{outcome:?}");
            assert_eq!((none.uncharged_seconds, none.reason), (100, Some(reason)));
            let kept = Work { checkpoint_at: Some(at(50)), ..work() };
            let kept = charge(outcome, &kept, Some(&rate));
            assert_eq!((kept.seconds, kept.amount, kept.reason), (30, decimal("0.03"), Some(reason)));
        }
        let kept = Work { checkpoint_at: Some(at(50)), ..work() };
        let failed = charge(Outcome::Failed, &kept, Some(&rate));
        assert_eq!((failed.seconds, failed.reason), (0, Some(Uncharged::JobFailed)));
    }

    #[test]
    fn nothing_is_charged_without_a_price() {
        let free = charge(Outcome::Succeeded, &work(), None);
        assert_eq!((free.seconds, free.amount, free.reason), (0, Decimal::ZERO, Some(Uncharged::NoPrice)));
    }

    #[test]
    fn a_limit_is_never_exceeded_and_what_comes_after_it_costs_nothing() {
        let limited = Work { stop_at: Some(at(60)), ..work() };
        for outcome in [Outcome::OverCost, Outcome::Succeeded] {
            let charge = charge(outcome, &limited, Some(&rate("3.6", "1")));
            assert_eq!((charge.seconds, charge.reason), (40, Some(Uncharged::MaxCost)), "{outcome:?}");
        }
        assert_eq!(rate("3.6", "1").affordable(decimal("0.04")), Some(40));
        assert_eq!(rate("3.6", "1").affordable(decimal("0.0409")), Some(40));
        assert_eq!(rate("3.6", "1").affordable(decimal("-1")), Some(0));
        assert_eq!(rate("3.6", "0").affordable(decimal("1")), None);
        assert_eq!(rate("0.000001", "0.001").affordable(decimal("1000000000000")), None);
    }

    proptest! {
        /// What is affordable costs at most the limit, and a second more would cost more.
        #[test]
        fn affordable_seconds_are_exact(
            micros in 1i64..1_000_000_000, price in 1i64..2_000_000_000, factor in 1i64..100_000,
        ) {
            let rate = Rate {
                price_per_hour: Decimal::new(price, 6), currency: "USD".to_owned(), level_factor: Decimal::new(factor, 3),
            };
            let limit = Decimal::new(micros, 6);
            if let Some(seconds) = rate.affordable(limit) {
                prop_assert!(rate.amount(seconds) <= limit);
                let more = Decimal::from(seconds + 1) * rate.price_per_hour * rate.level_factor / Decimal::from(3_600);
                prop_assert!(more > limit);
            }
        }

        /// Charged and uncharged seconds are all seconds since the assignment, and nothing is charged twice.
        #[test]
        fn all_seconds_are_accounted_for(
            which in 0usize..9, end in 0i64..1_000, from in prop::option::of(0i64..1_200),
            stop in prop::option::of(0i64..1_200), kept in prop::option::of(0i64..1_200), priced: bool,
        ) {
            let outcome = [
                Outcome::Succeeded, Outcome::Cancelled, Outcome::OverCost, Outcome::Failed, Outcome::Retried,
                Outcome::Lost, Outcome::Preempted, Outcome::Recalled, Outcome::Prevented,
            ][which];
            let work = Work {
                assigned_at: at(0), working_at: from.map(at), stop_at: stop.map(at), checkpoint_at: kept.map(at),
                ended_at: at(end),
            };
            let rate = rate("1", "1");
            let charge = charge(outcome, &work, priced.then_some(&rate));
            prop_assert_eq!(charge.seconds + charge.uncharged_seconds, end);
            prop_assert!(charge.seconds >= 0 && charge.uncharged_seconds >= 0);
            prop_assert!(charge.reason.is_some() || charge.uncharged_seconds == 0);
            prop_assert_eq!(charge.amount, if priced { rate.amount(charge.seconds) } else { Decimal::ZERO });
        }
    }
}

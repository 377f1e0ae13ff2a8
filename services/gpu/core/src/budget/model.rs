//! When a tenant reaches the steps of its budget, and what it may spend until then. Pure.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp, civil::Date, tz::TimeZone};
use problem::Checks;
use rust_decimal::{Decimal, RoundingStrategy, prelude::ToPrimitive};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::allowance::{Allowance, ISSUER};
use crate::event::{BudgetReached, BudgetResumed, BudgetStopped, BudgetStopping, Detail, Entry, ResumeCause};

/// Limit of warn steps.
const MAX_STEPS: usize = 20;
/// Digits after the decimal point of a rate.
const SCALE: u32 = 6;
const SECONDS_PER_HOUR: i64 = 3600;

/// What happens when the whole amount is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = BudgetAction)]
#[serde(rename_all = "snake_case")]
pub enum AtLimit {
    /// Instances are stopped, then holds are given up, and nothing is started until the next month. Data is kept.
    Stop,
    /// An event.
    Notify,
}

words! {
    AtLimit {
        Stop = "stop",
        Notify = "notify",
    }
}

/// What a tenant may spend in a calendar month (UTC).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = BudgetTerms)]
#[serde(deny_unknown_fields)]
pub struct Terms {
    /// The amount. Prices in other currencies do not count.
    #[schema(value_type = String)]
    pub amount: Decimal,
    /// Currency (ISO 4217).
    pub currency: String,
    /// Parts of the amount, in percent. An event is sent when each of them, and always when the whole amount, is spent.
    #[serde(default = "default_steps")]
    #[schema(default = json!([50, 80, 95]))]
    pub warn_percents: Vec<u8>,
    /// What happens when the whole amount is spent; `stop` if absent.
    #[serde(default = "default_at_limit")]
    pub at_limit: AtLimit,
}

fn default_steps() -> Vec<u8> {
    vec![50, 80, 95]
}

fn default_at_limit() -> AtLimit {
    AtLimit::Stop
}

impl Terms {
    pub fn check(&self, checks: &mut Checks) {
        let is_amount = !self.amount.is_sign_negative()
            && self.amount <= Decimal::from(1_000_000_000_000_i64)
            && self.amount.normalize().scale() <= SCALE;
        checks.require(is_amount, "/amount", "must be 0 to 10^12, with at most six decimal places");
        checks.currency("/currency", &self.currency);
        let are_steps = self.warn_percents.len() <= MAX_STEPS
            && self.warn_percents.iter().all(|percent| (1..100).contains(percent))
            && self.warn_percents.is_sorted_by(|a, b| a < b);
        let detail = format!("must be at most {MAX_STEPS} of 1 to 99, in ascending order");
        checks.require(are_steps, "/warn_percents", detail);
    }

    /// The steps in ascending order, the whole amount included.
    pub fn steps(&self) -> impl Iterator<Item = u8> {
        self.warn_percents.iter().copied().chain([100])
    }

    /// The amount of a step.
    pub fn threshold(&self, percent: u8) -> Decimal {
        self.amount * Decimal::from(percent) / Decimal::ONE_HUNDRED
    }
}

/// A calendar month in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Month {
    /// Its first day.
    pub first: Date,
    pub from: Timestamp,
    /// The beginning of the next.
    pub to: Timestamp,
}

impl Month {
    pub fn of(at: Timestamp) -> Self {
        let first = at.to_zoned(TimeZone::UTC).date().first_of_month();
        let next = first.last_of_month().tomorrow().unwrap_or(Date::MAX);
        let midnight =
            |day: Date| day.to_zoned(TimeZone::UTC).map_or(Timestamp::MAX, |zoned| zoned.timestamp());
        Self { first, from: midnight(first), to: midnight(next) }
    }
}

/// What a tenant has spent in a month until a time, and spends per hour then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spending {
    pub running: Decimal,
    pub held: Decimal,
    pub rate_per_hour: Decimal,
    pub at: Timestamp,
}

impl Spending {
    pub fn spent(&self) -> Decimal {
        (self.running + self.held).normalize()
    }

    /// When this much will be spent at the present rate, in whole seconds; `at` if it is. None if not within a year.
    pub fn reaches(&self, threshold: Decimal) -> Option<Timestamp> {
        let missing = threshold - self.spent();
        if missing <= Decimal::ZERO {
            return Some(self.at);
        }
        if self.rate_per_hour <= Decimal::ZERO {
            return None;
        }
        // the meter counts whole seconds
        let cost = missing.checked_mul(Decimal::from(SECONDS_PER_HOUR))?;
        let seconds = cost.checked_div(self.rate_per_hour)?.ceil().to_i64()?;
        let within_a_year = seconds <= 366 * 86_400;
        within_a_year.then(|| Timestamp::from_second(self.at.as_second() + seconds.max(1)).ok()).flatten()
    }
}

/// The steps that were reached in a month. Stored with the budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// First day of the month.
    pub month: Date,
    /// The amount of the budget by which the steps were reached, and its currency.
    pub amount: Decimal,
    pub currency: String,
    /// Steps that were reached, and when that was seen.
    pub reached: BTreeMap<u8, Timestamp>,
    /// When the stop that was announced is due.
    pub stopping_at: Option<Timestamp>,
    /// When the whole budget was spent; instances are stopped since then.
    pub stopped_at: Option<Timestamp>,
}

impl Progress {
    /// Returns the progress of a month in which no step is reached.
    pub fn new(terms: &Terms, at: Timestamp) -> Self {
        Self {
            month: Month::of(at).first,
            amount: terms.amount,
            currency: terms.currency.clone(),
            reached: BTreeMap::new(),
            stopping_at: None,
            stopped_at: None,
        }
    }
}

/// Times of the rule of budgets.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// Time between the announcement of a stop and the stop.
    pub notice: SignedDuration,
    /// Time for which the rest of the budget must pay for all running instances, including the one to be started.
    pub start_ahead: SignedDuration,
}

/// The result of evaluating a budget.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    pub progress: Progress,
    /// Entries for the tenant's log.
    pub log: Vec<Entry>,
    /// What the tenant may start; none without a limit.
    pub allowance: Option<Allowance>,
    /// When to evaluate again if the rate stays the same.
    pub due_at: Timestamp,
}

/// Evaluates the spending of a tenant, after `before`.
pub fn evaluate(terms: &Terms, before: &Progress, spending: &Spending, times: Times) -> Evaluation {
    let (at, spent) = (spending.at, spending.spent());
    let month = Month::of(at);
    let mut log = Vec::new();
    let mut progress = before.clone();
    let has_turned = progress.month != month.first;
    let has_changed = progress.amount != terms.amount || progress.currency != terms.currency;
    if has_turned {
        progress.reached.clear();
        progress.stopping_at = None;
    } else if has_changed {
        // steps that the new amount has not reached can be reached again
        progress.reached.retain(|percent, _| spent >= terms.threshold(*percent));
        progress.stopping_at = None;
    }
    (progress.month, progress.amount) = (month.first, terms.amount);
    progress.currency.clone_from(&terms.currency);

    for percent in terms.steps().filter(|percent| spent >= terms.threshold(*percent)) {
        if let std::collections::btree_map::Entry::Vacant(step) = progress.reached.entry(percent) {
            step.insert(at);
            let reached = BudgetReached {
                month: month.first.to_string(),
                percent,
                amount: terms.amount,
                spent,
                currency: terms.currency.clone(),
            };
            log.push(Entry::from(Detail::BudgetReached(reached)));
        }
    }

    let stops = terms.at_limit == AtLimit::Stop;
    let is_exhausted = stops && spent >= terms.amount;
    let runs_out_at = spending.reaches(terms.amount).filter(|end| *end < month.to);
    if is_exhausted {
        progress.stopping_at = None;
        if progress.stopped_at.is_none() {
            progress.stopped_at = Timestamp::from_second(at.as_second()).ok();
            let stopped = BudgetStopped {
                amount: terms.amount,
                spent,
                currency: terms.currency.clone(),
                renews_at: month.to,
            };
            log.push(Entry::from(Detail::BudgetStopped(stopped)));
        }
    } else {
        if progress.stopped_at.take().is_some() {
            let cause = match (has_turned, has_changed || !stops) {
                (true, _) => ResumeCause::NewMonth,
                (false, true) => ResumeCause::BudgetChanged,
                (false, false) => ResumeCause::Correction,
            };
            log.push(Entry::from(Detail::BudgetResumed(BudgetResumed { cause })));
        }
        let left = runs_out_at.filter(|_| stops).map(|end| end.duration_since(at));
        match left {
            Some(left) if left <= times.notice => {
                if progress.stopping_at.is_none() {
                    progress.stopping_at = runs_out_at;
                    log.extend(runs_out_at.map(|stops_at| announced(terms, spent, stops_at)));
                }
            }
            // not each time that the rate changes a little
            Some(left) if left <= times.notice * 2 => {}
            _ => progress.stopping_at = None,
        }
    }

    let allowance = stops.then(|| Allowance {
        issuer: ISSUER.to_owned(),
        version: 0,
        currency: terms.currency.clone(),
        max_rate_per_hour: Some(max_rate(terms.amount - spent, times.start_ahead)),
        valid_until: None,
        runs_out_at: if is_exhausted { progress.stopped_at } else { runs_out_at },
        renews_at: Some(month.to),
    });
    let notice_at = runs_out_at
        .filter(|_| stops && progress.stopping_at.is_none())
        .and_then(|end| end.checked_sub(times.notice).ok());
    let due_at = terms
        .steps()
        .filter(|percent| !progress.reached.contains_key(percent) || *percent == 100)
        .filter_map(|percent| spending.reaches(terms.threshold(percent)))
        .chain(notice_at)
        .filter(|due| *due > at)
        .fold(month.to, Timestamp::min);
    Evaluation { progress, log, allowance, due_at }
}

fn announced(terms: &Terms, spent: Decimal, stops_at: Timestamp) -> Entry {
    let (amount, currency) = (terms.amount, terms.currency.clone());
    Detail::BudgetStopping(BudgetStopping { amount, spent, currency, stops_at }).into()
}

/// The highest rate that `left` pays for during `ahead`.
fn max_rate(left: Decimal, ahead: SignedDuration) -> Decimal {
    let per_hour =
        left.max(Decimal::ZERO) * Decimal::from(SECONDS_PER_HOUR) / Decimal::from(ahead.as_secs().max(1));
    per_hour.round_dp_with_strategy(SCALE, RoundingStrategy::ToZero).normalize()
}

/// Returns the maximum cost of a rate in this time.
pub fn cost(rate_per_hour: Decimal, time: SignedDuration) -> Decimal {
    let cost = rate_per_hour * Decimal::from(time.as_secs()) / Decimal::from(SECONDS_PER_HOUR);
    cost.round_dp_with_strategy(SCALE, RoundingStrategy::AwayFromZero).normalize()
}

#[cfg(test)]
mod tests;

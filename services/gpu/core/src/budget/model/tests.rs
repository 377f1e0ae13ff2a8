use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

const TIMES: Times =
    Times { notice: SignedDuration::from_secs(300), start_ahead: SignedDuration::from_secs(1200) };
/// A second of November.
const NOVEMBER: i64 = 1_793_491_200;
const DAY: i64 = 86_400;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn terms(amount: &str, warn_percents: &[u8], at_limit: AtLimit) -> Terms {
    Terms {
        amount: amount.parse().unwrap(),
        currency: "EUR".into(),
        warn_percents: warn_percents.to_vec(),
        at_limit,
    }
}

fn spending(spent: &str, rate: &str, second: i64) -> Spending {
    Spending {
        running: spent.parse().unwrap(),
        held: Decimal::ZERO,
        rate_per_hour: rate.parse().unwrap(),
        at: at(second),
    }
}

fn names(log: &[Entry]) -> Vec<String> {
    log.iter()
        .map(|entry| match &entry.detail {
            Detail::BudgetReached(reached) => reached.percent.to_string(),
            Detail::BudgetStopping(stopping) => {
                format!("stopping {}", stopping.stops_at.as_second() - NOVEMBER)
            }
            Detail::BudgetStopped(_) => "stopped".to_owned(),
            Detail::BudgetResumed(resumed) => format!("{:?}", resumed.cause),
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn a_month_is_a_calendar_month_in_utc() {
    let month = Month::of("2026-12-31T23:59:59.9Z".parse().unwrap());
    assert_eq!(month.from, "2026-12-01T00:00:00Z".parse().unwrap());
    assert_eq!(month.to, "2027-01-01T00:00:00Z".parse().unwrap());
    assert_eq!(Month::of(month.to).from, month.to);
    assert_eq!(
        Month::of("2028-02-29T12:00:00Z".parse().unwrap()).to,
        "2028-03-01T00:00:00Z".parse().unwrap()
    );
}

/// 0.36 an hour is 0.0001 a second.
#[test]
fn a_budget_goes_through_its_steps_to_the_stop_and_the_next_month() {
    let terms = terms("1", &[50, 80], AtLimit::Stop);
    let mut before = Progress::new(&terms, at(NOVEMBER));
    let mut evaluated = |spent, rate, second| {
        let evaluation = evaluate(&terms, &before, &spending(spent, rate, NOVEMBER + second), TIMES);
        before = evaluation.progress.clone();
        evaluation
    };
    let due = |evaluation: &Evaluation| evaluation.due_at.as_second() - NOVEMBER;
    let idle = evaluated("0", "0", 0);
    assert_eq!((names(&idle.log).len(), due(&idle)), (0, 30 * DAY));
    assert_eq!(idle.allowance.as_ref().unwrap().max_rate_per_hour, Some("3".parse().unwrap()));
    let first = evaluated("0", "0.36", 100);
    assert_eq!((names(&first.log).len(), due(&first)), (0, 5_100));
    assert_eq!(first.allowance.unwrap().runs_out_at, Some(at(NOVEMBER + 10_100)));
    let half = evaluated("0.5", "0.36", 5_100);
    assert_eq!((names(&half.log), due(&half)), (vec!["50".to_owned()], 8_100));
    let most = evaluated("0.8", "0.36", 8_100);
    assert_eq!((names(&most.log), due(&most)), (vec!["80".to_owned()], 9_800));
    let notice = evaluated("0.97", "0.36", 9_800);
    assert_eq!((names(&notice.log), due(&notice)), (vec!["stopping 10100".to_owned()], 10_100));
    let end = evaluated("1", "0.36", 10_100);
    assert_eq!((names(&end.log), due(&end)), (vec!["100".to_owned(), "stopped".to_owned()], 30 * DAY));
    let allowance = end.allowance.unwrap();
    assert_eq!(
        (allowance.runs_out_at, allowance.max_rate_per_hour),
        (Some(at(NOVEMBER + 10_100)), Some(Decimal::ZERO))
    );
    let after = evaluated("1.01", "0", 10_130);
    assert_eq!(names(&after.log), [""; 0]);
    let next = evaluated("0", "0", 30 * DAY);
    assert_eq!(names(&next.log), ["NewMonth"]);
    assert_eq!(next.allowance.unwrap().runs_out_at, None);
}

#[test]
fn another_amount_is_another_budget() {
    let small = terms("1", &[50], AtLimit::Stop);
    let spent = spending("1", "0", NOVEMBER);
    let stopped = evaluate(&small, &Progress::new(&small, spent.at), &spent, TIMES).progress;
    let large = terms("10", &[50], AtLimit::Stop);
    let raised = evaluate(&large, &stopped, &spent, TIMES);
    assert_eq!(names(&raised.log), ["BudgetChanged"]);
    assert_eq!(names(&evaluate(&large, &raised.progress, &spending("5", "0", NOVEMBER), TIMES).log), ["50"]);
    // a little more, of which half is spent as before: not said twice
    let more = terms("1.1", &[50], AtLimit::Stop);
    assert_eq!(names(&evaluate(&more, &stopped, &spent, TIMES).log), ["BudgetChanged"]);
    // events only
    let notify = terms("1", &[50], AtLimit::Notify);
    let evaluated = evaluate(&notify, &Progress::new(&notify, spent.at), &spent, TIMES);
    assert_eq!((names(&evaluated.log), evaluated.allowance), (vec!["50".to_owned(), "100".to_owned()], None));
    assert_eq!(names(&evaluate(&notify, &stopped, &spent, TIMES).log), ["BudgetChanged"]);
    // nothing may be spent
    let none = terms("0", &[], AtLimit::Stop);
    let evaluated = evaluate(&none, &Progress::new(&none, spent.at), &spending("0", "0", NOVEMBER), TIMES);
    assert_eq!(names(&evaluated.log), ["100", "stopped"]);
}

#[test]
fn a_stop_is_announced_once_while_the_rate_changes_a_little() {
    let terms = terms("1", &[], AtLimit::Stop);
    let mut before = Progress::new(&terms, at(NOVEMBER));
    let mut log = Vec::new();
    for (spent, rate) in
        [("0.97", "0.36"), ("0.98", "0.18"), ("0.99", "0.36"), ("0.99", "0"), ("0.99", "0.36")]
    {
        let evaluated = evaluate(&terms, &before, &spending(spent, rate, NOVEMBER), TIMES);
        before = evaluated.progress;
        log.extend(names(&evaluated.log));
    }
    assert_eq!(log, ["stopping 300", "stopping 100"], "again after nothing ran");
}

/// What happens to what a tenant spends, in millionths.
#[derive(Debug, Clone, Copy)]
enum Change {
    /// Time passes, at the present rate, until the budget is due or this many seconds.
    Pass(i64),
    /// The rate is this now.
    Rate(i64),
    /// A correction of what was spent.
    Correct(i64),
    /// Another replica evaluates.
    Again,
}

/// Rates of which a second costs a whole number of 10⁻⁸: sums of them are exact, like what the meter counts.
fn changes() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => (1_i64..40_000).prop_map(Change::Pass),
        2 => (0_i64..139_000).prop_map(|rate| Change::Rate(36 * rate)),
        1 => (-300_000_i64..300_000).prop_map(Change::Correct),
        1 => Just(Change::Again),
    ]
}

fn micro(value: i64) -> Decimal {
    Decimal::new(value, 6)
}

proptest! {
    /// Evaluated only when it is due or something changes, as the queue does, no step is missed, late or repeated.
    #[test]
    fn each_step_is_reached_once_and_in_time(
        history in prop::collection::vec(changes(), 1..60),
        percents in prop::collection::btree_set(1_u8..100, 0..6),
        amount in 1_i64..3_000_000,
    ) {
        let percents: Vec<u8> = percents.into_iter().collect();
        let terms = terms(&micro(amount).to_string(), &percents, AtLimit::Stop);
        let (mut now, mut rate) = (NOVEMBER, 0_i64);
        let mut spent = Decimal::ZERO;
        let mut progress = Progress::new(&terms, at(now));
        let mut due = Month::of(at(now)).to.as_second();
        let mut seen = BTreeSet::new();
        let mut reached = BTreeSet::new();
        let mut is_stopped = false;
        for change in history {
            let mut pending = match change {
                Change::Pass(seconds) => seconds,
                Change::Rate(new) => { rate = new; 0 }
                Change::Correct(by) => { spent = (spent + micro(by)).max(Decimal::ZERO); 0 }
                Change::Again => 0,
            };
            loop {
                let step = pending.min(due - now).max(0);
                spent += micro(rate) * Decimal::from(step) / Decimal::from(3600);
                now += step;
                pending -= step;
                if now < due && pending == 0 && matches!(change, Change::Pass(_)) {
                    // nothing is due: so no step lies behind
                    for percent in terms.steps().filter(|percent| spent >= terms.threshold(*percent)) {
                        prop_assert!(reached.contains(&percent), "{percent} is missed at {now}");
                    }
                    break;
                }
                let (month, at) = (Month::of(at(now)), at(now));
                if month.first != progress.month {
                    reached.clear();
                    spent = Decimal::ZERO;
                }
                let spending = Spending { running: spent, held: Decimal::ZERO, rate_per_hour: micro(rate), at };
                let evaluated = evaluate(&terms, &progress, &spending, TIMES);
                for entry in &evaluated.log {
                    match &entry.detail {
                        Detail::BudgetReached(step) => {
                            let first = seen.insert((step.month.clone(), step.percent));
                            prop_assert!(first, "{step:?} twice");
                            prop_assert!(spent >= terms.threshold(step.percent));
                            reached.insert(step.percent);
                        }
                        Detail::BudgetStopped(_) => prop_assert!(!std::mem::replace(&mut is_stopped, true)),
                        Detail::BudgetResumed(_) => prop_assert!(std::mem::replace(&mut is_stopped, false)),
                        Detail::BudgetStopping(ahead) => prop_assert!(ahead.stops_at > at),
                        _ => {}
                    }
                }
                prop_assert_eq!(is_stopped, spent >= terms.amount, "{} of {}", spent, terms.amount);
                let allowance = evaluated.allowance.clone().unwrap();
                prop_assert_eq!(allowance.runs_out_at.is_some_and(|end| end <= at), is_stopped);
                if let Some(end) = allowance.runs_out_at.filter(|_| !is_stopped) {
                    // the first second with the whole amount
                    let until = |second: i64| spent + micro(rate) * Decimal::from(second - now) / Decimal::from(3600);
                    prop_assert!(until(end.as_second()) >= terms.amount);
                    prop_assert!(end.as_second() == now + 1 || until(end.as_second() - 1) < terms.amount);
                }
                // a replica that evaluates the same again changes nothing
                let again = evaluate(&terms, &evaluated.progress, &spending, TIMES);
                prop_assert_eq!(&again.progress, &evaluated.progress);
                prop_assert!(again.log.is_empty() && again.due_at == evaluated.due_at);
                prop_assert!(evaluated.due_at > at);
                progress = evaluated.progress;
                due = evaluated.due_at.as_second();
                if pending == 0 {
                    break;
                }
            }
        }
    }

    /// What is left pays for every rate that is allowed, for as long as is configured.
    #[test]
    fn an_allowed_rate_is_paid_for(spent in 0_i64..2_000_000, rate in 0_i64..9_000_000) {
        let terms = terms("1", &[], AtLimit::Stop);
        let spending = Spending { running: micro(spent), held: Decimal::ZERO, rate_per_hour: Decimal::ZERO, at: at(NOVEMBER) };
        let allowance = evaluate(&terms, &Progress::new(&terms, spending.at), &spending, TIMES).allowance.unwrap();
        let refused = allowance.refuses((Decimal::ZERO, micro(rate)), spending.at, SignedDuration::ZERO);
        let lasts = Spending { rate_per_hour: micro(rate), ..spending }.reaches(terms.amount);
        let is_long = lasts.is_none_or(|end| end.as_second() - NOVEMBER >= 1200);
        prop_assert!(refused.is_some() || (is_long && spent < 1_000_000));
        if rate < 2_900_000 && spent < 10_000 {
            prop_assert_eq!(refused, None);
        }
    }
}

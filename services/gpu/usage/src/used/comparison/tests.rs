//! Any history of an instance, on a real database: what is metered is the evidence.

use std::collections::BTreeMap;

use db::queue::Settings;
use gpu_core::{
    claim::Claim,
    ends::HoldEnd,
    event::By,
    instance::{Accepted, Command, Event, Instance, Pod, State, fixture},
    meter::{UsageKind, amount},
};
use ids::{OperationId, TenantId};
use instances::{MIGRATIONS, NAME, instance::QUEUE, meter::store};
use proptest::{prelude::*, test_runner::TestRunner};
use rust_decimal::Decimal;
use service::Metrics;
use testkit::TestDb;

use super::{
    super::report_store::{self, Report},
    *,
};

/// How much of a run reconciles observe.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Seen {
    All,
    Beginning,
    End,
    Nothing,
}

#[derive(Debug, Clone)]
struct Ran {
    idle: i64,
    seconds: i64,
    /// The cluster's clock is set, forward or back.
    step: i64,
    seen: Seen,
}

/// A start with its runs, and a hold after it.
#[derive(Debug, Clone)]
struct Start {
    cents: i64,
    runs: Vec<Ran>,
    hold: Option<Held>,
    /// The transaction of each change is rolled back once before.
    crashes: bool,
}

#[derive(Debug, Clone, Copy)]
struct Held {
    asked: i64,
    passed: i64,
    given_up: bool,
}

fn starts() -> impl Strategy<Value = Vec<Start>> {
    let seen = prop_oneof![
        3 => Just(Seen::All), 1 => Just(Seen::Beginning), 1 => Just(Seen::End), 1 => Just(Seen::Nothing)
    ];
    let step = prop_oneof![3 => Just(0), 1 => -50..50i64];
    let ran = (0..100i64, 0..200_000i64, step, seen).prop_map(|(idle, seconds, step, seen)| Ran {
        idle,
        seconds,
        step,
        seen,
    });
    let held = (1..5000i64, 0..6000i64, any::<bool>()).prop_map(|(asked, passed, given_up)| Held {
        asked,
        passed,
        given_up,
    });
    let start = (0..100_000i64, prop::collection::vec(ran, 1..4), prop::option::of(held), any::<bool>());
    prop::collection::vec(
        start.prop_map(|(cents, runs, hold, crashes)| Start { cents, runs, hold, crashes }),
        1..5,
    )
}

fn at(second: i64) -> Timestamp {
    fixture::at(second)
}

/// An instance in the database, and what it should cost.
struct Life {
    db: Db,
    instance: Instance,
    /// By attempt and beginning: the end, and the price.
    evidence: BTreeMap<(i64, i64), (i64, Decimal)>,
    history: Vec<Reported>,
    /// Seconds and price of each hold.
    held: Vec<(i64, Decimal)>,
}

impl Life {
    /// Stores a change, possibly after a transaction that does not commit.
    async fn store(&mut self, crashes: bool, change: impl Fn(&mut Instance) -> Accepted, is_command: bool) {
        for commits in [false, true].into_iter().skip(usize::from(!crashes)) {
            let mut tx = self.db.worker().await.unwrap();
            let mut instance = self.instance.clone();
            let Accepted::New(effects) = change(&mut instance) else { panic!("in progress") };
            let by = By::system();
            let stored = if is_command {
                instance::store::command(&mut tx, &mut instance, &effects, &by).await
            } else {
                instance::store::advance(&mut tx, &self.instance, &mut instance, &effects, &by).await
            };
            assert!(stored.unwrap());
            if commits {
                tx.commit().await.unwrap();
                self.instance = instance;
            } else {
                tx.rollback().await.unwrap();
            }
        }
    }

    async fn on(&mut self, crashes: bool, event: Event) {
        self.store(crashes, |instance| Accepted::New(instance.on(event.clone()).unwrap()), false).await;
    }

    async fn command(&mut self, crashes: bool, command: Command, now: Timestamp) {
        let operation = OperationId::new();
        self.store(crashes, |instance| instance.command(command, operation, now).unwrap(), true).await;
    }

    async fn run(&mut self, crashes: bool, ran: &Ran, seen: Seen, clock: &mut i64) {
        *clock += ran.idle + ran.step;
        let (since, until) = (*clock, *clock + ran.seconds);
        *clock = until;
        let key = RunKey { attempt: self.instance.attempt, since: at(since) };
        let run = EndedRun { key, ended_at: at(until), unseen: false, reason: EndReason::ContainerExited };
        let price = self.instance.state.claim().unwrap().price_per_hour;
        // two runs that begin within a second are one
        let end = self.evidence.entry((key.attempt, since)).or_insert((until, price));
        end.0 = end.0.max(until);
        self.history.push(Reported { instance: self.instance.id, run: run.clone() });
        if matches!(seen, Seen::All | Seen::Beginning) {
            let pod = Pod { ip: "10.0.0.1".into(), node: None, since: at(since), object: None };
            self.on(crashes, Event::BecameReady(pod)).await;
        }
        if matches!(seen, Seen::All | Seen::End) {
            self.on(crashes, Event::RunsEnded(vec![run])).await;
        }
    }

    /// Ends the hold, and leaves the instance stopped with or without its unit.
    async fn hold(&mut self, crashes: bool, held: Held, now: i64) {
        let claim = self.instance.state.claim().unwrap().clone();
        self.on(crashes, Event::HoldStarted(at(now))).await;
        let since = self.instance.hold().unwrap().since;
        let until = self.instance.hold().unwrap().until;
        let end = at(now + held.passed).min(until).max(since);
        self.held.push((end.as_second() - since.as_second(), claim.hold_price_per_hour().unwrap()));
        if held.given_up {
            self.command(crashes, Command::ReleaseHold, at(now + held.passed)).await;
        } else if at(now + held.passed) >= until {
            self.on(crashes, Event::HoldEnded(HoldEnd::Expired, until)).await;
        } else {
            self.command(crashes, Command::Start, at(now + held.passed)).await;
            self.on(crashes, Event::HoldMetered).await;
            self.on(crashes, Event::HeldUnitTaken).await;
            return;
        }
        self.on(crashes, Event::HoldMetered).await;
        self.on(crashes, Event::Released).await;
    }
}

async fn live(db: &Db, starts: &[Start]) -> (Life, TenantId) {
    let instance = fixture::instance(State::Pending { reason: None, wait: false, held: None, left: None });
    let tenant = instance.tenant;
    let mut tx = db.worker().await.unwrap();
    instance::store::insert(&mut tx, &instance, &By::system()).await.unwrap();
    tx.commit().await.unwrap();
    let (evidence, history, held) = (BTreeMap::new(), Vec::new(), Vec::new());
    let mut life = Life { db: db.clone(), instance, evidence, history, held };
    let (mut cluster_clock, mut clock) = (0, 10_000_000);
    let unit = fixture::claim();
    for start in starts {
        clock += 100;
        if matches!(life.instance.state, State::Stopped { .. }) {
            life.command(start.crashes, Command::Start, at(clock)).await;
        }
        if matches!(life.instance.state, State::Pending { .. }) {
            let claim = Claim { price_per_hour: Decimal::new(start.cents, 4), ..unit.clone() };
            life.on(start.crashes, Event::Claimed(claim)).await;
        }
        for (n, ran) in start.runs.iter().enumerate() {
            // the price of a start that left no trace is not known
            let seen = if n == 0 { Seen::All } else { ran.seen };
            life.run(start.crashes, ran, seen, &mut cluster_clock).await;
        }
        match start.hold {
            Some(held) => {
                let until = at(clock + held.asked);
                life.command(start.crashes, Command::StopAndHold(until), at(clock)).await;
                life.hold(start.crashes, held, clock + 1).await;
                clock += held.passed + 1;
            }
            None => {
                life.command(start.crashes, Command::Stop, at(clock)).await;
                life.on(start.crashes, Event::Released).await;
            }
        }
    }
    if !matches!(life.instance.state, State::Stopped { .. }) {
        life.command(false, Command::Stop, at(clock)).await;
        life.on(false, Event::Released).await;
    }
    let queue = Queue::new(db, QUEUE, Settings::default(), &Metrics::default());
    let since = life.history.iter().map(|reported| reported.run.key.since).min().unwrap();
    let batch = [Evidence { unit: unit.unit_id, history: life.history.clone(), since }];
    compare_batch(db, &batch, &queue).await.unwrap();
    assert_eq!(compare_batch(db, &batch, &queue).await.unwrap(), 0, "corrected twice");
    (life, tenant)
}

/// Sums of seconds and amount, of runs and of holds.
type Sums = (i64, i64, Decimal);

async fn reported_sums(db: &Db, tenant: TenantId, windows: &[(i64, i64)], group_by: &str) -> Sums {
    let mut tx = db.tenant(tenant).await.unwrap();
    let mut sums = Sums::default();
    for &(from, to) in windows {
        let report = Report { tenant: Some(tenant), from: at(from), to: at(to), group_by };
        for group in report_store::groups(&mut tx, report, None, 1000).await.unwrap() {
            sums = (sums.0 + group.running_seconds, sums.1 + group.held_seconds, sums.2 + group.amount);
        }
    }
    sums
}

async fn check(db: &Db, starts: &[Start], cut: i64) {
    let (life, tenant) = live(db, starts).await;
    let runs = life.evidence.iter().map(|((_, since), (until, price))| (until - since, *price));
    let runs: Vec<(i64, Decimal)> = runs.collect();
    let seconds = |parts: &[(i64, Decimal)]| parts.iter().map(|(seconds, _)| seconds).sum::<i64>();
    let cost = |parts: &[(i64, Decimal)]| parts.iter().map(|(s, price)| amount(*s, *price)).sum::<Decimal>();
    let expected = (seconds(&runs), seconds(&life.held), cost(&runs) + cost(&life.held));

    let mut tx = db.tenant(tenant).await.unwrap();
    let totals = store::totals(&mut tx, tenant, life.instance.id).await.unwrap();
    let of = |kind| totals.iter().filter(|total| total.kind == kind).map(|total| total.seconds).sum::<i64>();
    let total = totals.iter().map(|total| total.amount).sum::<Decimal>();
    assert_eq!((of(UsageKind::Running), of(UsageKind::Held), total), expected, "the totals");
    drop(tx);
    // any windows sum up to the same
    let (first, last) = (-100_000, 20_000_000);
    assert_eq!(reported_sums(db, tenant, &[(first, last)], "day").await, expected, "by day");
    assert_eq!(
        reported_sums(db, tenant, &[(first, cut), (cut, last)], "kind").await,
        expected,
        "cut at {cut}"
    );
    // the records tell the same: the last version of each run, and no version is missing
    let mut tx = db.worker().await.unwrap();
    let gaps: i64 = sqlx::query_scalar(
        "select count(*) from runs r where tenant_id = $1 and (
             r.version <> (select count(*) from usage_records u where u.run_id = r.id)
             or r.version <> (select max(version) from usage_records u where u.run_id = r.id)
             or r.ended_at <> (select (payload ->> 'to')::timestamptz from usage_records u
                               where u.run_id = r.id order by version desc limit 1))",
    )
    .bind(tenant)
    .fetch_one(&mut *tx)
    .await
    .unwrap();
    assert_eq!(gaps, 0, "a record is missing or differs");
}

#[test]
fn the_meter_is_the_evidence() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let (_database, db) = runtime.block_on(async {
        let database = TestDb::new();
        let (_, db) = database.open(NAME, &MIGRATIONS).await;
        (database, db)
    });
    let config =
        ProptestConfig { cases: 40, failure_persistence: None, max_shrink_iters: 200, ..Default::default() };
    TestRunner::new(config)
        .run(&(starts(), -1000..2_000_000i64), |(starts, cut)| {
            runtime.block_on(check(&db, &starts, cut));
            Ok(())
        })
        .unwrap();
}

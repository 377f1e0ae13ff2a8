//! Budgets: what a tenant may spend in a month.

use std::{
    future::poll_fn,
    pin::pin,
    sync::atomic::{AtomicI64, Ordering},
    task::Poll,
};

use auth::Role;
use ids::{InstanceId, TenantId};
use jiff::Timestamp;
use serde_json::{Value, json};
use testkit::{Client, Response, eventually};

use crate::{
    harness::{Fixture, Replica, Setup},
    operator::{EPOCH, at},
};

/// The second of the test: the clock of the service. Each test is a process of its own.
static NOW: AtomicI64 = AtomicI64::new(100);
/// The second at which the next month begins.
const NEXT_MONTH: i64 = 1_440_000;

fn clock() -> Timestamp {
    // with more digits than the database stores
    Timestamp::new(EPOCH + NOW.load(Ordering::SeqCst), 123_456_789).unwrap()
}

fn second(time: &Value) -> i64 {
    time.as_str().unwrap_or_else(|| panic!("no time: {time}")).parse::<Timestamp>().unwrap().as_second()
        - EPOCH
}

impl Fixture {
    async fn with_budgets(units: usize, workers: bool) -> Self {
        Self::with(Setup { units, workers, clock: Some(clock) }).await
    }

    async fn replica_with_clock(&self, workers: bool) -> Replica {
        Replica::with_clock(&self.config, workers, Some(clock)).await
    }

    async fn put_budget(&self, terms: Value) -> Response {
        let path = format!("/v1/platform-budgets/{}?reason=trial", self.tenant);
        self.admin().header("if-match", "*").put(&path, terms).await.expect(200)
    }

    async fn budget(&self) -> Value {
        self.member().get("/v1/budget").await.expect(200).body
    }

    /// Waits until the budget is not being evaluated, and is not due.
    async fn settled(&self) {
        let mut admin = self.db.admin().await;
        eventually("the budget is evaluated", async || {
            let busy: i64 = sqlx::query_scalar(
                "select count(*) from gpu.budgets where lease_until is not null or wake_at is null or wake_at <= now()",
            )
            .fetch_one(&mut admin)
            .await
            .unwrap();
            (busy == 0).then_some(())
        })
        .await;
    }

    /// Advances the clock to a second of the test. What is due then is due now.
    async fn travel(&self, to: i64) {
        self.settled().await;
        let passed = to - NOW.swap(to, Ordering::SeqCst);
        let mut admin = self.db.admin().await;
        let shift = "update gpu.budgets set wake_at = wake_at - make_interval(secs => $1)";
        sqlx::query(shift).bind(passed as f64).execute(&mut admin).await.unwrap();
        sqlx::query("select pg_notify('atelier_gpu_budgets', '')").execute(&mut admin).await.unwrap();
        self.settled().await;
    }

    /// The events of the tenant's budget, oldest first: type and step, with what they say of `spent`.
    async fn budget_events(&self) -> Vec<String> {
        self.budget_events_of(self.tenant).await
    }

    async fn budget_events_of(&self, tenant: TenantId) -> Vec<String> {
        let list = self.user(tenant, Role::Member).get("/v1/events?limit=200").await.expect(200).body;
        let events = list["items"].as_array().unwrap().iter().rev();
        let budgets =
            events.filter_map(|event| Some((event, event["type"].as_str()?.strip_prefix("budget.")?)));
        let line = |(event, name): (&Value, &str)| {
            assert_eq!((&event["instance_id"], &event["actor"]["kind"]), (&Value::Null, &json!("system")));
            let data = &event["data"];
            match name {
                "reached" => format!("{} at {}", data["percent"], data["spent"].as_str().unwrap()),
                "stopping" => format!("stopping at {}", second(&data["stops_at"])),
                "resumed" => format!("resumed {}", data["cause"].as_str().unwrap()),
                other => other.to_owned(),
            }
        };
        budgets.map(line).collect()
    }

    async fn instance(&self, id: InstanceId) -> Value {
        self.member().get(&format!("/v1/instances/{id}")).await.expect(200).body
    }
}

fn terms(amount: &str, steps: &[u8]) -> Value {
    json!({ "amount": amount, "currency": "EUR", "warn_percents": steps })
}

/// The instance costs 0.0001 a second, and a quarter of it while it is stopped and keeps its unit.
#[tokio::test(flavor = "multi_thread")]
async fn a_budget_warns_and_then_stops_what_waits_runs_and_is_held() {
    let fixture = Fixture::with_budgets(2, true).await;
    let other = fixture.replica_with_clock(true).await;
    fixture.put_budget(terms("0.2", &[50, 80])).await;
    let (running, kept) = (fixture.running().await, fixture.running().await);
    let (unit, kept_unit) = (fixture.unit_of(running).await, fixture.unit_of(kept).await);
    fixture.travel(160).await;
    let _ = fixture.stop_and_hold(kept, json!({ "for_seconds": 3600 })).await.expect(202);
    fixture.emptied(&kept_unit).await;
    fixture.operator.ended(&kept_unit, 160).await;
    fixture.held(kept).await;
    let waiting = fixture.ordered(waiting_order()).await;
    eventually("one instance waits", async || (fixture.neighbours.waits() == 1).then_some(())).await;

    // 0.012 until 160, then 0.000125 a second
    fixture.settled().await;
    let budget = fixture.budget().await;
    assert_eq!((&budget["spent"], &budget["rate_per_hour"]), (&json!("0.012"), &json!("0.45")), "{budget}");
    assert_eq!(second(&budget["runs_out_at"]), 1664);
    assert_eq!(second(&budget["renews_at"]), NEXT_MONTH);
    assert_eq!(
        (&budget["steps"][0]["amount"], &budget["steps"][0]["reached_at"]),
        (&json!("0.1"), &Value::Null)
    );
    assert_eq!(second(&budget["steps"][0]["expected_at"]), 864);
    assert_eq!(budget["worst_overspend"], "0.015875", "for 127 seconds");
    for (time, expected) in [
        (863, &[][..]),
        (864, &["50 at 0.1"]),
        (1343, &["50 at 0.1"]),
        (1344, &["50 at 0.1", "80 at 0.16"]),
        (1363, &["50 at 0.1", "80 at 0.16"]),
        (1364, &["50 at 0.1", "80 at 0.16", "stopping at 1664"]),
        (1663, &["50 at 0.1", "80 at 0.16", "stopping at 1664"]),
    ] {
        fixture.travel(time).await;
        assert_eq!(fixture.budget_events().await, expected, "at {time}");
    }
    assert_eq!(fixture.instance(running).await["state"], "running");

    fixture.travel(1664).await;
    assert_eq!(fixture.budget_events().await[3..], ["100 at 0.2", "stopped"]);
    let left = fixture.in_state(waiting, "stopped").await.body;
    assert_eq!((&left["reason"], fixture.neighbours.waits()), (&json!("budget_exhausted"), 0));
    fixture.emptied(&unit).await;
    // the unit is kept while the other instance terminates
    fixture.settled().await;
    let stopping = fixture.instance(running).await;
    assert_eq!((&stopping["state"], &stopping["reason"]), (&json!("stopping"), &json!("budget_exhausted")));
    assert!(!fixture.instance(kept).await["hold"].is_null());
    NOW.store(1670, Ordering::SeqCst);
    fixture.operator.ended(&unit, 1670).await;
    eventually("both units are released", async || (fixture.neighbours.claims() == 0).then_some(())).await;
    let stopped = fixture.in_state(running, "stopped").await.body;
    assert_eq!(stopped["reason"], "budget_exhausted");
    let ended = fixture.member().get(&format!("/v1/instances/{kept}/events?type=instance.hold_ended")).await;
    let ended = ended.expect(200).body["items"][0]["data"].clone();
    assert_eq!((&ended["cause"], second(&ended["ended_at"])), (&json!("budget_exhausted"), 1670));
    let history = fixture.history(running).await;
    assert_eq!(
        history[3..],
        ["stop_requested system budget_exhausted", "run_ended system", "stopped system budget_exhausted"]
    );

    let budget = fixture.budget().await;
    assert_eq!((&budget["spent"], &budget["spent_held"]), (&json!("0.20075"), &json!("0.03775")), "{budget}");
    assert_eq!((&budget["starts_refused"], second(&budget["refused_until"])), (&json!(true), NEXT_MONTH));
    assert_eq!(second(&budget["steps"][2]["reached_at"]), 1664);
    // evaluated again, nothing changes
    let version = "select version from gpu.allowances";
    let before = fixture.count(version).await;
    fixture.execute("update gpu.budgets set wake_at = now() - interval '1 second'").await;
    fixture.settled().await;
    assert_eq!((fixture.count(version).await, fixture.budget_events().await.len()), (before, 5));
    let start = format!("/v1/instances/{running}/start");
    for refused in [
        fixture.member().post(&start, Value::Null).await,
        fixture.member().post("/v1/instances", Fixture::order()).await,
        fixture.member().post("/v1/instances", waiting_order()).await,
    ] {
        let refused = refused.expect_problem(409, "budget-exhausted");
        assert_eq!(second(&refused.body["renews_at"]), NEXT_MONTH);
    }
    let quote = fixture.member().post("/v1/instances/quote", Fixture::order()).await.expect(200).body;
    assert_eq!((&quote["starts_now"], &quote["reason"]), (&json!(false), &json!("budget_exhausted")));

    // a larger budget counts at once
    let budgets = format!("/v1/platform-budgets/{}?reason=more", fixture.tenant);
    let etag = fixture.admin().get(&budgets).await.expect(200).header("etag").unwrap().to_owned();
    let admin = fixture.admin();
    let _ = admin.header("if-match", &etag).put(&budgets, terms("10", &[50, 80])).await.expect(200);
    let late = admin.header("if-match", &etag).put(&budgets, terms("1", &[])).await;
    late.expect_problem(412, "changed-meanwhile");
    let _ = fixture.member().post(&start, Value::Null).await.expect(202);
    assert_eq!(fixture.budget_events().await[5..], ["resumed budget_changed"]);
    assert_eq!(fixture.execute("delete from gpu.admin_actions where action = 'put_budget'").await, 2);
    other.process.shutdown.begin();
}

fn waiting_order() -> Value {
    let mut order = Fixture::order();
    order["wait"] = json!(true);
    order
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_month_lets_instances_start_again() {
    let fixture = Fixture::with_budgets(1, true).await;
    fixture.put_budget(terms("1", &[50])).await;
    let id = fixture.running().await;
    let unit = fixture.unit_of(id).await;
    fixture.travel(10_100).await;
    fixture.emptied(&unit).await;
    fixture.operator.ended(&unit, 10_200).await;
    let _ = fixture.in_state(id, "stopped").await;
    assert_eq!(fixture.budget_events().await, ["50 at 1", "100 at 1", "stopped"]);
    let start = format!("/v1/instances/{id}/start");
    fixture.travel(NEXT_MONTH - 1).await;
    fixture.member().post(&start, Value::Null).await.expect_problem(409, "budget-exhausted");
    fixture.travel(NEXT_MONTH).await;
    let _ = fixture.member().post(&start, Value::Null).await.expect(202);
    assert_eq!(fixture.budget_events().await[3..], ["resumed new_month"]);
    // a run that began in the month before counts from the first second of this one
    fixture.unit_of(id).await;
    fixture.operator.ready_since(&unit, NEXT_MONTH - 1000).await;
    let _ = fixture.in_state(id, "running").await;
    fixture.travel(NEXT_MONTH + 500).await;
    assert_eq!(fixture.budget().await["spent"], "0.05");
    fixture.travel(NEXT_MONTH + 4_999).await;
    assert_eq!(fixture.budget_events().await.len(), 4);
    fixture.travel(NEXT_MONTH + 5_000).await;
    assert_eq!(fixture.budget_events().await[4..], ["50 at 0.5"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_is_reached_once_whatever_is_corrected() {
    let fixture = Fixture::with_budgets(1, true).await;
    fixture.put_budget(terms("1", &[50, 80])).await;
    let id = fixture.running().await;
    let unit = fixture.unit_of(id).await;
    fixture.travel(5_100).await;
    let _ = fixture.act(id, "stop").await;
    fixture.emptied(&unit).await;
    fixture.operator.ended(&unit, 6_100).await;
    let _ = fixture.in_state(id, "stopped").await;
    fixture.settled().await;
    assert_eq!(fixture.budget().await["spent"], "0.6");
    assert_eq!(fixture.budget_events().await, ["50 at 0.5"]);
    let correct = "update gpu.runs set ended_at = ended_at - interval '2000 seconds'";
    assert_eq!(fixture.execute(correct).await, 1);
    fixture.settled().await;
    assert_eq!(fixture.budget().await["spent"], "0.4");
    fixture.execute("update gpu.runs set ended_at = ended_at + interval '3900 seconds'").await;
    fixture.settled().await;
    assert_eq!(fixture.budget().await["spent"], "0.79");
    assert_eq!(fixture.budget_events().await.len(), 1);
    fixture.execute("update gpu.runs set ended_at = ended_at + interval '100 seconds'").await;
    fixture.settled().await;
    assert_eq!(fixture.budget_events().await, ["50 at 0.5", "80 at 0.8"]);
    // all is spent, and then less
    fixture.execute("update gpu.runs set ended_at = ended_at + interval '2000 seconds'").await;
    fixture.settled().await;
    fixture.execute("update gpu.runs set ended_at = ended_at - interval '1000 seconds'").await;
    fixture.settled().await;
    assert_eq!(fixture.budget_events().await[2..], ["100 at 1", "stopped", "resumed correction"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_replicas_do_not_pass_the_rate_that_is_left_together() {
    let fixture = Fixture::with_budgets(0, false).await;
    let other = fixture.replica_with_clock(false).await;
    // for a minute, as it is configured here: 1.08 an hour
    fixture.put_budget(terms("0.018", &[])).await;
    let member = fixture.issuer.user(fixture.tenant, Role::Member);
    let clients = [fixture.member(), Client::new(&other.base).token(&member)];
    let orders = (0..16).map(|n| clients[n % 2].post("/v1/instances", Fixture::order()));
    let answers = futures::future::join_all(orders).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 202).count(), 3);
    let refused = answers.into_iter().filter(|answer| answer.status != 202);
    let refused = refused.map(|answer| answer.expect_problem(409, "budget-exhausted")).last().unwrap();
    let expected = [json!("1.08"), json!("1.08"), json!("0.36"), json!("EUR")];
    assert_eq!(["limit", "used", "requested", "currency"].map(|name| refused.body[name].clone()), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_concerns_one_tenant_and_is_set_by_administrators() {
    let fixture = Fixture::with_budgets(1, true).await;
    let path = format!("/v1/platform-budgets/{}", fixture.tenant);
    let reasoned = format!("{path}?reason=trial");
    let admin = fixture.admin().header("if-match", "*");
    assert_eq!(fixture.member().get("/v1/budget").await.expect(204).text, "");
    assert_eq!(admin.get(&path).await.expect(204).text, "");
    admin.put(&path, terms("1", &[])).await.expect_problem(422, "invalid-field");
    for (pointer, terms) in [
        ("/amount", terms("-1", &[])),
        ("/amount", terms("0.1234567", &[])),
        ("/currency", json!({ "amount": "1", "currency": "euro" })),
        ("/warn_percents", terms("1", &[0])),
        ("/warn_percents", terms("1", &[100])),
        ("/warn_percents", terms("1", &[80, 50])),
        ("/surprise", json!({ "amount": "1", "currency": "EUR", "surprise": 1 })),
    ] {
        let refused = admin.put(&reasoned, terms).await.expect_problem(422, "invalid-field");
        assert_eq!(refused.body["errors"][0]["pointer"], pointer, "{}", refused.text);
    }
    let set = fixture.put_budget(json!({ "amount": "0", "currency": "EUR" })).await;
    assert_eq!(
        (&set.body["terms"]["warn_percents"], &set.body["terms"]["at_limit"]),
        (&json!([50, 80, 95]), &json!("stop"))
    );
    fixture.member().post("/v1/instances", Fixture::order()).await.expect_problem(409, "budget-exhausted");

    let stranger = TenantId::new();
    let other = fixture.user(stranger, Role::Owner);
    assert_eq!(other.get("/v1/budget").await.expect(204).text, "");
    let _ = other.post("/v1/instances", Fixture::order()).await.expect(202);
    assert_eq!(fixture.budget_events_of(stranger).await, [""; 0]);
    let owner = fixture.user(fixture.tenant, Role::Owner);
    owner.get("/v1/platform-budgets").await.expect_problem(403, "forbidden");
    let own = owner.header("if-match", "*").put(&reasoned, terms("9", &[])).await;
    own.expect_problem(403, "forbidden");

    let list = admin.get("/v1/platform-budgets").await.expect(200).body;
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&list["items"][0]["tenant_id"], &list["items"][0]["terms"]["amount"]),
        (&json!(fixture.tenant), &json!("0"))
    );
    // without a stop there are events only
    fixture.put_budget(json!({ "amount": "0", "currency": "EUR", "at_limit": "notify" })).await;
    let id = fixture.ordered(Fixture::order()).await;
    let _ = fixture.member().delete(&format!("/v1/instances/{id}")).await.expect(202);
    fixture.put_budget(json!({ "amount": "0", "currency": "EUR" })).await;
    let _ = admin.delete(&reasoned).await.expect(204);
    admin.delete(&reasoned).await.expect_problem(404, "not-found");
    let _ = fixture.member().post("/v1/instances", Fixture::order()).await.expect(202);
    let steps = ["50 at 0", "80 at 0", "95 at 0", "100 at 0"];
    let turns = ["stopped", "resumed budget_changed", "stopped", "resumed budget_changed"];
    assert_eq!(fixture.budget_events().await, [&steps[..], &turns].concat());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_is_refused_when_all_is_spent() {
    let fixture = Fixture::with_budgets(1, false).await;
    fixture.put_budget(terms("1", &[])).await;
    let id = fixture.ordered(Fixture::order()).await;
    fixture.reconciled_to(id, "starting").await;
    fixture.put_budget(terms("0", &[])).await;
    let hold = fixture.stop_and_hold(id, json!({ "for_seconds": 60 })).await;
    hold.expect_problem(409, "budget-exhausted");
    let _ = fixture.member().post(&format!("/v1/instances/{id}/stop"), Value::Null).await.expect(202);
}

/// What is left does not pay for the instance any more when it gets its unit.
#[tokio::test(flavor = "multi_thread")]
async fn a_claim_is_checked_in_the_transaction_that_stores_it() {
    let fixture = Fixture::with_budgets(1, false).await;
    fixture.put_budget(terms("0.005", &[])).await;
    fixture.member().post("/v1/instances", Fixture::order()).await.expect_problem(409, "budget-exhausted");
    fixture.put_budget(terms("1", &[])).await;
    let id = fixture.ordered(Fixture::order()).await;
    fixture.put_budget(terms("0.005", &[])).await;
    fixture.reconciled_to(id, "stopped").await;
    assert_eq!(fixture.instance(id).await["reason"], "budget_exhausted");
    assert_eq!(fixture.neighbours.claims(), 0, "the unit is released");
}

/// Evaluates the budget, and drops that after it has been polled `times` times. Returns whether it ended before.
async fn cut_off(fixture: &Fixture, times: usize) -> bool {
    let mut work = pin!(fixture.app.reconcile_budget(fixture.tenant));
    let mut polls = 0;
    poll_fn(|context| {
        if polls == times {
            return Poll::Ready(false);
        }
        polls += 1;
        work.as_mut().poll(context).map(|done| done.unwrap())
    })
    .await
}

/// As [`cut_off`]; then the lease expires.
async fn crash(fixture: &Fixture, times: usize) -> bool {
    let ended = cut_off(fixture, times).await;
    if !ended {
        fixture.execute("update gpu.budgets set lease_until = now() where lease_until is not null").await;
    }
    ended
}

/// Cut off anywhere, each event is written once, and everything stops.
#[tokio::test(flavor = "multi_thread")]
async fn an_evaluation_that_is_cut_off_anywhere_is_continued() {
    let fixture = Fixture::with_budgets(2, false).await;
    let ids = [fixture.ordered(Fixture::order()).await, fixture.ordered(Fixture::order()).await];
    for id in ids {
        fixture.reconciled_to(id, "starting").await;
    }
    let requests = "select count(*) from gpu.events where type = 'instance.stop_requested'";
    let mut times = 1;
    loop {
        // as before the evaluation
        let reset = "update gpu.instances set phase = jsonb_build_object('state', 'starting', 'claim',
            (case when phase ->> 'state' = 'stopping' then (phase -> 'claim') - 'status' else phase -> 'claim' end),
            'reason', null), generation = generation + 1";
        assert_eq!(fixture.execute(reset).await, 2);
        fixture.execute("delete from gpu.budgets").await;
        fixture.execute("delete from gpu.allowances").await;
        fixture.execute("delete from gpu.events where type like 'budget.%'").await;
        let before = fixture.count(requests).await;
        let progress = json!({ "month": "2027-01-01", "amount": "0", "currency": "EUR", "reached": {},
            "stopping_at": null, "stopped_at": null });
        let due = "insert into gpu.budgets (id, amount, currency, warn_percents, at_limit, progress, wake_at)
            values ($1, 0, 'EUR', '{50}', 'stop', $2, now())";
        let due = sqlx::query(due).bind(fixture.tenant.uuid()).bind(progress);
        due.execute(&mut fixture.db.admin().await).await.unwrap();

        let is_whole = crash(&fixture, times).await;
        while !crash(&fixture, usize::MAX).await {}
        let events = fixture.count("select count(*) from gpu.events where type like 'budget.%'").await;
        assert_eq!(events, 3, "two steps and the stop, after {times}");
        assert_eq!(fixture.count(requests).await - before, 2, "after {times}");
        for id in ids {
            assert_eq!(fixture.instance(id).await["state"], "stopping");
        }
        if is_whole {
            break;
        }
        times += 1;
        assert!(times < 500, "an evaluation never ends");
    }
    assert!(times > 4, "hardly any evaluation was cut off: {times}");
}

impl Fixture {
    async fn count(&self, query: &'static str) -> i64 {
        sqlx::query_scalar(query).fetch_one(&mut self.db.admin().await).await.unwrap()
    }

    async fn reconciled_to(&self, id: InstanceId, state: &str) {
        eventually(&format!("the instance is {state}"), async || {
            self.reconcile(id).await;
            (self.instance(id).await["state"] == state).then_some(())
        })
        .await;
    }
}

/// After any correction, the sums of days are those of the runs.
#[tokio::test(flavor = "multi_thread")]
async fn days_sum_up_to_the_runs() {
    let fixture = Fixture::with_budgets(1, true).await;
    let id = fixture.running().await;
    let unit = fixture.unit_of(id).await;
    let _ = fixture.act(id, "stop").await;
    fixture.emptied(&unit).await;
    fixture.operator.ended(&unit, 300_000).await;
    let _ = fixture.in_state(id, "stopped").await;
    let days = "select to_char(day, 'YYYY-MM-DD') as day, seconds, trim_scale(amount)::text as amount
        from gpu.usage_days where seconds <> 0 order by day";
    for change in [
        "select 1",
        "update gpu.runs set ended_at = ended_at - interval '100001 seconds'",
        "update gpu.runs set started_at = started_at + interval '100000 seconds', ended_at = ended_at + interval '7 days'",
        "update gpu.runs set price_per_hour = 0.777777, started_at = started_at + interval '1 second'",
        "update gpu.runs set ended_at = started_at",
    ] {
        fixture.execute(change).await;
        let sums: Vec<(String, i64, String)> =
            sqlx::query_as(days).fetch_all(&mut fixture.db.admin().await).await.unwrap();
        let path = format!("/v1/usage?from={}&to={}&group_by=day&limit=200", at(-100_000), at(2_000_000));
        let report = fixture.member().get(&path).await.expect(200).body;
        let groups = report["items"].as_array().unwrap().iter().map(|group| {
            let text = |name: &str| group[name].as_str().unwrap().to_owned();
            (text("group"), group["running_seconds"].as_i64().unwrap(), text("amount"))
        });
        assert_eq!(sums, groups.collect::<Vec<_>>(), "after {change}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_service_issues_an_allowance() {
    let fixture = Fixture::with_budgets(1, false).await;
    let path = format!("/internal/v1/allowances/{}", fixture.tenant);
    let (issuer, member) = (fixture.gateway(), fixture.member());
    let order = |version: i64, rate: &str, valid_until: i64, runs_out_at: Value| {
        json!({ "version": version, "currency": "EUR", "max_rate_per_hour": rate, "valid_until": at(valid_until),
            "runs_out_at": runs_out_at })
    };
    let start = async || member.post("/v1/instances", Fixture::order()).await;
    // what other services ask before they start something
    let spent = async || {
        let all = issuer.get("/internal/v1/allowances").await.expect(200).body;
        let one = issuer
            .get(&format!("/internal/v1/allowances?tenant_id={}", fixture.tenant))
            .await
            .expect(200)
            .body;
        assert_eq!(all, one);
        let other = format!("/internal/v1/allowances?tenant_id={}", TenantId::new());
        assert_eq!(issuer.get(&other).await.expect(200).body, json!({ "items": [] }));
        let reason = |item: &Value| item["reason"].as_str().unwrap().to_owned();
        all["items"].as_array().unwrap().iter().map(reason).collect::<Vec<_>>()
    };
    let own = member.put(&path, order(1, "9", 200, Value::Null)).await;
    own.expect_problem(401, "unauthenticated");
    issuer.put(&path, json!({ "version": 1, "currency": "euro" })).await.expect_problem(422, "invalid-field");

    let issued = issuer.put(&path, order(2, "0.5", 200, Value::Null)).await.expect(200).body;
    assert_eq!((&issued["version"], &issued["max_rate_per_hour"]), (&json!(2), &json!("0.5")));
    let late = issuer.put(&path, order(1, "9", 200, Value::Null)).await.expect(200).body;
    assert_eq!(late, issued, "an older one is ignored");
    let id: InstanceId = start().await.expect(202).str("id").parse().unwrap();
    start().await.expect_problem(409, "budget-exhausted");
    // a budget of its own does not make more of it
    fixture.put_budget(terms("1000", &[])).await;
    start().await.expect_problem(409, "budget-exhausted");
    let _ = issuer.put(&path, order(3, "9", 200, json!(at(150)))).await.expect(200);
    let _ = start().await.expect(202);
    NOW.store(150, Ordering::SeqCst);
    start().await.expect_problem(409, "budget-exhausted");
    assert_eq!(spent().await, ["budget_exhausted"]);
    // not renewed: it counts for an hour
    let _ = issuer.put(&path, order(4, "9", 200, Value::Null)).await.expect(200);
    NOW.store(3_799, Ordering::SeqCst);
    let _ = start().await.expect(202);
    assert_eq!(spent().await, [""; 0]);
    NOW.store(3_800, Ordering::SeqCst);
    let expired = start().await.expect_problem(503, "allowance-expired");
    assert_eq!(second(&expired.body["expired_at"]), 200);
    assert_eq!(spent().await, ["allowance_expired"]);
    fixture.reconciled_to(id, "stopped").await;
    assert_eq!(fixture.instance(id).await["reason"], "allowance_expired");
    // the others are not concerned
    let other = fixture.user(TenantId::new(), Role::Member);
    let _ = other.post("/v1/instances", Fixture::order()).await.expect(202);
}

/// The jobs service asks every two seconds.
#[tokio::test(flavor = "multi_thread")]
async fn tenants_that_may_start_nothing_are_found_without_reading_the_others() {
    let fixture = Fixture::with_budgets(0, false).await;
    let mut admin = fixture.db.admin().await;
    let many = "insert into gpu.allowances (tenant_id, issuer, version, currency, valid_until)
                select gen_random_uuid(), 'accounts', 1, 'EUR', '2100-01-01' from generate_series(1, 20000)";
    sqlx::query(many).execute(&mut admin).await.unwrap();
    let spent = TenantId::new();
    let one = "insert into gpu.allowances (tenant_id, issuer, version, currency, runs_out_at)
               values ($1, 'accounts', 1, 'EUR', '2000-01-01')";
    sqlx::query(one).bind(spent.uuid()).execute(&mut admin).await.unwrap();
    sqlx::query("analyze gpu.allowances").execute(&mut admin).await.unwrap();
    let jobs = Client::new(&fixture.base).service("jobs");
    let uses = "select idx_scan from pg_stat_user_indexes where indexrelname = 'allowances_end'";
    eventually("the index is used", async || {
        let all = jobs.get("/internal/v1/allowances").await.expect(200).body;
        assert_eq!(all["items"].as_array().unwrap().len(), 1);
        assert_eq!(all["items"][0]["tenant_id"], json!(spent));
        let uses: i64 = sqlx::query_scalar(uses).fetch_one(&mut admin).await.unwrap();
        (uses > 0).then_some(())
    })
    .await;
}

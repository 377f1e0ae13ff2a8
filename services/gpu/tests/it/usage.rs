//! Usage: reports, the feed for other services, and the comparison with the cluster's history.

use std::collections::BTreeMap;

use auth::Role;
use ids::{InstanceId, TenantId};
use jiff::{SignedDuration, Timestamp};
use rust_decimal::Decimal;
use serde_json::{Value, json};
use testkit::eventually;

use crate::{harness::Fixture, neighbours::SPEC, operator::at};

impl Fixture {
    /// An instance that ran from the test's second 100 until `until`. Returns its unit too.
    async fn ran(&self, until: i64) -> (InstanceId, String) {
        let id = self.running().await;
        let unit = self.unit_of(id).await;
        let _ = self.act(id, "stop").await;
        self.emptied(&unit).await;
        self.operator.ended(&unit, until).await;
        let _ = self.in_state(id, "stopped").await;
        (id, unit)
    }

    /// A page of the report about a window of the test's seconds.
    async fn report(&self, from: i64, to: i64, rest: &str) -> Value {
        let path = format!("/v1/usage?from={}&to={}&{rest}", at(from), at(to));
        self.member().get(&path).await.expect(200).body
    }

    async fn feed(&self, after: &str) -> Value {
        let path = format!("/internal/v1/usage?after={}", after.replace(':', "%3A"));
        self.gateway().get(&path).await.expect(200).body
    }
}

fn amount(group: &Value) -> Decimal {
    group["amount"].as_str().unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_is_summed_up_by_group_in_any_window() {
    let fixture = Fixture::start().await;
    let (first, _) = fixture.ran(3_700).await;
    let (second, _) = fixture.ran(100_100).await;

    let all = fixture.report(0, 200_000, "group_by=instance").await;
    let mut groups: Vec<&Value> = all["items"].as_array().unwrap().iter().collect();
    groups.sort_by_key(|group| group["running_seconds"].as_i64());
    assert_eq!(
        groups,
        [
            &json!({ "group": first, "running_seconds": 3600, "held_seconds": 0, "amount": "0.36", "currency": "EUR",
                "open_runs": 0 }),
            &json!({ "group": second, "running_seconds": 100_000, "held_seconds": 0, "amount": "10", "currency": "EUR",
                "open_runs": 0 }),
        ]
    );
    // windows that follow each other sum up to the runs
    let cuts = [0, 101, 1234, 3_700, 77_777, 200_000];
    let (mut seconds, mut sum) = (0, Decimal::ZERO);
    for window in cuts.windows(2) {
        let page = fixture.report(window[0], window[1], "group_by=kind").await;
        for group in page["items"].as_array().unwrap() {
            assert_eq!(group["group"], "running");
            seconds += group["running_seconds"].as_i64().unwrap();
            sum += amount(group);
        }
    }
    assert_eq!((seconds, sum), (103_600, "10.36".parse().unwrap()));
    assert_eq!(fixture.report(0, 200_000, "group_by=spec").await["items"][0]["group"], SPEC);

    // by day, page by page
    let (mut days, mut cursor, mut sum) = (Vec::new(), String::new(), Decimal::ZERO);
    loop {
        let page = fixture.report(0, 200_000, &format!("group_by=day&limit=1{cursor}")).await;
        days.push(page["items"][0]["group"].as_str().unwrap().to_owned());
        sum += amount(&page["items"][0]);
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(days, ["2027-01-15", "2027-01-16"]);
    assert_eq!(sum, "10.36".parse().unwrap());

    // other tenants see nothing of it, administrators all
    let path = format!("/v1/usage?from={}&to={}", at(0), at(200_000));
    let other = fixture.user(TenantId::new(), Role::Owner);
    assert_eq!(other.get(&path).await.expect(200).body["items"], json!([]));
    let platform = path.replace("/v1/usage", "/v1/platform-usage");
    fixture.member().get(&platform).await.expect_problem(403, "forbidden");
    let tenants = fixture.admin().get(&platform).await.expect(200).body;
    assert_eq!(
        (&tenants["items"][0]["group"], &tenants["items"][0]["amount"]),
        (&json!(fixture.tenant), &json!("10.36"))
    );
    let none = fixture.admin().get(&format!("{platform}&tenant_id={}", TenantId::new())).await.expect(200);
    assert_eq!(none.body["items"], json!([]));
    for wrong in [
        format!("from={}&to={}", at(1), at(1)),
        format!("from={}&to={}", at(0), at(367 * 86_400)),
        "group_by=colour".to_owned(),
        "from=1500-01-01T00:00:00Z&to=1500-01-02T00:00:00Z".to_owned(),
        "cursor=x".to_owned(),
        "tenant_id=ten_01939f0a7c3d7e6b8a1f4f0d5c2b1a00".to_owned(),
    ] {
        fixture.member().get(&format!("/v1/usage?{wrong}")).await.expect_problem(422, "invalid-field");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_meter_is_corrected_by_the_clusters_history_and_says_why() {
    let fixture = Fixture::start().await;
    let (id, unit) = fixture.ran(160).await;
    let begun = fixture.feed("").await;
    let states: Vec<_> =
        begun["items"].as_array().unwrap().iter().map(|r| (&r["version"], &r["to"])).collect();
    assert_eq!(states, [(&json!(1), &Value::Null), (&json!(2), &json!(at(160)))]);
    assert_eq!(fixture.app.compare_usage().await.unwrap(), 0);

    // the history has another end, and a run that was missed
    let run = |since: i64, until: i64| {
        json!({ "instanceId": id.k8s_name(), "attempt": 1, "runningSince": at(since), "endedAt": at(until),
            "reason": "ContainerExited" })
    };
    fixture
        .operator
        .status(&unit, json!({ "recentRuns": [run(200, 230), run(100, 150)], "lastRun": run(200, 230) }))
        .await;
    eventually("the meter is corrected", async || {
        fixture.app.compare_usage().await.unwrap();
        (fixture.usage(id).await["total_seconds"] == 80).then_some(())
    })
    .await;
    assert_eq!(fixture.app.compare_usage().await.unwrap(), 0, "once is enough");
    let usage = fixture.usage(id).await;
    let runs: Vec<_> =
        usage["items"].as_array().unwrap().iter().map(|r| (&r["seconds"], &r["correction"])).collect();
    assert_eq!(runs, [(&json!(30), &json!("missed_run")), (&json!(50), &json!("cluster_history"))]);
    assert_eq!(usage["totals"][0]["amount"], "0.008");

    // what was recorded before is still there; the corrections follow
    let cursor = begun["next_cursor"].as_str().unwrap();
    let corrections = fixture.feed(cursor).await;
    let mut records: Vec<_> = corrections["items"].as_array().unwrap().iter().collect();
    records.sort_by_key(|record| record["version"].as_i64());
    assert_eq!(records.len(), 2);
    assert_eq!((&records[0]["version"], &records[0]["correction"]), (&json!(1), &json!("missed_run")));
    assert_eq!((&records[1]["version"], &records[1]["to"]), (&json!(3), &json!(at(150))));
    assert_eq!(records[1]["run_id"], begun["items"][0]["run_id"]);
    assert!(corrections["watermarks"].is_array());
    let again = fixture.feed("").await;
    assert_eq!(again["items"].as_array().unwrap()[..2], begun["items"].as_array().unwrap()[..]);
    fixture.member().get("/internal/v1/usage").await.expect_problem(401, "unauthenticated");
    for statement in ["update gpu.usage_records set version = 9", "delete from gpu.usage_records"] {
        let mut tx = fixture.service_db.worker().await.unwrap();
        assert!(sqlx::query(statement).execute(&mut *tx).await.is_err(), "{statement}");
    }
}

/// Rows that no replica has written count too: the triggers see them.
#[tokio::test(flavor = "multi_thread")]
async fn the_cost_of_totals_does_not_grow_with_the_runs() {
    let fixture = Fixture::start().await;
    let (id, _) = fixture.ran(160).await;
    let many = "insert into gpu.runs (cluster, datacenter, id, tenant_id, instance_id, attempt, unit_id, price_per_hour, currency, started_at,
            confirmed_at, ended_at, end_reason)
        select cluster, datacenter, gen_random_uuid(), tenant_id, instance_id, 1000 + n, unit_id, price_per_hour, currency,
            started_at + make_interval(secs => n * 10), confirmed_at, started_at + make_interval(secs => n * 10 + 5),
            'stopped'
        from gpu.runs, generate_series(1, 2000) as n";
    assert_eq!(fixture.execute(many).await, 2000);
    assert_eq!(fixture.usage(id).await["total_seconds"], 60 + 2000 * 5);
    let mut admin = fixture.db.admin().await;
    let rows: i64 =
        sqlx::query_scalar("select count(*) from gpu.usage_totals").fetch_one(&mut admin).await.unwrap();
    assert_eq!(rows, 1);
}

/// A run as the database has it: kind, beginning, end, and price per hour.
type RecordedRun = (String, jiff_sqlx::Timestamp, jiff_sqlx::Timestamp, Decimal);
/// The group of a kind and a time.
type Key = fn(&str, i64) -> String;

/// What a report by `key` has to say about the window, run by run and day by day.
fn summed(runs: &[RecordedRun], from: i64, to: i64, key: Key) -> BTreeMap<String, (i64, Decimal)> {
    const DAY: i64 = 86_400;
    let mut groups = BTreeMap::new();
    for (kind, begun, ended, price) in runs {
        let (begun, ended) = (begun.to_jiff().as_second(), ended.to_jiff().as_second());
        let (mut at, end) = (begun.max(from), ended.min(to));
        while at < end {
            let cut = end.min((at.div_euclid(DAY) + 1) * DAY);
            let group: &mut (i64, Decimal) = groups.entry(key(kind, at)).or_default();
            group.0 += cut - at;
            group.1 +=
                gpu_core::meter::amount(cut - begun, *price) - gpu_core::meter::amount(at - begun, *price);
            at = cut;
        }
    }
    groups
}

fn reported(page: &Value) -> BTreeMap<String, (i64, Decimal)> {
    assert_eq!(page["next_cursor"], Value::Null);
    let items = page["items"].as_array().unwrap();
    let group = |item: &Value| {
        let seconds = item["running_seconds"].as_i64().unwrap() + item["held_seconds"].as_i64().unwrap();
        (item["group"].as_str().unwrap().to_owned(), (seconds, amount(item)))
    };
    items.iter().map(group).collect()
}

/// Days that lie in the window as a whole are read from their sums: the report must not differ from one of the runs themselves.
#[tokio::test(flavor = "multi_thread")]
async fn a_report_is_the_sum_of_the_runs_in_its_window() {
    let fixture = Fixture::start().await;
    let _ = fixture.ran(160).await;
    // most for minutes, some for days, of all prices and both kinds, over two weeks
    let many = "insert into gpu.runs (cluster, datacenter, id, tenant_id, instance_id, attempt, unit_id, price_per_hour, currency, started_at,
            confirmed_at, ended_at, end_reason, kind)
        select cluster, datacenter, gen_random_uuid(), tenant_id, instance_id, 1000 + n, unit_id, 0.0001 * (1 + n % 9000), currency, begun,
            begun, begun + make_interval(secs => case when n % 10 = 0 then n * 997 % 400000 else n * 37 % 5000 end),
            case when n % 3 > 0 then 'stopped' end, case when n % 3 > 0 then 'running' else 'held' end
        from gpu.runs, generate_series(1, 500) as n,
            lateral (select started_at + make_interval(secs => n * 7919 % 1209600) as begun) as at";
    assert_eq!(fixture.execute(many).await, 500);
    for change in [
        "",
        // shorter, longer, and nothing at all
        "update gpu.runs set ended_at = started_at + make_interval(secs => attempt * 31 % 200000) where attempt % 5 = 0",
        "update gpu.runs set ended_at = started_at where attempt % 7 = 0",
    ] {
        if !change.is_empty() {
            fixture.execute(change).await;
        }
        let mut admin = fixture.db.admin().await;
        let runs: Vec<RecordedRun> =
            sqlx::query_as("select kind, started_at, ended_at, price_per_hour from gpu.runs")
                .fetch_all(&mut admin)
                .await
                .unwrap();
        let midnight = at(0).parse::<Timestamp>().unwrap().as_second().div_euclid(86_400) * 86_400;
        for (from, to) in [
            (0, 86_400),
            (0, 20 * 86_400),
            (43_200, 50_000),
            (43_200, 86_400),
            (86_399, 86_401),
            (43_200, 100_000),
            (100_000, 9 * 86_400 + 1),
            (3 * 86_400, 3 * 86_400 + 1),
            (86_400, 700_001),
            (-40 * 86_400, 40 * 86_400),
        ] {
            let (from, to) = (midnight + from, midnight + to);
            let time = |second| Timestamp::from_second(second).unwrap();
            let keys: [(&str, Key); 2] = [
                ("kind", |kind, _| kind.to_owned()),
                ("day", |_, at| Timestamp::from_second(at).unwrap().strftime("%F").to_string()),
            ];
            for (group_by, key) in keys {
                let path =
                    format!("/v1/usage?from={}&to={}&group_by={group_by}&limit=200", time(from), time(to));
                let page = fixture.member().get(&path).await.expect(200).body;
                assert_eq!(reported(&page), summed(&runs, from, to, key), "{path} after {change:?}");
                let platform = path.replace("/v1/usage", "/v1/platform-usage");
                assert_eq!(fixture.admin().get(&platform).await.expect(200).body, page, "{platform}");
            }
        }
    }

    // an open run counts until now
    let open = "insert into gpu.runs (cluster, datacenter, id, tenant_id, instance_id, attempt, unit_id, price_per_hour, currency, started_at, confirmed_at)
        select cluster, datacenter, gen_random_uuid(), tenant_id, instance_id, 1, unit_id, 0.36, currency, now() - interval '10 days', now()
        from gpu.runs limit 1";
    assert_eq!(fixture.execute(open).await, 1);
    let now: jiff_sqlx::Timestamp =
        sqlx::query_scalar("select now()").fetch_one(&mut fixture.db.admin().await).await.unwrap();
    let hours_ago = |hours: i64| now.to_jiff() - SignedDuration::from_hours(hours);
    let page = fixture
        .member()
        .get(&format!("/v1/usage?from={}&to={}", hours_ago(60), hours_ago(12)))
        .await
        .expect(200);
    let group = &page.body["items"][0];
    assert_eq!((&group["running_seconds"], &group["open_runs"]), (&json!(48 * 3600), &json!(1)));
    assert_eq!(amount(group), "17.28".parse().unwrap());
}

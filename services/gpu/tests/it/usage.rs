//! Usage: reports, the feed for other services, and the comparison with the cluster's history.

use auth::Role;
use ids::{InstanceId, TenantId};
use rust_decimal::Decimal;
use serde_json::{Value, json};
use testkit::eventually;

use crate::{harness::World, neighbours::SPEC, operator::at};

impl World {
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
    let world = World::start().await;
    let (first, _) = world.ran(3_700).await;
    let (second, _) = world.ran(100_100).await;

    let all = world.report(0, 200_000, "group_by=instance").await;
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
        let page = world.report(window[0], window[1], "group_by=kind").await;
        for group in page["items"].as_array().unwrap() {
            assert_eq!(group["group"], "running");
            seconds += group["running_seconds"].as_i64().unwrap();
            sum += amount(group);
        }
    }
    assert_eq!((seconds, sum), (103_600, "10.36".parse().unwrap()));
    assert_eq!(world.report(0, 200_000, "group_by=spec").await["items"][0]["group"], SPEC);

    // by day, page by page
    let (mut days, mut cursor, mut sum) = (Vec::new(), String::new(), Decimal::ZERO);
    loop {
        let page = world.report(0, 200_000, &format!("group_by=day&limit=1{cursor}")).await;
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
    let other = world.user(TenantId::new(), Role::Owner);
    assert_eq!(other.get(&path).await.expect(200).body["items"], json!([]));
    let platform = path.replace("/v1/usage", "/v1/platform-usage");
    world.member().get(&platform).await.expect_problem(403, "forbidden");
    let tenants = world.admin().get(&platform).await.expect(200).body;
    assert_eq!(
        (&tenants["items"][0]["group"], &tenants["items"][0]["amount"]),
        (&json!(world.tenant), &json!("10.36"))
    );
    let none = world.admin().get(&format!("{platform}&tenant_id={}", TenantId::new())).await.expect(200);
    assert_eq!(none.body["items"], json!([]));
    for wrong in [
        format!("from={}&to={}", at(1), at(1)),
        format!("from={}&to={}", at(0), at(367 * 86_400)),
        "group_by=colour".to_owned(),
        "from=1500-01-01T00:00:00Z&to=1500-01-02T00:00:00Z".to_owned(),
        "cursor=x".to_owned(),
        "tenant_id=ten_01939f0a7c3d7e6b8a1f4f0d5c2b1a00".to_owned(),
    ] {
        world.member().get(&format!("/v1/usage?{wrong}")).await.expect_problem(422, "invalid-field");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_meter_is_corrected_by_the_clusters_history_and_says_why() {
    let world = World::start().await;
    let (id, unit) = world.ran(160).await;
    let begun = world.feed("").await;
    let states: Vec<_> =
        begun["items"].as_array().unwrap().iter().map(|r| (&r["version"], &r["to"])).collect();
    assert_eq!(states, [(&json!(1), &Value::Null), (&json!(2), &json!(at(160)))]);
    assert_eq!(world.app.compare_usage().await.unwrap(), 0);

    // the history has another end, and a run that was missed
    let run = |since: i64, until: i64| {
        json!({ "instanceId": id.k8s_name(), "attempt": 1, "runningSince": at(since), "endedAt": at(until),
            "reason": "ContainerExited" })
    };
    world
        .operator
        .status(&unit, json!({ "recentRuns": [run(200, 230), run(100, 150)], "lastRun": run(200, 230) }))
        .await;
    eventually("the meter is corrected", async || {
        world.app.compare_usage().await.unwrap();
        (world.usage(id).await["total_seconds"] == 80).then_some(())
    })
    .await;
    assert_eq!(world.app.compare_usage().await.unwrap(), 0, "once is enough");
    let usage = world.usage(id).await;
    let runs: Vec<_> =
        usage["items"].as_array().unwrap().iter().map(|r| (&r["seconds"], &r["correction"])).collect();
    assert_eq!(runs, [(&json!(30), &json!("missed_run")), (&json!(50), &json!("cluster_history"))]);
    assert_eq!(usage["totals"][0]["amount"], "0.008");

    // what was recorded before is still there; the corrections follow
    let cursor = begun["next_cursor"].as_str().unwrap();
    let corrections = world.feed(cursor).await;
    let mut records: Vec<_> = corrections["items"].as_array().unwrap().iter().collect();
    records.sort_by_key(|record| record["version"].as_i64());
    assert_eq!(records.len(), 2);
    assert_eq!((&records[0]["version"], &records[0]["correction"]), (&json!(1), &json!("missed_run")));
    assert_eq!((&records[1]["version"], &records[1]["to"]), (&json!(3), &json!(at(150))));
    assert_eq!(records[1]["run_id"], begun["items"][0]["run_id"]);
    assert!(corrections["watermarks"].is_array());
    let again = world.feed("").await;
    assert_eq!(again["items"].as_array().unwrap()[..2], begun["items"].as_array().unwrap()[..]);
    world.member().get("/internal/v1/usage").await.expect_problem(401, "unauthenticated");
    for statement in ["update gpu.usage_records set version = 9", "delete from gpu.usage_records"] {
        let mut tx = world.service_db.worker().await.unwrap();
        assert!(sqlx::query(statement).execute(&mut *tx).await.is_err(), "{statement}");
    }
}

/// The rows of replicas of the previous release count too: the triggers see them.
#[tokio::test(flavor = "multi_thread")]
async fn the_cost_of_totals_does_not_grow_with_the_runs() {
    let world = World::start().await;
    let (id, _) = world.ran(160).await;
    let many = "insert into gpu.runs (id, tenant_id, instance_id, attempt, unit_id, price_per_hour, currency, started_at,
            confirmed_at, ended_at, end_reason)
        select gen_random_uuid(), tenant_id, instance_id, 1000 + n, unit_id, price_per_hour, currency,
            started_at + make_interval(secs => n * 10), confirmed_at, started_at + make_interval(secs => n * 10 + 5),
            'stopped'
        from gpu.runs, generate_series(1, 2000) as n";
    assert_eq!(world.execute(many).await, 2000);
    assert_eq!(world.usage(id).await["total_seconds"], 60 + 2000 * 5);
    let mut admin = world.db.admin().await;
    let rows: i64 =
        sqlx::query_scalar("select count(*) from gpu.usage_totals").fetch_one(&mut admin).await.unwrap();
    assert_eq!(rows, 1);
}

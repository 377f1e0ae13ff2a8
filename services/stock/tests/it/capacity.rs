//! Capacity over time.

use serde_json::{Value, json};
use testkit::{Client, Response, eventually};

use crate::{
    fixture::{Fixture, instance},
    operator::Cluster,
};

const SUMS: &str = "insert into stock.capacity
     (gpu_spec_id, datacenter_id, step, begins_at, available, inactive, used, least_available)
     select s.id, d.id, x.step, x.begins_at::timestamptz, x.available, x.inactive, x.used, x.least
     from (values
         ('a', 'uk-1', 'hour', '2026-03-01T08:00:00Z', 240, 0, 240, 1),
         ('a', 'de-1', 'hour', '2026-03-01T08:00:00Z', 60, 30, 30, 0),
         ('b', 'uk-1', 'hour', '2026-03-01T08:00:00Z', 600, 0, 0, 10),
         ('a', 'uk-1', 'hour', '2026-03-01T10:00:00Z', 10, 0, 0, 0),
         ('a', 'uk-1', 'day', '2026-03-01T00:00:00Z', 250, 0, 240, 0)
     ) x(spec, datacenter, step, begins_at, available, inactive, used, least)
     join stock.gpu_specs s on s.name = x.spec join stock.datacenters d on d.name = x.datacenter";
const STEPS: &str = "insert into stock.capacity_steps (step, begins_at, seconds) values
     ('hour', '2026-03-01T08:00:00Z', 60), ('hour', '2026-03-01T10:00:00Z', 30), ('day', '2026-03-01T00:00:00Z', 90)";

async fn fixture() -> Fixture {
    let fixture = Fixture::new().await;
    let replica = fixture.replica().await;
    for name in ["a", "b"] {
        let _ = replica.spec(name, "1").await;
    }
    for name in ["uk-1", "de-1"] {
        let _ = replica.datacenter(name).await;
    }
    fixture.sql(SUMS).await;
    fixture.sql(STEPS).await;
    fixture
}

/// The units of each step; null where nothing is known.
fn units(answer: &Response) -> Vec<&Value> {
    answer.body["points"].as_array().unwrap().iter().map(|point| &point["units"]).collect()
}

async fn morning(admin: &Client, query: &str) -> Response {
    let path = "/v1/stock-capacity?from=2026-03-01T08:30:00Z&to=2026-03-01T12:00:00Z";
    admin.get(&format!("{path}{query}")).await.expect(200)
}

#[tokio::test]
async fn the_counts_of_an_hour_are_averages() {
    let fixture = fixture().await;
    let replica = fixture.replica().await;
    let one = morning(&replica.admin, "&gpu_spec=a&datacenter=uk-1").await;
    let last =
        json!({ "available": 0.33, "inactive": 0.0, "used": 0.0, "total": 0.33, "least_available": 0 });
    let first = json!({ "available": 4.0, "inactive": 0.0, "used": 4.0, "total": 8.0, "least_available": 1 });
    assert_eq!(units(&one), [&first, &Value::Null, &last, &Value::Null]);
    assert_eq!((one.str("step"), one.str("from")), ("hour", "2026-03-01T08:00:00Z"));
    assert_eq!(one.str("to"), "2026-03-01T12:00:00Z");
    assert_eq!(one.body["points"][1]["at"], "2026-03-01T09:00:00Z");

    let of_spec = morning(&replica.admin, "&gpu_spec=a").await;
    let both = json!({ "available": 5.0, "inactive": 0.5, "used": 4.5, "total": 10.0, "least_available": 1 });
    assert_eq!(units(&of_spec)[0], &both);
    let of_place = morning(&replica.admin, "&datacenter=uk-1").await;
    assert_eq!(units(&of_place)[0]["available"], 14.0);
    let all = morning(&replica.admin, "").await;
    assert_eq!(units(&all)[0]["total"], 20.0);
    // counted, and there were none: zero, and not unknown
    let none = morning(&replica.admin, "&gpu_spec=b&datacenter=de-1").await;
    assert_eq!((&units(&none)[0]["total"], units(&none)[1]), (&json!(0.0), &Value::Null));

    let days = "/v1/stock-capacity?step=day&gpu_spec=a&from=2026-02-28T10:00:00Z&to=2026-03-02T00:00:00Z";
    let days = replica.admin.get(days).await.expect(200);
    assert_eq!(units(&days)[0], &Value::Null);
    assert_eq!((units(&days).len(), &units(&days)[1]["used"]), (2, &json!(2.67)));
}

#[tokio::test]
async fn a_period_is_bounded_and_for_administrators() {
    let fixture = fixture().await;
    let replica = fixture.replica().await;
    let path = "/v1/stock-capacity";
    assert_eq!(units(&replica.admin.get(path).await.expect(200)).len(), 25);
    let days = replica.admin.get(&format!("{path}?step=day")).await.expect(200);
    assert_eq!(units(&days).len(), 31);
    for query in [
        "from=2026-01-01T00:00:00Z&to=2026-03-01T00:00:00Z",
        "step=day&from=2020-01-01T00:00:00Z&to=2026-03-01T00:00:00Z",
        "from=2026-03-01T00:00:00Z&to=2026-03-01T00:00:00Z",
        "from=2999-01-01T00:00:00Z",
        "step=minute",
        "from=yesterday",
        "gpu_spec=zzz",
        "gpu_spec=%00",
        "datacenter=zzz",
        "limit=1",
    ] {
        replica.admin.get(&format!("{path}?{query}")).await.expect_problem(422, "invalid-field");
    }
    fixture.user(&replica, auth::Role::Owner).get(path).await.expect_problem(403, "forbidden");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_units_are_counted_by_one_replica_and_old_counts_deleted() {
    let cluster = Cluster::start().await;
    let mut fixture = Fixture::with_cluster(Some(cluster.kubeconfig())).await;
    fixture.config.measure_every_seconds = 1;
    fixture
        .sql(
            "insert into stock.capacity_steps select step, now() - age::interval, 1 from (values
         ('hour', '61 days'), ('hour', '63 days'), ('day', '2 years'), ('day', '4 years')) x(step, age)",
        )
        .await;
    fixture.sql("insert into stock.capacity select gen_random_uuid(), gen_random_uuid(), step, begins_at, 1, 1, 1, 1
         from stock.capacity_steps").await;
    let first = fixture.replica().await;
    let spec_id = first.spec("a", "1").await;
    let _ = first.datacenter("uk-1").await;
    fixture.units("a", "uk-1", 4).await;
    let path = "/v1/stock-capacity?gpu_spec=a&datacenter=uk-1";
    let measured = async |what: &'static str, done: &dyn Fn(&Value) -> bool| {
        eventually(what, async || {
            let answer = first.admin.get(path).await.expect(200);
            // the hour may end meanwhile
            let known = units(&answer).into_iter().rev().find(|units| !units.is_null()).cloned();
            known.filter(|units| done(units))
        })
        .await
    };
    let units = measured("the units are counted", &|units| units["total"].as_f64() > Some(0.0)).await;
    assert_eq!(units["used"], 0.0);
    let _ = first.claim(&instance(), &spec_id).await.expect(201);
    let units = measured("a claim shows", &|units| units["used"].as_f64() > Some(0.0)).await;
    assert_eq!(units["least_available"], 3);
    eventually("old counts are deleted", async || {
        let old = fixture
            .count("select count(*) from stock.capacity_steps where begins_at < now() - interval '2 days'")
            .await;
        let counts = fixture
            .count("select count(*) from stock.capacity where begins_at < now() - interval '2 days'")
            .await;
        (old == 2 && counts == 2).then_some(())
    })
    .await;

    // with a second replica no second counts twice, and nothing is written while the stock stays as it is
    let _second = fixture.replica().await;
    let _ = first.claim(&instance(), &spec_id).await.expect(201);
    let _ = measured("another claim shows", &|units| units["least_available"] == 2).await;
    let recorded = "select coalesce(sum(seconds), 0)::bigint from stock.capacity_steps
         where step = 'day' and begins_at > now() - interval '2 days'";
    let lasted =
        "select ceil(extract(epoch from now() - (select min(created_at) from stock.gpu_specs)))::bigint";
    assert!(fixture.count(recorded).await <= fixture.count(lasted).await, "a second counts twice");
    let version = "select xmin::text::bigint from stock.capacity_since";
    let hour = "select extract(hour from now())::bigint";
    let (written, began) = (fixture.count(version).await, fixture.count(hour).await);
    let rounds = async || {
        let metrics = first.base.get("/metrics").await.expect(200).text;
        let line = metrics
            .lines()
            .find(|line| line.starts_with("worker_rounds_total") && line.contains("stock.capacity"));
        line.and_then(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).unwrap_or(0.0)
    };
    let before = rounds().await;
    eventually("two more rounds", async || (rounds().await >= before + 2.0).then_some(())).await;
    let is_another_hour = fixture.count(hour).await != began;
    assert!(fixture.count(version).await == written || is_another_hour, "a round without a change writes");
}

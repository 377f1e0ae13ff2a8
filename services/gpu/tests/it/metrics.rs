//! Metrics of instances: from Prometheus, and sampled from the nodes.

#![expect(clippy::disallowed_methods, reason = "tests run on the real clock")]

use std::time::{Duration, Instant};

use atelier_gpu::PrometheusConfig;
use auth::Role;
use ids::{InstanceId, TenantId};
use jiff::Timestamp;
use serde_json::{Value, json};
use testkit::{Client, Response, eventually};

use crate::{
    harness::{CLUSTER, Fixture, Setup},
    operator::EPOCH,
    pods,
    prometheus::{FakePrometheus, Fault, TOKEN},
};

fn now() -> i64 {
    Timestamp::now().as_second()
}

fn time(second: i64) -> String {
    Timestamp::from_second(second).unwrap().to_string()
}

/// A test platform with a Prometheus in the cluster.
async fn fixture() -> (Fixture, FakePrometheus) {
    let prometheus = FakePrometheus::start().await;
    let config: PrometheusConfig = serde_json::from_value(json!({
        "url": prometheus.url, "bearer_token": TOKEN, "timeout_ms": 1000, "matchers": { "cluster": "one" },
    }))
    .unwrap();
    let fixture = Fixture::with_prometheus(Setup::default(), config).await;
    (fixture, prometheus)
}

/// Brings an instance up, ready since a time.
async fn ready_since(fixture: &Fixture, id: InstanceId, since: i64) -> String {
    let unit = fixture.unit_of(id).await;
    fixture.operator.ready_since(&unit, since - EPOCH).await;
    fixture.in_state(id, "running").await;
    unit
}

async fn stop_at(fixture: &Fixture, id: InstanceId, until: i64) {
    let unit = fixture.unit_of(id).await;
    let operation = fixture.act(id, "stop").await;
    fixture.emptied(&unit).await;
    fixture.operator.ended(&unit, until - EPOCH).await;
    assert_eq!(fixture.ended(&operation).await["state"], "succeeded");
}

/// The labels of a container's series, of the first attempt of an instance.
fn container<'a>(namespace: &'a str, pod: &'a str) -> [(&'a str, &'a str); 4] {
    [("cluster", "one"), ("namespace", namespace), ("pod", pod), ("container", "main")]
}

async fn metrics(client: &Client, id: InstanceId, from: i64, to: i64, step: i64) -> Response {
    let (from, to) = (time(from), time(to));
    client.get(&format!("/v1/instances/{id}/metrics?from={from}&to={to}&step={step}")).await
}

/// The values of the only series of a metric, with the times at which their steps begin.
fn values(answer: &Value, metric: &str) -> Vec<(i64, Option<f64>)> {
    let series: Vec<&Value> =
        answer["series"].as_array().unwrap().iter().filter(|series| series["metric"] == metric).collect();
    assert_eq!(series.len(), 1, "{metric} in {answer}");
    let from: Timestamp = answer["from"].as_str().unwrap().parse().unwrap();
    let step = answer["step"].as_i64().unwrap();
    let values = series[0]["values"].as_array().unwrap().iter();
    values
        .enumerate()
        .map(|(i, v)| (from.as_second() + step * i64::try_from(i).unwrap(), v.as_f64()))
        .collect()
}

/// Why there are no values of a metric.
fn missing<'a>(answer: &'a Value, metric: &str) -> &'a str {
    let all = answer["missing"].as_array().unwrap();
    let found = all.iter().find(|missing| missing["metric"] == metric);
    found.and_then(|missing| missing["reason"].as_str()).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn values_are_those_of_the_pods_of_the_runs_while_they_ran() {
    let (fixture, prometheus) = fixture().await;
    let end = now() / 60 * 60;
    let id = fixture.ordered(Fixture::order()).await;
    ready_since(&fixture, id, end - 3000).await;
    stop_at(&fixture, id, end - 2000).await;
    fixture.act(id, "start").await;
    ready_since(&fixture, id, end - 1000).await;

    let (namespace, name) = (fixture.tenant.k8s_name(), id.k8s_name());
    let (first, second) = (format!("{name}-1"), format!("{name}-2"));
    let memory = "container_memory_working_set_bytes";
    // pods of the same names existed before and after the runs
    let in_first = |at: i64| (end - 3000..=end - 2000).contains(&at);
    let of_first = |at: i64| if in_first(at) { 100.0 } else { 9999.0 };
    prometheus.add(memory, &container(&namespace, &first), end - 4000, end, of_first);
    let of_second = |at: i64| if at >= end - 1000 { 200.0 } else { 9999.0 };
    prometheus.add(memory, &container(&namespace, &second), end - 4000, end, of_second);
    #[expect(clippy::cast_precision_loss, reason = "exact")]
    let half_a_core = |at: i64| at as f64 / 2.0;
    let cpu = "container_cpu_usage_seconds_total";
    prometheus.add(cpu, &container(&namespace, &second), end - 1000, end, half_a_core);
    // another tenant's pod, another cluster's, and another container
    for (namespace, cluster, container) in
        [("ten-2", "one", "main"), (&namespace, "two", "main"), (&namespace, "one", "")]
    {
        let labels =
            [("cluster", cluster), ("namespace", namespace), ("pod", &second), ("container", container)];
        prometheus.add(memory, &labels, end - 4000, end, |_| 9999.0);
        prometheus.add(cpu, &labels, end - 4000, end, |at| half_a_core(at) * 100.0);
    }
    for (gpu, share) in [("0", 25.0), ("1", 75.0)] {
        let labels = [
            ("cluster", "one"),
            ("exported_namespace", namespace.as_str()),
            ("exported_pod", second.as_str()),
            ("gpu", gpu),
            ("namespace", "monitoring"),
            ("pod", "dcgm-exporter-x"),
        ];
        prometheus.add("DCGM_FI_DEV_GPU_UTIL", &labels, end - 1000, end, move |_| share);
        prometheus.add("DCGM_FI_DEV_FB_USED", &labels, end - 1000, end, |_| 2.0);
        // one error in between
        let error = |at: i64| if at == (end - 500) / 15 * 15 { 79.0 } else { 0.0 };
        prometheus.add("DCGM_FI_DEV_XID_ERRORS", &labels, end - 1000, end, error);
    }

    let answer = metrics(&fixture.member(), id, end - 3600, end, 60).await.expect(200).body;
    assert_eq!((&answer["from"], &answer["to"]), (&json!(time(end - 3600)), &json!(time(end))));
    assert_eq!(answer["runs"].as_array().unwrap().len(), 2, "{answer}");
    let memory = values(&answer, "memory_used");
    assert_eq!(memory.len(), 60);
    for (at, value) in memory {
        // a step that has less than a minute of a run may have none of it
        let expected = if (end - 2940..end - 2060).contains(&at) {
            Some(100.0)
        } else if at >= end - 940 {
            Some(200.0)
        } else if at + 60 <= end - 3000 || (at >= end - 2000 && at + 60 <= end - 1000) {
            None
        } else {
            assert!(value.is_none_or(|value| value == 100.0 || value == 200.0), "{at}: {value:?}");
            continue;
        };
        assert_eq!(value, expected, "{} s before the end", end - at);
    }
    let cpu = values(&answer, "cpu_usage");
    assert!(cpu.iter().all(|(_, value)| value.is_none_or(|cores| (cores - 0.5).abs() < 1e-6)), "{cpu:?}");
    assert!(cpu.iter().filter(|(at, _)| *at >= end - 900).all(|(_, value)| value.is_some()), "{cpu:?}");
    let gpus: Vec<(&Value, &Value)> = answer["series"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|series| series["metric"] == "gpu_utilization")
        .map(|series| (&series["gpu"], series["values"].as_array().unwrap().last().unwrap()))
        .collect();
    assert_eq!(gpus, [(&json!("0"), &json!(25.0)), (&json!("1"), &json!(75.0))]);
    let of =
        |metric: &str| answer["series"].as_array().unwrap().iter().find(|s| s["metric"] == metric).unwrap();
    assert_eq!(of("gpu_memory_used")["values"][59], json!(2.0 * 1024.0 * 1024.0));
    assert_eq!(
        (&of("gpu_memory_used")["unit"], &of("gpu_memory_used")["source"]),
        (&json!("bytes"), &json!("prometheus"))
    );
    let errors = of("gpu_xid_error")["values"].as_array().unwrap();
    assert!(
        errors.contains(&json!(79.0)) && errors.contains(&json!(0.0)),
        "an error is not averaged: {errors:?}"
    );
    assert_eq!(missing(&answer, "gpu_power"), "no_data");

    // before its first run
    let before = metrics(&fixture.member(), id, end - 7200, end - 3600, 60).await.expect(200).body;
    assert_eq!((&before["series"], missing(&before, "cpu_usage")), (&json!([]), "not_running"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prometheus_that_ignores_the_pods_shows_nothing_of_other_tenants() {
    let (fixture, prometheus) = fixture().await;
    let end = now();
    let own = fixture.ordered(Fixture::order()).await;
    ready_since(&fixture, own, end - 1000).await;
    let other = TenantId::new();
    let memory = "container_memory_working_set_bytes";
    let pod = format!("{}-1", own.k8s_name());
    prometheus.add(memory, &container(&other.k8s_name(), &pod), end - 1000, end, |_| 9999.0);
    prometheus.add(memory, &container(&fixture.tenant.k8s_name(), "another"), end - 1000, end, |_| 9999.0);
    prometheus.set(Fault::AnswersAll);
    let answer = metrics(&fixture.member(), own, end - 900, end, 60).await.expect(200).body;
    assert_eq!((&answer["series"], missing(&answer, "memory_used")), (&json!([]), "no_data"));
    // nor does another tenant reach the instance
    let stranger = fixture.user(other, Role::Owner);
    prometheus.queries();
    let foreign = metrics(&stranger, own, end - 900, end, 60).await.expect_problem(404, "not-found");
    let absent = metrics(&stranger, InstanceId::new(), end - 900, end, 60).await;
    assert_eq!(foreign.text, absent.text);
    assert_eq!(prometheus.queries(), [""; 0]);
    let _ = metrics(&fixture.user(fixture.tenant, Role::Viewer), own, end - 900, end, 60).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_failing_prometheus_does_not_answer_is_marked() {
    let (fixture, prometheus) = fixture().await;
    let end = now();
    let id = fixture.ordered(Fixture::order()).await;
    ready_since(&fixture, id, end - 1000).await;
    let pod = format!("{}-1", id.k8s_name());
    let namespace = fixture.tenant.k8s_name();
    let labels = container(&namespace, &pod);
    prometheus.add("container_memory_working_set_bytes", &labels, end - 1000, end, |_| 5.0);
    let member = fixture.member();
    let ask = async || metrics(&member, id, end - 900, end, 60).await;

    prometheus.set(Fault::Refuses("DCGM"));
    let answer = ask().await.expect(200).body;
    assert_eq!(values(&answer, "memory_used")[5].1, Some(5.0));
    assert_eq!(
        (missing(&answer, "gpu_power"), missing(&answer, "disk_read")),
        ("unexpected_answer", "no_data")
    );

    for fault in [Fault::Nonsense, Fault::Refuses(""), Fault::Slow(Duration::from_secs(30))] {
        prometheus.set(fault.clone());
        let begun = Instant::now();
        let refused = ask().await.expect_problem(503, "unavailable");
        assert!(refused.header("retry-after").is_some(), "{fault:?}");
        assert!(begun.elapsed() < Duration::from_secs(5), "{fault:?} took {:?}", begun.elapsed());
        assert!(!refused.text.contains(TOKEN) && !refused.text.contains("127.0.0.1"), "{}", refused.text);
    }
    prometheus.set(Fault::None);
    let _ = ask().await.expect(200);
    // where it does not run, nothing has to be asked
    prometheus.set(Fault::Nonsense);
    let _ = metrics(&member, id, end - 9000, end - 8000, 60).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prometheus_that_is_down_is_unavailable() {
    let url = format!("http://user:secret@{}", testkit::NOBODY);
    let config = serde_json::from_value(json!({ "url": url })).unwrap();
    let fixture = Fixture::with_prometheus(Setup::default(), config).await;
    let id = fixture.ordered(Fixture::order()).await;
    ready_since(&fixture, id, now() - 1000).await;
    let refused = fixture.member().get(&format!("/v1/instances/{id}/metrics")).await;
    let refused = refused.expect_problem(503, "unavailable");
    assert!(refused.header("retry-after").is_some() && !refused.text.contains("secret"), "{}", refused.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn windows_that_make_no_sense_are_refused() {
    let (fixture, prometheus) = fixture().await;
    let id = fixture.ordered(Fixture::order()).await;
    let end = now();
    let member = fixture.member();
    for (query, pointer) in [
        (format!("from={}&to={}", time(end), time(end - 60)), "from"),
        (format!("from={}", time(end + 600)), "from"),
        (format!("from={}", time(end - 32 * 86_400)), "from"),
        ("step=14".to_owned(), "step"),
        ("step=1000000".to_owned(), "step"),
        (format!("from={}&step=15", time(end - 86_400)), "step"),
    ] {
        let refused = member.get(&format!("/v1/instances/{id}/metrics?{query}")).await;
        let refused = refused.expect_problem(422, "invalid-field");
        assert_eq!(refused.body["errors"][0]["pointer"], pointer, "{query}");
    }
    for query in ["from=yesterday", "step=x", "names=cpu"] {
        let refused = member.get(&format!("/v1/instances/{id}/metrics?{query}")).await;
        assert!([400, 422].contains(&refused.status), "{query}: {}", refused.text);
    }
    assert_eq!(prometheus.queries(), [""; 0]);
    // without parameters: the last hour
    let hour = member.get(&format!("/v1/instances/{id}/metrics")).await.expect(200).body;
    assert_eq!((&hour["step"], missing(&hour, "cpu_usage")), (&json!(15), "not_running"));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_prometheus_the_nodes_are_sampled() {
    let fixture = Fixture::start().await;
    let id = fixture.ordered(Fixture::order()).await;
    let unit = fixture.unit_of(id).await;
    let script = "head -c 3000000 /dev/zero > \"$ATELIER_ROOTFS/file\"; while :; do :; done";
    pods::give(&fixture, id, 1, script).await;
    fixture.operator.ready_since(&unit, now() - 5 - EPOCH).await;
    fixture.in_state(id, "running").await;
    let member = fixture.member();
    let path = format!("/v1/instances/{id}/metrics?step=15");
    let answer = eventually("the instance is sampled twice", async || {
        let answer = member.get(&path).await.expect(200).body;
        let series = answer["series"].as_array().unwrap();
        series.iter().any(|series| series["metric"] == "network_received").then_some(answer)
    })
    .await;
    let last = |metric: &str| values(&answer, metric).into_iter().rev().find_map(|(_, value)| value).unwrap();
    assert!((0.05..4.0).contains(&last("cpu_usage")), "{answer}");
    assert!(last("memory_used") > 100_000.0 && last("disk_used") > 3_000_000.0, "{answer}");
    assert_eq!(
        (missing(&answer, "gpu_utilization"), missing(&answer, "disk_read")),
        ("not_reported", "not_reported")
    );
    assert!(answer["series"].as_array().unwrap().iter().all(|series| series["source"] == "nodes"));

    // one replica samples each cluster; when it ends, another one does
    let other = fixture.replica().await;
    let mut admin = fixture.db.admin().await;
    let mut owner = async || -> Vec<i32> {
        let holders = "select pid from pg_locks l,
                lateral hashtextextended('gpu:samples of ' || $1, 0) as h(key)
            where l.locktype = 'advisory' and l.granted
              and l.database = (select oid from pg_database where datname = current_database())
              and l.classid::bigint = (h.key >> 32) & 4294967295 and l.objid::bigint = h.key & 4294967295";
        sqlx::query_scalar(holders).bind(CLUSTER).fetch_all(&mut admin).await.unwrap()
    };
    let first = owner().await;
    assert_eq!(first.len(), 1);
    fixture.process.shutdown.begin();
    eventually("the other replica samples", async || {
        let owners = owner().await;
        (owners.len() == 1 && owners != first).then_some(())
    })
    .await;
    other.process.shutdown.begin();
}

#[tokio::test(flavor = "multi_thread")]
async fn samples_become_averages_and_are_deleted() {
    let fixture = Fixture::with(Setup { workers: false, ..Setup::default() }).await;
    let replica = fixture.replica().await;
    let id = fixture.ordered(Fixture::order()).await;
    let begin = now() / 300 * 300 - 7200;
    ready_since(&fixture, id, begin).await;
    replica.process.shutdown.begin();
    // two hours of samples, of which none is averaged: half a core, then one and a half
    let written = fixture
        .execute(
            "with reset as (update gpu.sample_progress set averaged_to = now() - interval '3 hours')
             insert into gpu.instance_samples (instance_id, at, tenant_id, seconds, cpu_cores)
             select i.id, t, i.tenant_id, 15, case when extract(epoch from t)::bigint % 300 between 1 and 150 then 0.5 else 1.5 end
             from gpu.instances i, generate_series(date_bin('5 minutes', now(), 'epoch') - interval '2 hours', now(),
                 interval '15 seconds') as t",
        )
        .await;
    assert!(written >= 480);
    let base = fixture.replica().await;
    let mut admin = fixture.db.admin().await;
    eventually("old samples are averaged and deleted", async || {
        let (samples, averages): (i64, i64) = sqlx::query_as(
            "select (select count(*) from gpu.instance_samples), (select count(*) from gpu.instance_sample_averages)",
        )
        .fetch_one(&mut admin)
        .await
        .unwrap();
        (samples <= 245 && averages >= 10).then_some(())
    })
    .await;
    let client = Client::new(&base.base).token(&fixture.issuer.user(fixture.tenant, Role::Viewer));
    let answer = metrics(&client, id, begin, now(), 300).await.expect(200).body;
    let cpu = values(&answer, "cpu_usage");
    let known: Vec<_> = cpu.iter().filter_map(|(at, value)| Some((now() - at, (*value)?))).collect();
    // nothing older than an hour and ten minutes is averaged after so long an interruption
    assert!(known.len() >= 12, "{cpu:?}");
    let whole = &known[1..known.len() - 1];
    assert!(whole.iter().all(|(_, cores)| (cores - 1.0).abs() < 0.05), "{known:?}");
}

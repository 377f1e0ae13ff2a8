//! Instances that stop when they are idle.

#![expect(clippy::disallowed_methods, reason = "a test runs on the real clock")]

use std::sync::atomic::{AtomicI64, Ordering};

use atelier_gpu::{IdleConfig, PrometheusConfig};
use auth::Role;
use ids::{InstanceId, TenantId};
use jiff::Timestamp;
use serde_json::{Value, json};
use testkit::{Client, Response, eventually};
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::{
    harness::{Fixture, Replica, Setup},
    operator::{EPOCH, at},
    pods,
    prometheus::{FakePrometheus, Fault, TOKEN},
    ssh::Person,
    streams::opened,
};

/// The second of the test: the clock of the service. Each test is a process of its own.
static NOW: AtomicI64 = AtomicI64::new(100);

fn clock() -> Timestamp {
    Timestamp::new(EPOCH + NOW.load(Ordering::SeqCst), 123_456_789).unwrap()
}

const SETUP: Setup = Setup { units: 2, workers: false, clock: Some(clock) };

fn settings() -> Value {
    json!({ "after_seconds": 900 })
}

fn report(reporter: &str, instances: &[(InstanceId, u32)], has_ended: bool) -> Value {
    let instances = instances.iter().map(|(id, ago)| json!({ "instance_id": id, "seconds_ago": ago }));
    json!({ "reporter": reporter, "instances": instances.collect::<Vec<_>>(), "is_complete": true, "has_ended": has_ended })
}

impl Fixture {
    async fn watched() -> Self {
        NOW.store(100, Ordering::SeqCst);
        Self::with(SETUP).await
    }

    /// A running instance with an idle stop, ready since second 100.
    async fn idle_instance(&self) -> InstanceId {
        let mut order = Self::order();
        order["idle_stop"] = settings();
        self.running_by_hand(order).await
    }

    /// Orders an instance and reconciles it by hand until it runs.
    async fn running_by_hand(&self, order: Value) -> InstanceId {
        let id = self.ordered(order).await;
        self.reconcile(id).await;
        let unit = self.unit_of(id).await;
        self.operator.ready(&unit).await;
        self.brought_to(id, "running").await;
        id
    }

    async fn brought_to(&self, id: InstanceId, state: &str) -> Value {
        let path = format!("/v1/instances/{id}");
        eventually(&format!("the instance is {state}"), async || {
            self.reconcile(id).await;
            let body = self.member().get(&path).await.expect(200).body;
            (body["state"] == state).then_some(body)
        })
        .await
    }

    /// Samples of all instances until a second, every 15 seconds since the last one; then it is that second.
    async fn used(&self, to: i64, cpu_cores: f64) {
        let from = NOW.swap(to, Ordering::SeqCst);
        self.sampled(from, to, cpu_cores).await;
    }

    async fn sampled(&self, from: i64, to: i64, cpu_cores: f64) {
        let mut admin = self.db.admin().await;
        let insert = "insert into gpu.instance_samples (instance_id, at, tenant_id, seconds, cpu_cores)
             select i.id, to_timestamp(t), i.tenant_id, 15, $3
             from gpu.instances i, generate_series($1::bigint, $2::bigint, 15) as t
             on conflict do nothing";
        let first = (from / 15 + 1) * 15;
        sqlx::query(insert)
            .bind(EPOCH + first)
            .bind(EPOCH + to)
            .bind(cpu_cores)
            .execute(&mut admin)
            .await
            .unwrap();
    }

    async fn reported(&self, instances: &[(InstanceId, u32)]) {
        let _ = self
            .gateway()
            .post("/internal/v1/instance-activity", report("gateway-1", instances, false))
            .await
            .expect(204);
    }

    /// The gateway reports no connections, and the instance is evaluated.
    async fn evaluate(&self, id: InstanceId) -> Value {
        self.reported(&[]).await;
        self.evaluate_only(id).await
    }

    async fn evaluate_only(&self, id: InstanceId) -> Value {
        assert!(self.app.reconcile_idle_stop(id).await.unwrap());
        self.member().get(&format!("/v1/instances/{id}")).await.expect(200).body
    }

    /// Advances the clock without use, and evaluates every minute.
    async fn unused(&self, id: InstanceId, to: i64) -> Value {
        let mut view = Value::Null;
        while NOW.load(Ordering::SeqCst) < to {
            let next = (NOW.load(Ordering::SeqCst) + 60).min(to);
            self.used(next, 0.01).await;
            view = self.evaluate(id).await;
        }
        view
    }

    /// The events of an instance about its idle stop, oldest first.
    async fn idle_events(&self, id: InstanceId) -> Vec<Value> {
        let list = self.member().get(&format!("/v1/instances/{id}/events?limit=200")).await.expect(200).body;
        let events = list["items"].as_array().unwrap().iter().rev();
        events.filter(|event| event["type"].as_str().unwrap().contains("idle_stop")).cloned().collect()
    }

    async fn causes(&self, id: InstanceId) -> Vec<String> {
        let events = self.idle_events(id).await;
        let cause = |event: &Value| match event["data"]["cause"].as_str() {
            Some(cause) => cause.to_owned(),
            None => "announced".to_owned(),
        };
        events.iter().map(cause).collect()
    }

    async fn postpone(&self, id: InstanceId) -> Response {
        self.member().post(&format!("/v1/instances/{id}/postpone-idle-stop"), Value::Null).await
    }

    async fn patch(&self, id: InstanceId, change: Value) -> Response {
        self.member().patch(&format!("/v1/instances/{id}"), "*", change).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_instance_is_announced_and_stopped() {
    let fixture = Fixture::watched().await;
    let id = fixture.idle_instance().await;
    let view = fixture.unused(id, 380).await;
    let settings = json!({ "after_seconds": 900, "gpu_below_percent": 5, "cpu_below_percent": 5, "idle_since": null, "stop_at": null });
    assert_eq!(view["idle_stop"], settings, "{view}");
    let view = fixture.unused(id, 420).await;
    let generation =
        fixture.member().get(&format!("/v1/instances/{id}")).await.header("etag").unwrap().to_owned();
    let stop_at: Timestamp = view["idle_stop"]["stop_at"].as_str().unwrap().parse().unwrap();
    assert!(stop_at.as_second() - EPOCH >= 1020, "{view}");
    // from the first whole second after the order
    assert_eq!(view["idle_stop"]["idle_since"], at(101));
    let events = fixture.idle_events(id).await;
    assert_eq!(events.len(), 1, "{events:?}");
    assert_eq!(events[0]["type"], "instance.idle_stop_announced");
    assert_eq!(events[0]["actor"]["kind"], "system");
    let data = json!({ "idle_since": at(101), "stop_at": view["idle_stop"]["stop_at"], "cpu_percent": 1.0, "gpu_percent": null });
    assert_eq!(events[0]["data"], data);

    // until then, nothing is written to the instance
    let view = fixture.unused(id, 1000).await;
    assert_eq!(view["state"], "running");
    let answer = fixture.member().get(&format!("/v1/instances/{id}")).await;
    assert_eq!(answer.header("etag").unwrap(), generation);
    let view = fixture.unused(id, 1080).await;
    assert_eq!((&view["state"], &view["reason"]), (&json!("stopping"), &json!("idle_stopped")), "{view}");
    let unit = fixture.unit_of(id).await;
    fixture.reconcile(id).await;
    fixture.emptied(&unit).await;
    fixture.operator.ended(&unit, 1085).await;
    let view = fixture.brought_to(id, "stopped").await;
    assert_eq!((&view["reason"], &view["idle_stop"]), (&json!("idle_stopped"), &settings));
    assert!(view["message"].as_str().unwrap().contains("idle_stop"), "{view}");
    let list = fixture.member().get(&format!("/v1/instances/{id}/events")).await.expect(200).body;
    let stopped = &list["items"][0];
    assert_eq!((&stopped["type"], &stopped["data"]["cause"]), (&json!("instance.stopped"), &json!("idle")));
    assert_eq!(fixture.causes(id).await, ["announced"], "the stop is no withdrawal");
    // a stopped instance is not evaluated, and a start begins a new idle time
    assert!(fixture.app.reconcile_idle_stop(id).await.unwrap());
    fixture.act(id, "start").await;
    fixture.reconcile(id).await;
    let unit = fixture.unit_of(id).await;
    fixture.operator.ready_since(&unit, 1090).await;
    fixture.brought_to(id, "running").await;
    let view = fixture.unused(id, 1300).await;
    assert_eq!((&view["state"], &view["idle_stop"]["stop_at"]), (&json!("running"), &Value::Null));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_is_put_off() {
    let fixture = Fixture::watched().await;
    let id = fixture.idle_instance().await;
    // before anything is announced
    fixture.unused(id, 200).await;
    let _ = fixture.postpone(id).await.expect(200);
    assert_eq!(fixture.unused(id, 440).await["idle_stop"]["stop_at"], Value::Null);
    let view = fixture.unused(id, 560).await;
    assert!(!view["idle_stop"]["stop_at"].is_null());
    let answer = fixture.postpone(id).await.expect(200);
    assert_eq!(answer.body["idle_stop"]["stop_at"], Value::Null);
    assert_eq!(fixture.causes(id).await, ["announced", "postponed"]);
    assert_eq!(fixture.idle_events(id).await[1]["actor"]["kind"], "user");
    assert_eq!(fixture.unused(id, 800).await["idle_stop"]["stop_at"], Value::Null);
    let view = fixture.unused(id, 1400).await;
    assert_eq!(view["state"], "running", "idle since 560");
    assert_eq!(view["idle_stop"]["idle_since"], at(561));
    let view = fixture.unused(id, 1620).await;
    assert_eq!(view["state"], "stopping");
    fixture.postpone(id).await.expect_problem(409, "instance-state");

    let other = fixture.running_by_hand(Fixture::order()).await;
    fixture.postpone(other).await.expect_problem(409, "idle-stop-not-set");
    let path = format!("/v1/instances/{id}/postpone-idle-stop");
    let stranger = fixture.user(TenantId::new(), Role::Owner);
    stranger.post(&path, Value::Null).await.expect_problem(404, "not-found");
    fixture
        .user(fixture.tenant, Role::Viewer)
        .post(&path, Value::Null)
        .await
        .expect_problem(403, "forbidden");
}

#[tokio::test(flavor = "multi_thread")]
async fn use_and_connections_keep_an_instance() {
    let fixture = Fixture::watched().await;
    let id = fixture.idle_instance().await;
    // a tenth of the unit's one core
    fixture.unused(id, 460).await;
    fixture.used(475, 0.1).await;
    fixture.evaluate(id).await;
    assert_eq!(fixture.causes(id).await, ["announced", "used"]);
    // a request through the gateway, ten seconds before its report
    fixture.unused(id, 835).await;
    fixture.used(850, 0.01).await;
    fixture.reported(&[(id, 10)]).await;
    let view = fixture.evaluate_only(id).await;
    assert_eq!(view["idle_stop"]["stop_at"], Value::Null);
    assert_eq!(fixture.causes(id).await, ["announced", "used", "announced", "connected"]);
    // an open connection
    for step in 0..60 {
        fixture.used(850 + step * 30, 0.01).await;
        fixture.reported(&[(id, 0)]).await;
        let view = fixture.evaluate_only(id).await;
        assert_eq!((&view["state"], &view["idle_stop"]["stop_at"]), (&json!("running"), &Value::Null));
    }
    let view = fixture.unused(id, 2620 + 1080).await;
    assert_eq!(view["state"], "stopping", "{view}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_known_is_not_idle() {
    let fixture = Fixture::watched().await;
    let id = fixture.idle_instance().await;
    // no gateway has reported
    for _ in 0..30 {
        fixture.used(NOW.load(Ordering::SeqCst) + 60, 0.01).await;
        let view = fixture.evaluate_only(id).await;
        assert_eq!((&view["state"], &view["idle_stop"]["stop_at"]), (&json!("running"), &Value::Null));
    }
    // announced; then there are no samples
    let begin = NOW.load(Ordering::SeqCst);
    fixture.unused(id, begin + 420).await;
    for step in 1..30 {
        NOW.store(begin + 420 + step * 60, Ordering::SeqCst);
        assert_eq!(fixture.evaluate(id).await["state"], "running");
    }
    assert_eq!(fixture.causes(id).await, ["announced", "unknown"]);
    // announced; then the gateway is silent
    let begin = NOW.load(Ordering::SeqCst);
    fixture.unused(id, begin + 420).await;
    for step in 1..30 {
        fixture.used(begin + 420 + step * 60, 0.01).await;
        assert_eq!(fixture.evaluate_only(id).await["state"], "running");
    }
    assert_eq!(fixture.causes(id).await, ["announced", "unknown", "announced", "unknown"]);
    // another replica was killed: for as long as it may carry connections, nothing is known
    let begin = NOW.load(Ordering::SeqCst);
    fixture.unused(id, begin + 420).await;
    let path = "/internal/v1/instance-activity";
    let _ = fixture.gateway().post(path, report("gateway-2", &[], false)).await.expect(204);
    let view = fixture.unused(id, begin + 420 + 900).await;
    assert_eq!((&view["state"], &view["idle_stop"]["stop_at"]), (&json!("running"), &Value::Null));
    let view = fixture.unused(id, begin + 420 + 900 + 1080).await;
    assert_eq!(view["state"], "stopping");
    // one that has shut down is not missed
    let _ = fixture.gateway().post(path, report("gateway-3", &[], true)).await.expect(204);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_and_an_ssh_connection_keep_an_instance() {
    NOW.store(100, Ordering::SeqCst);
    let fixture = Fixture::with(Setup { workers: true, ..SETUP }).await;
    let mut order = Fixture::order();
    order["idle_stop"] = settings();
    let id = fixture.ordered(order).await;
    let unit = fixture.unit_of(id).await;
    pods::give(&fixture, id, 1, "sleep 1000").await;
    fixture.operator.ready(&unit).await;
    fixture.in_state(id, "running").await;
    let is_announced = async |minutes: i64| {
        let mut view = Value::Null;
        for _ in 0..minutes {
            fixture.used(NOW.load(Ordering::SeqCst) + 60, 0.01).await;
            fixture.app.report_activity().await.unwrap();
            fixture.reported(&[]).await;
            // its own workers evaluate it too
            eventually("the instance is evaluated", async || {
                fixture.app.reconcile_idle_stop(id).await.unwrap().then_some(())
            })
            .await;
            view = fixture.member().get(&format!("/v1/instances/{id}")).await.expect(200).body;
            assert_eq!(view["state"], "running");
        }
        !view["idle_stop"]["stop_at"].is_null()
    };
    let mut terminal = opened(&fixture, id, &["cat"]).await;
    assert!(!is_announced(20).await, "a terminal is open");
    terminal.close(None).await.unwrap();
    eventually("the terminal has ended", async || {
        let list =
            fixture.member().get(&format!("/v1/instances/{id}/events?type=instance.terminal_closed")).await;
        (!list.expect(200).body["items"].as_array().unwrap().is_empty()).then_some(())
    })
    .await;
    assert!(is_announced(7).await, "nothing is open");

    let person = Person::with_key(&fixture).await;
    let mut ssh = person.ssh(id, &["echo in; sleep 1000"]).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(ssh.stdout.as_mut().unwrap()).read_line(&mut line).await.unwrap();
    assert_eq!(line, "in\n");
    assert!(!is_announced(20).await, "an SSH connection is open");
    ssh.kill().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_are_checked_and_changed_at_any_time() {
    let fixture = Fixture::watched().await;
    let id = fixture.running_by_hand(Fixture::order()).await;
    for (settings, pointer) in [
        (json!({ "after_seconds": 899 }), "/idle_stop/after_seconds"),
        (json!({ "after_seconds": 604_801 }), "/idle_stop/after_seconds"),
        (json!({ "after_seconds": 900, "gpu_below_percent": 0 }), "/idle_stop/gpu_below_percent"),
        (json!({ "after_seconds": 900, "cpu_below_percent": 101 }), "/idle_stop/cpu_below_percent"),
    ] {
        let mut order = Fixture::order();
        order["idle_stop"] = settings.clone();
        let refused =
            fixture.member().post("/v1/instances", order).await.expect_problem(422, "invalid-field");
        assert_eq!(refused.body["errors"][0]["pointer"], pointer);
        let refused =
            fixture.patch(id, json!({ "idle_stop": settings })).await.expect_problem(422, "invalid-field");
        assert_eq!(refused.body["errors"][0]["pointer"], pointer);
    }
    let view = fixture.patch(id, json!({ "idle_stop": settings() })).await.expect(200).body;
    assert_eq!(view["idle_stop"]["after_seconds"], 900);
    let begin = NOW.load(Ordering::SeqCst);
    fixture.unused(id, begin + 420).await;
    // the same settings change nothing; a name does not touch the announcement
    let view = fixture.patch(id, json!({ "idle_stop": settings(), "name": "other" })).await.expect(200).body;
    assert!(!view["idle_stop"]["stop_at"].is_null());
    let view = fixture.patch(id, json!({ "idle_stop": { "after_seconds": 1800 } })).await.expect(200).body;
    assert_eq!(
        (&view["idle_stop"]["stop_at"], &view["idle_stop"]["after_seconds"]),
        (&Value::Null, &json!(1800))
    );
    let begin = NOW.load(Ordering::SeqCst);
    let view = fixture.unused(id, begin + 1260).await;
    assert!(!view["idle_stop"]["stop_at"].is_null());
    let view = fixture.patch(id, json!({ "idle_stop": null })).await.expect(200).body;
    assert_eq!(view["idle_stop"], Value::Null);
    assert!(!fixture.app.reconcile_idle_stop(id).await.unwrap(), "it is not watched");
    assert_eq!(fixture.causes(id).await, ["announced", "settings_changed", "announced", "settings_changed"]);
    let list = fixture
        .member()
        .get(&format!("/v1/instances/{id}/events?type=instance.updated"))
        .await
        .expect(200)
        .body;
    assert_eq!(list["items"][0]["data"]["changed"], json!(["idle_stop"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_users_command_takes_the_announcement_back() {
    let fixture = Fixture::watched().await;
    let id = fixture.idle_instance().await;
    fixture.unused(id, 460).await;
    fixture.act(id, "restart").await;
    assert_eq!(fixture.causes(id).await, ["announced", "not_running"]);
    let view = fixture.member().get(&format!("/v1/instances/{id}")).await.expect(200).body;
    assert_eq!((&view["state"], &view["idle_stop"]["stop_at"]), (&json!("starting"), &Value::Null));
    // evaluated while it does not run
    fixture.used(1200, 0.01).await;
    assert_eq!(fixture.evaluate(id).await["state"], "starting");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_replicas_one_stops_an_instance() {
    let fixture = Fixture::watched().await;
    let other = Replica::with_clock(&fixture.config, false, Some(clock)).await;
    let id = fixture.idle_instance().await;
    // the other replica may see late that it runs
    while NOW.load(Ordering::SeqCst) < 1500 {
        fixture.used(NOW.load(Ordering::SeqCst) + 20, 0.01).await;
        fixture.reported(&[]).await;
        let (one, two) = tokio::join!(fixture.app.reconcile_idle_stop(id), other.app.reconcile_idle_stop(id));
        assert!(one.unwrap() || two.unwrap());
    }
    let list = fixture.member().get(&format!("/v1/instances/{id}/events?limit=200")).await.expect(200).body;
    let types: Vec<&str> =
        list["items"].as_array().unwrap().iter().map(|event| event["type"].as_str().unwrap()).collect();
    for once in ["instance.idle_stop_announced", "instance.stop_requested"] {
        assert_eq!(types.iter().filter(|known| **known == once).count(), 1, "{types:?}");
    }
    other.process.shutdown.begin();
}

#[tokio::test(flavor = "multi_thread")]
async fn with_prometheus_the_gpu_counts() {
    NOW.store(100, Ordering::SeqCst);
    let prometheus = FakePrometheus::start().await;
    let config: PrometheusConfig =
        serde_json::from_value(json!({ "url": prometheus.url, "bearer_token": TOKEN, "timeout_ms": 1000 }))
            .unwrap();
    let fixture = Fixture::with_prometheus(SETUP, config).await;
    let id = fixture.idle_instance().await;
    let (namespace, pod) = (fixture.tenant.k8s_name(), format!("{}-1", id.k8s_name()));
    let cpu = [("namespace", namespace.as_str()), ("pod", pod.as_str()), ("container", "main")];
    let gpu = [("exported_namespace", namespace.as_str()), ("exported_pod", pod.as_str()), ("gpu", "0")];
    let (begin, end) = (EPOCH, EPOCH + 10_000);
    prometheus.add("container_cpu_usage_seconds_total", &cpu, begin, end, |_| 7.0);
    let evaluate_until = async |to: i64| {
        let mut view = Value::Null;
        while NOW.load(Ordering::SeqCst) < to {
            NOW.fetch_add(60, Ordering::SeqCst);
            view = fixture.evaluate(id).await;
        }
        view
    };
    // of the GPU nothing is known
    let view = evaluate_until(2000).await;
    assert_eq!((&view["state"], &view["idle_stop"]["stop_at"]), (&json!("running"), &Value::Null));
    // it is busy until second 3000
    prometheus.add("DCGM_FI_DEV_GPU_UTIL", &gpu, begin, end, |at| if at < EPOCH + 3000 { 80.0 } else { 2.0 });
    let view = evaluate_until(3200).await;
    assert_eq!((&view["state"], &view["idle_stop"]["stop_at"]), (&json!("running"), &Value::Null));
    let view = evaluate_until(3500).await;
    assert!(!view["idle_stop"]["stop_at"].is_null(), "{view}");
    assert_eq!(fixture.idle_events(id).await[0]["data"]["gpu_percent"], 2.0);
    // Prometheus is away
    prometheus.set(Fault::Nonsense);
    let view = evaluate_until(4500).await;
    assert_eq!((&view["state"], &view["idle_stop"]["stop_at"]), (&json!("running"), &Value::Null));
    prometheus.set(Fault::None);
    let view = evaluate_until(4500 + 1200).await;
    assert_eq!(view["state"], "stopping", "{view}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_workers_stop_an_idle_instance() {
    let fixture = Fixture::with(Setup { workers: false, ..Setup::default() }).await;
    let mut config = fixture.config.clone();
    config.idle = IdleConfig {
        notice_seconds: 2,
        min_after_seconds: 3,
        check_seconds: 1,
        report_seconds: 1,
        ..IdleConfig::default()
    };
    let replica = Replica::start(&config, true).await;
    let member = Client::new(&replica.base).token(&fixture.issuer.user(fixture.tenant, Role::Member));
    let mut order = Fixture::order();
    order["idle_stop"] = json!({ "after_seconds": 3 });
    let id: InstanceId = member.post("/v1/instances", order).await.expect(202).str("id").parse().unwrap();
    let unit = fixture.unit_of(id).await;
    pods::give(&fixture, id, 1, "sleep 600").await;
    fixture.operator.ready_since(&unit, Timestamp::now().as_second() - EPOCH).await;
    fixture.in_state(id, "running").await;
    let seen = async |what: &str, test: fn(&Value) -> bool| {
        eventually(what, async || {
            fixture.reported(&[]).await;
            let view = member.get(&format!("/v1/instances/{id}")).await.expect(200).body;
            test(&view).then_some(view)
        })
        .await
    };
    seen("the stop is announced", |view| !view["idle_stop"]["stop_at"].is_null()).await;
    let view = seen("the instance is stopped", |view| view["state"] == "stopping").await;
    assert_eq!(view["reason"], "idle_stopped");
    let events = fixture.idle_events(id).await;
    let time = |value: &Value| value.as_str().unwrap().parse::<Timestamp>().unwrap();
    let announced = &events[0];
    let notice = time(&announced["data"]["stop_at"]).duration_since(time(&announced["time"]));
    assert!(notice.as_secs_f64() > 1.9, "{events:?}");
    replica.process.shutdown.begin();
}

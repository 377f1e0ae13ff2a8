//! Secrets of instances: they reach the container and nothing else, follow the instance, and leave the cluster with it.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
};

use auth::Role;
use base64::{Engine, engine::general_purpose::STANDARD};
use encryption::EncryptionKey;
use ids::{InstanceId, TenantId};
use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams, LogParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use testkit::{Response, eventually};

use crate::{
    harness::{Fixture, OTHER_CLUSTER, Replica, Setup, start_cluster},
    holds::ago,
    operator::Operator,
    pods,
};

/// A value that is nowhere else.
const VALUE: &str = "hunter2-is-the-value-of-this-secret";

/// An order with two secrets, one of which has the name of a variable of the service.
fn order() -> Value {
    let mut order = Fixture::order();
    order["secrets"] = json!([{ "name": "HF_TOKEN", "value": VALUE }, { "name": "MODE", "value": "secret" }]);
    order
}

impl Fixture {
    /// The Secrets of the tenant's namespace.
    pub(crate) fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.kube.clone(), &self.tenant.k8s_name())
    }

    /// Their names.
    pub(crate) async fn secret_names(&self) -> Vec<String> {
        let all = self.secrets().list(&ListParams::default()).await.unwrap();
        all.items.iter().map(ResourceExt::name_any).collect()
    }

    /// The values of the Secret that the unit of an instance names.
    async fn values(&self, id: InstanceId) -> Value {
        let unit = self.unit_of(id).await;
        let name = self.operator.unit(&unit).await.spec.instance.unwrap().secret_name.unwrap();
        let data = self.secrets().get(&name).await.unwrap().data.unwrap_or_default();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        data.into_iter()
            .map(|(name, value)| (name, json!(text(value.0))))
            .collect::<serde_json::Map<_, _>>()
            .into()
    }

    /// Stops an instance that runs.
    async fn stopped(&self, id: InstanceId) {
        let unit = self.unit_of(id).await;
        self.act(id, "stop").await;
        self.emptied(&unit).await;
        self.operator.ended(&unit, 160).await;
        self.in_state(id, "stopped").await;
    }
}

/// The names of the secrets of an instance.
fn names(answer: &Response) -> Vec<&str> {
    answer.body["secrets"].as_array().unwrap().iter().map(|secret| secret["name"].as_str().unwrap()).collect()
}

/// Everything that is logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The tables of the service that have the value, in clear.
async fn tables_with_the_value(fixture: &Fixture) -> Vec<String> {
    let mut admin = fixture.db.admin().await;
    let tables = "select tablename::text from pg_tables where schemaname = 'gpu'";
    let tables: Vec<String> = sqlx::query_scalar(tables).fetch_all(&mut admin).await.unwrap();
    assert!(tables.iter().any(|table| table == "instance_secrets"));
    let mut found = Vec::new();
    for table in tables {
        let hex: String = VALUE.bytes().map(|byte| format!("{byte:02x}")).collect();
        let statement = format!("select count(*) from gpu.{table} t where t::text like any ($1)");
        let patterns = [VALUE.to_owned(), STANDARD.encode(VALUE), hex].map(|text| format!("%{text}%"));
        let rows: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(statement))
            .bind(&patterns[..])
            .fetch_one(&mut admin)
            .await
            .unwrap();
        if rows > 0 {
            found.push(table);
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_reaches_the_container_and_is_nowhere_else() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    tracing::subscriber::set_global_default(subscriber).expect("each test has a process of its own");
    let fixture = Fixture::start().await;
    let member = fixture.member();
    let mut answers = vec![member.post("/v1/instances/quote", order()).await.expect(200)];
    let made = member.post("/v1/instances", order()).await.expect(202);
    assert_eq!(names(&made), ["HF_TOKEN", "MODE"]);
    let id: InstanceId = made.str("id").parse().unwrap();

    let unit = fixture.unit_of(id).await;
    let spec = fixture.operator.unit(&unit).await.spec;
    let instance = spec.instance.clone().unwrap();
    let name = format!("{}-1", id.k8s_name());
    assert_eq!(instance.secret_name.as_ref(), Some(&name));
    assert!(instance.env.iter().all(|variable| variable.name != "MODE"), "it would replace the secret");
    let secret = fixture.secrets().get(&name).await.unwrap();
    let label = |label: &str| secret.labels().get(label).cloned();
    assert_eq!(label("atelier.dev/instance"), Some(id.k8s_name()));
    assert_eq!(label("atelier.dev/tenant"), Some(fixture.tenant.k8s_name()));

    // the pod that the operator makes of it
    let pod: Pod = serde_json::from_value(json!({
        "metadata": { "name": "pod" },
        "spec": { "restartPolicy": "Never", "containers": [{
            "name": "main", "image": "shell:1", "command": ["sh", "-c", "echo $HF_TOKEN $MODE"],
            "env": instance.env, "envFrom": [{ "secretRef": { "name": name } }],
        }] },
    }))
    .unwrap();
    eventually("the pod is created", async || {
        pods::of(&fixture).create(&PostParams::default(), &pod).await.ok()
    })
    .await;
    eventually("the container has the values", async || {
        let text = pods::of(&fixture).logs("pod", &LogParams::default()).await.ok()?;
        (text == format!("{VALUE} secret\n")).then_some(())
    })
    .await;

    fixture.operator.ready(&unit).await;
    answers.push(fixture.in_state(id, "running").await);
    let path = format!("/v1/instances/{id}");
    for path in [
        path.clone(),
        "/v1/instances".into(),
        format!("{path}/events"),
        "/v1/events".into(),
        format!("/v1/instance-operations/{}", made.str("operation_id")),
    ] {
        answers.push(member.get(&path).await.expect(200));
    }
    let admin = fixture.admin();
    answers.push(admin.get(&format!("/v1/platform-instances/{id}")).await.expect(200));
    assert_eq!(names(&answers[answers.len() - 1]), ["HF_TOKEN", "MODE"]);
    fixture.stopped(id).await;
    let kept = json!({ "secrets": [{ "name": "MODE" }, { "name": "HF_TOKEN", "value": VALUE }] });
    answers.push(fixture.change(id, kept).await.expect(200));
    answers.push(made);

    let (log, encoded) = (String::from_utf8(log.0.lock().unwrap().clone()).unwrap(), STANDARD.encode(VALUE));
    assert!(log.contains(&id.to_string()), "the log is not captured");
    let texts = answers.iter().map(|answer| answer.text.clone()).chain([json!(spec).to_string(), log]);
    for text in texts {
        let found = [VALUE, &encoded].into_iter().find_map(|value| text.find(value));
        let around = found.map(|at| &text[at.saturating_sub(300)..at]);
        assert_eq!(around, None, "the value is here");
    }
    assert_eq!(tables_with_the_value(&fixture).await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_in_the_cluster_from_the_start_to_the_stop() {
    let fixture = Fixture::start().await;
    let mut stopped = order();
    stopped["start"] = json!(false);
    let id = fixture.ordered(stopped).await;
    fixture.in_state(id, "stopped").await;
    for attempt in 1..=2 {
        fixture.act(id, "start").await;
        let values = fixture.values(id).await;
        assert_eq!(values, json!({ "HF_TOKEN": VALUE, "MODE": "secret" }));
        assert_eq!(fixture.secret_names().await, [format!("{}-{attempt}", id.k8s_name())]);
        fixture.brought_up(id).await;
        fixture.stopped(id).await;
        assert_eq!(fixture.secret_names().await, [""; 0]);
    }
    // a restart keeps it
    fixture.act(id, "start").await;
    fixture.brought_up(id).await;
    fixture.act(id, "restart").await;
    let unit = fixture.unit_of(id).await;
    eventually("the restart is requested", async || {
        (fixture.operator.unit(&unit).await.spec.instance?.restart == 1).then_some(())
    })
    .await;
    assert_eq!(fixture.secret_names().await, [format!("{}-3", id.k8s_name())]);
    fixture.brought_up(id).await;
    let deletion = fixture.member().delete(&format!("/v1/instances/{id}")).await.expect(202);
    assert_eq!(names(&deletion), ["HF_TOKEN", "MODE"]);
    fixture.emptied(&unit).await;
    fixture.operator.ended(&unit, 160).await;
    fixture.gone(id).await;
    assert_eq!(fixture.secret_names().await, [""; 0]);
    let mut admin = fixture.db.admin().await;
    let rows: i64 =
        sqlx::query_scalar("select count(*) from gpu.instance_secrets").fetch_one(&mut admin).await.unwrap();
    assert_eq!(rows, 0, "the values end with the instance");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_secrets_of_a_stopped_instance_are_replaced() {
    let fixture = Fixture::start().await;
    let id = fixture.ordered(order()).await;
    fixture.brought_up(id).await;
    let refused = fixture.change(id, json!({ "secrets": [] })).await.expect_problem(409, "instance-state");
    assert_eq!(refused.body["state"], "running");
    let running = fixture.member().get(&format!("/v1/instances/{id}")).await.expect(200);
    fixture.stopped(id).await;

    // nothing changes
    let before = fixture.member().get(&format!("/v1/instances/{id}")).await.expect(200);
    let keep = json!({ "secrets": [{ "name": "MODE" }, { "name": "HF_TOKEN" }] });
    let kept = fixture.change(id, keep).await.expect(200);
    assert_eq!(kept.header("etag"), before.header("etag"));

    let change = json!({ "secrets": [{ "name": "MODE" }, { "name": "ADDED", "value": "new" }] });
    let changed = fixture.change(id, change).await.expect(200);
    assert_eq!(names(&changed), ["ADDED", "MODE"]);
    assert_eq!(changed.body["secrets"][1], running.body["secrets"][1], "kept, with its time");
    let change =
        json!({ "secrets": [{ "name": "MODE", "value": "other" }, { "name": "ADDED", "value": null }] });
    let changed = fixture.change(id, change).await.expect(200);
    assert_ne!(changed.body["secrets"][1], running.body["secrets"][1]);
    let events = fixture.events(&format!("/v1/instances/{id}/events")).await;
    let updates: Vec<&Value> = events.iter().filter(|event| event["type"] == "instance.updated").collect();
    assert_eq!(updates.len(), 2);
    assert!(updates.iter().all(|event| event["data"]["changed"] == json!(["secrets"])), "{updates:?}");

    fixture.act(id, "start").await;
    assert_eq!(fixture.values(id).await, json!({ "ADDED": "new", "MODE": "other" }));
    fixture.brought_up(id).await;
    fixture.stopped(id).await;
    assert_eq!(names(&fixture.change(id, json!({ "secrets": [] })).await.expect(200)), [""; 0]);
    fixture.act(id, "start").await;
    let unit = fixture.unit_of(id).await;
    let instance = fixture.operator.unit(&unit).await.spec.instance.unwrap();
    assert_eq!((instance.secret_name, instance.attempt), (None, 3));
    assert!(instance.env.iter().any(|variable| variable.name == "MODE"), "that of the service again");
    assert_eq!(fixture.secret_names().await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_checked_and_nothing_of_them_is_repeated() {
    let fixture = Fixture::with(Setup { units: 0, workers: false, ..Setup::default() }).await;
    let member = fixture.member();
    let id = fixture.ordered({
        let mut order = Fixture::stopped_order();
        order["env"] = json!([{ "name": "LEVEL", "value": "1" }]);
        order["secrets"] = json!([{ "name": "OLD", "value": "x" }]);
        order
    });
    let id = id.await;
    for (field, value, pointer) in [
        ("env", json!([{ "name": "A" }, { "name": "HF_TOKEN", "value": VALUE }]), "/env/1/value"),
        ("env", json!([{ "name": "A", "value": "postgres://me:hunter2@db/x" }]), "/env/0/value"),
        ("secrets", json!([{ "name": "9", "value": VALUE }]), "/secrets/0/name"),
        ("secrets", json!([{ "name": "ATELIER_X", "value": VALUE }]), "/secrets/0/name"),
        (
            "secrets",
            json!([{ "name": "A", "value": VALUE }, { "name": "A", "value": VALUE }]),
            "/secrets/1/name",
        ),
        ("secrets", json!([{ "name": "A", "value": "x".repeat(32 * 1024 + 1) }]), "/secrets/0/value"),
        ("secrets", json!([{ "name": "NEW" }]), "/secrets/0/value"),
        ("secrets", json!([VALUE]), "/secrets"),
        ("secrets", json!([{ "name": "A", "value": [VALUE] }]), "/secrets"),
    ] {
        let mut order = Fixture::stopped_order();
        order[field] = value.clone();
        let answers = [
            member.post("/v1/instances", order.clone()).await,
            member.post("/v1/instances/quote", order).await,
            fixture.change(id, json!({ field: value })).await,
        ];
        for answer in answers {
            let refused = answer.expect_problem(422, "invalid-field");
            assert_eq!(refused.body["errors"][0]["pointer"], pointer, "{}", refused.text);
            assert!(!refused.text.contains("hunter2"), "{}", refused.text);
        }
    }
    // a name is in one of both lists, also if only one of them changes
    for (change, pointer) in [
        (json!({ "secrets": [{ "name": "LEVEL", "value": "x" }] }), "/secrets/0/name"),
        (json!({ "env": [{ "name": "OLD", "value": "x" }] }), "/env/0/name"),
    ] {
        let refused = fixture.change(id, change).await.expect_problem(422, "invalid-field");
        assert_eq!(refused.body["errors"][0]["pointer"], pointer);
    }
    let moved =
        json!({ "env": [{ "name": "OLD", "value": "x" }], "secrets": [{ "name": "LEVEL", "value": "x" }] });
    assert_eq!(names(&fixture.change(id, moved).await.expect(200)), ["LEVEL"]);

    // a repeated request is known by its secrets too
    let mut order = Fixture::stopped_order();
    order["secrets"] = json!([{ "name": "A", "value": VALUE }]);
    let keyed = member.key("once");
    let first = keyed.post("/v1/instances", order.clone()).await.expect(202);
    let again = keyed.post("/v1/instances", order.clone()).await.expect(202);
    assert_eq!((again.str("id"), again.header("idempotency-replayed")), (first.str("id"), Some("true")));
    order["secrets"][0]["value"] = json!("another");
    keyed.post("/v1/instances", order).await.expect_problem(422, "idempotency-key-reused");
    let _ = fixture.change(id, json!({ "secrets": [] })).await.expect(200);
    let mut admin = fixture.db.admin().await;
    let rows: Vec<String> =
        sqlx::query_scalar("select name from gpu.instance_secrets").fetch_all(&mut admin).await.unwrap();
    assert_eq!(rows, ["A"], "a quote or a refused request stored something");
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_see_no_values_and_nothing_of_other_tenants() {
    let fixture = Fixture::with(Setup { units: 0, workers: false, ..Setup::default() }).await;
    let id = fixture.ordered(order()).await;
    let other = TenantId::new();
    let stranger = fixture.user(other, Role::Owner);
    stranger.get(&format!("/v1/instances/{id}")).await.expect_problem(404, "not-found");
    let change = json!({ "secrets": [] });
    stranger.patch(&format!("/v1/instances/{id}"), "*", change).await.expect_problem(404, "not-found");
    for (tenant, seen) in [(fixture.tenant, 2), (other, 0)] {
        let mut tx = fixture.service_db.tenant(tenant).await.unwrap();
        let names: Vec<String> =
            sqlx::query_scalar("select name from gpu.instance_secrets").fetch_all(&mut *tx).await.unwrap();
        assert_eq!(names.len(), seen);
        let deleted =
            sqlx::query("delete from gpu.instance_secrets where name = 'MODE'").execute(&mut *tx).await;
        assert_eq!(deleted.unwrap().rows_affected(), u64::from(seen > 0));
        let read = sqlx::query("select ciphertext from gpu.instance_secrets").execute(&mut *tx).await;
        let denied = read.unwrap_err().into_database_error().unwrap();
        assert_eq!(denied.code().as_deref(), Some("42501"), "{denied}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_cannot_be_decrypted_fails_the_start_with_a_reason() {
    let mut fixture = Fixture::with(Setup { workers: false, ..Setup::default() }).await;
    let mut stopped = order();
    stopped["start"] = json!(false);
    let ids = [fixture.ordered(stopped.clone()).await, fixture.ordered(stopped).await];
    // another key; and with the key, the value of another instance
    let (key, swapped) = (fixture.config.encryption_keys[0].key.clone(), "update gpu.instance_secrets s
        set ciphertext = o.ciphertext from gpu.instance_secrets o where o.name = s.name and o.instance_id <> s.instance_id");
    fixture.config.encryption_keys[0].key = STANDARD.encode([9; 32]).into();
    let stranger = Replica::start(&fixture.config, true).await;
    unreadable(&fixture, ids[0]).await;
    stranger.process.shutdown.begin();
    // a rotated key: the old one still decrypts
    fixture.config.encryption_keys[0] =
        EncryptionKey { id: "2".into(), key: STANDARD.encode([9; 32]).into() };
    fixture.config.encryption_keys.push(EncryptionKey { id: "1".into(), key });
    let _rotated = Replica::start(&fixture.config, true).await;
    fixture.act(ids[0], "start").await;
    assert_eq!(fixture.values(ids[0]).await["HF_TOKEN"], VALUE);
    assert_eq!(fixture.execute(swapped).await, 4);
    unreadable(&fixture, ids[1]).await;
    // written again
    let change = json!({ "secrets": [{ "name": "HF_TOKEN", "value": "again" }] });
    let _ = fixture.change(ids[1], change).await.expect(200);
    fixture.act(ids[1], "start").await;
    assert_eq!(fixture.values(ids[1]).await, json!({ "HF_TOKEN": "again" }));
}

/// Starts an instance, which fails because of its secrets.
async fn unreadable(fixture: &Fixture, id: InstanceId) {
    let operation = fixture.act(id, "start").await;
    let ended = fixture.ended(&operation).await;
    assert_eq!(
        (&ended["state"], &ended["problem"]["reason"]),
        (&json!("failed"), &json!("secret_unreadable"))
    );
    let stopped = fixture.in_state(id, "stopped").await;
    assert_eq!(stopped.str("reason"), "secret_unreadable");
    assert!(stopped.str("message").contains("Write all secrets"), "{}", stopped.text);
    assert!(fixture.neighbours.claim_of(id).is_none(), "the unit is kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_keeps_the_unit_without_the_secrets() {
    let fixture = Fixture::start().await;
    let id = fixture.ordered(order()).await;
    let unit = fixture.unit_of(id).await;
    fixture.operator.ready_since(&unit, ago(60)).await;
    fixture.in_state(id, "running").await;
    let _ = fixture.stop_and_hold(id, json!({ "for_seconds": 600 })).await.expect(202);
    fixture.emptied(&unit).await;
    fixture.operator.ended(&unit, ago(0)).await;
    fixture.held(id).await;
    assert_eq!(fixture.secret_names().await, [""; 0]);
    let _ = fixture.change(id, json!({ "secrets": [{ "name": "NEW", "value": "x" }] })).await.expect(200);
    fixture.act(id, "start").await;
    assert_eq!(fixture.unit_of(id).await, unit);
    assert_eq!(fixture.values(id).await, json!({ "NEW": "x" }));
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_follow_the_instance_to_another_cluster() {
    let mut fixture = Fixture::with(Setup { units: 1, workers: false, ..Setup::default() }).await;
    let folder = tempfile::tempdir().unwrap();
    let (other, kube) = start_cluster(folder.path()).await;
    let config = crds::ClusterConfig { kubeconfig: Some(other.kubeconfig_path().to_owned()), context: None };
    fixture.config.clusters.insert(OTHER_CLUSTER.into(), config);
    let replica = Replica::start(&fixture.config, true).await;
    let id = fixture.ordered(order()).await;
    fixture.brought_up(id).await;
    let unit = fixture.unit_of(id).await;
    let far: Api<Secret> = Api::namespaced(kube.clone(), &fixture.tenant.k8s_name());
    assert_eq!(fixture.secret_names().await.len(), 1);

    // its node is lost, and the next unit is in the other cluster
    fixture.neighbours.withdraw_unit(&unit);
    let next = ids::UnitId::new();
    Operator::new(kube.clone()).make_unit(&next.k8s_name()).await;
    fixture.neighbours.add_unit_in_other(next);
    let elsewhere = json!(fixture.neighbours.other_datacenter).to_string();
    let move_order = "update gpu.instances set spec = jsonb_set(spec, '{datacenter_id}', $1::jsonb)";
    sqlx::query(move_order).bind(elsewhere).execute(&mut fixture.db.admin().await).await.unwrap();
    fixture.operator.node_lost(&unit, 150).await;
    fixture.emptied(&unit).await;
    fixture.operator.node_back(&unit).await;
    assert_eq!(Fixture::unit_in(&kube, id).await, next.k8s_name());
    let names: Vec<String> =
        far.list(&ListParams::default()).await.unwrap().items.iter().map(ResourceExt::name_any).collect();
    assert_eq!(names, [format!("{}-2", id.k8s_name())]);
    assert_eq!(fixture.secret_names().await, [""; 0]);
    replica.process.shutdown.begin();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_a_delayed_call_writes_is_deleted_some_time_after_the_end() {
    let fixture = Fixture::with(Setup { units: 1, workers: false, ..Setup::default() }).await;
    let id = fixture.ordered(order()).await;
    let until = async |what: &str, is_so: &dyn Fn(&Value) -> bool| {
        let (path, member) = (format!("/v1/instances/{id}"), fixture.member());
        eventually(what, async || {
            fixture.reconcile(id).await;
            is_so(&member.get(&path).await.body).then_some(())
        })
        .await;
    };
    until("starting", &|body| body["state"] == "starting").await;
    let unit = fixture.unit_of(id).await;
    fixture.operator.ready(&unit).await;
    until("running", &|body| body["state"] == "running").await;
    fixture.act(id, "stop").await;
    eventually("the unit is emptied", async || {
        fixture.reconcile(id).await;
        fixture.operator.unit(&unit).await.spec.instance.is_none().then_some(())
    })
    .await;
    fixture.operator.ended(&unit, 160).await;
    until("stopped", &|body| body["state"] == "stopped").await;
    assert_eq!(fixture.secret_names().await, [""; 0]);

    let name = format!("{}-1", id.k8s_name());
    let late = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name }, "data": { "A": "eA==" } });
    let params = PatchParams::apply("atelier-gpu").force();
    fixture.secrets().patch(&name, &params, &Patch::Apply(&late)).await.unwrap();
    let due = "update gpu.instances set wake_at = now() - interval '1 second' where wake_at is not null";
    assert_eq!(fixture.execute(due).await, 1);
    fixture.reconcile(id).await;
    assert_eq!(fixture.secret_names().await, [""; 0]);
    let mut admin = fixture.db.admin().await;
    let objects: Value =
        sqlx::query_scalar("select secret_objects from gpu.instances").fetch_one(&mut admin).await.unwrap();
    assert_eq!(objects, json!([]), "nothing is remembered any more");
    assert_eq!(fixture.execute(due).await, 0, "once is enough");

    // the Secret of a running instance is deleted by hand: nothing fails
    fixture.act(id, "start").await;
    until("starting", &|body| body["state"] == "starting").await;
    fixture.secrets().delete(&format!("{}-2", id.k8s_name()), &DeleteParams::default()).await.unwrap();
    fixture.act(id, "stop").await;
    eventually("the unit is emptied", async || {
        fixture.reconcile(id).await;
        fixture.operator.unit(&unit).await.spec.instance.is_none().then_some(())
    })
    .await;
    fixture.operator.ended(&unit, 260).await;
    until("stopped", &|body| body["state"] == "stopped").await;
}

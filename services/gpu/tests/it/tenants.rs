//! The end of a tenant, and what administrators do to instances of tenants.

use ids::InstanceId;
use reqwest::Method;
use serde_json::{Value, json};
use testkit::{Response, eventually};

use crate::harness::{Fixture, Setup};

impl Fixture {
    /// Has the service carry out the tenant's state, as the identity service does.
    pub(crate) async fn put_tenant(&self, generation: i64, state: &str, stop_instances: bool) -> Value {
        let order = json!({
            "generation": generation, "state": state, "stop_instances": stop_instances, "delete_storages": false,
        });
        self.identity().put(&format!("/internal/v1/tenants/{}", self.tenant), order).await.expect(200).body
    }

    /// The pod ends, once the instance was taken out of its unit.
    async fn pod_ends(&self, unit: &str) {
        self.emptied(unit).await;
        self.operator.ended(unit, 200).await;
    }
}

fn done() -> Value {
    json!({ "done": true, "remaining": {} })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_suspended_tenant_starts_nothing() {
    let fixture = Fixture::with(Setup { units: 2, ..Setup::default() }).await;
    let running = fixture.running().await;
    let starting = fixture.ordered(Fixture::order()).await;
    let unit = fixture.unit_of(starting).await;
    let progress = fixture.put_tenant(1, "suspended", false).await;
    assert_eq!(progress, json!({ "done": false, "remaining": { "instances": 1 } }));
    fixture.pod_ends(&unit).await;
    let stopped = fixture.in_state(starting, "stopped").await;
    assert_eq!(stopped.str("reason"), "tenant_suspended", "{}", stopped.text);
    let operation = fixture.ended(stopped.str("operation_id")).await;
    assert_eq!(
        (&operation["state"], &operation["problem"]["reason"]),
        (&json!("failed"), &json!("tenant_suspended"))
    );
    assert_eq!(fixture.put_tenant(1, "suspended", false).await, done());
    assert_eq!(fixture.in_state(running, "running").await.body["reason"], Value::Null);

    fixture.member().post("/v1/instances", Fixture::order()).await.expect_problem(403, "tenant-suspended");
    for (id, what) in [(starting, "start"), (running, "restart")] {
        let path = format!("/v1/instances/{id}/{what}");
        fixture.member().post(&path, Value::Null).await.expect_problem(403, "tenant-suspended");
    }
    // an order that comes late changes nothing
    assert_eq!(fixture.put_tenant(0, "active", false).await, done());
    fixture.member().post("/v1/instances", Fixture::order()).await.expect_problem(403, "tenant-suspended");

    let unit = fixture.unit_of(running).await;
    assert_eq!(fixture.put_tenant(2, "suspended", true).await["done"], false);
    fixture.pod_ends(&unit).await;
    fixture.in_state(running, "stopped").await;
    assert_eq!(fixture.put_tenant(2, "suspended", true).await, done());
    assert_eq!(fixture.usage(running).await["total_seconds"], 100, "the run is closed");
    assert_eq!(fixture.neighbours.claims(), 0);

    assert_eq!(fixture.put_tenant(3, "active", false).await, done());
    fixture.act(running, "start").await;
    fixture.brought_up(running).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_tenant_leaves_nothing() {
    let fixture = Fixture::with(Setup { units: 3, ..Setup::default() }).await;
    let [running, starting, stopped] = [
        fixture.running().await,
        fixture.ordered(Fixture::order()).await,
        fixture.ordered(Fixture::order()).await,
    ];
    let mut units = Vec::new();
    for id in [running, starting, stopped] {
        units.push(fixture.unit_of(id).await);
    }
    fixture.act(stopped, "stop").await;
    fixture.pod_ends(&units[2]).await;
    fixture.in_state(stopped, "stopped").await;
    let progress = fixture.put_tenant(1, "deleting", false).await;
    assert_eq!(progress, json!({ "done": false, "remaining": { "instances": 3 } }));
    for unit in &units[..2] {
        fixture.pod_ends(unit).await;
    }
    eventually("nothing is left", async || {
        (fixture.put_tenant(1, "deleting", false).await == done()).then_some(())
    })
    .await;
    for id in [running, starting, stopped] {
        fixture.member().get(&format!("/v1/instances/{id}")).await.expect_problem(404, "not-found");
    }
    assert_eq!(fixture.neighbours.claims(), 0);
    let mut admin = fixture.db.admin().await;
    let open: i64 = sqlx::query_scalar("select count(*) from gpu.runs where ended_at is null")
        .fetch_one(&mut admin)
        .await
        .unwrap();
    assert_eq!(open, 0, "no run is open");
    fixture.member().post("/v1/instances", Fixture::order()).await.expect_problem(403, "tenant-suspended");
}

/// A start that has seen the tenant active is stopped by the order that comes right after it: they wait for each other.
#[tokio::test(flavor = "multi_thread")]
async fn no_start_slips_past_a_suspension() {
    let fixture = Fixture::with(Setup { units: 8, ..Setup::default() }).await;
    let orders = async {
        let order = || async { fixture.member().post("/v1/instances", Fixture::order()).await.status };
        tokio::join!(order(), order(), order(), order(), order(), order(), order(), order())
    };
    let (_, _) = tokio::join!(orders, fixture.put_tenant(1, "deleting", false));
    let _ = fixture.put_tenant(1, "deleting", false).await;
    let page = fixture.member().get("/v1/instances").await.expect(200);
    let states: Vec<_> =
        page.body["items"].as_array().unwrap().iter().map(|item| item["state"].clone()).collect();
    assert!(states.iter().all(|state| state == "deleting"), "{states:?}");
}

async fn act(fixture: &Fixture, method: Method, id: InstanceId, path: &str) -> Response {
    fixture.admin().send(method, &format!("/v1/platform-instances/{id}{path}"), &Value::Null).await
}

#[tokio::test(flavor = "multi_thread")]
async fn administrators_stop_and_delete_any_tenants_instances_and_say_why() {
    let fixture = Fixture::start().await;
    let id = fixture.running().await;
    let unit = fixture.unit_of(id).await;
    let listed = format!("/v1/platform-instances?tenant_id={}&state=running", fixture.tenant);
    let page = fixture.admin().get(&listed).await.expect(200);
    assert_eq!(page.body["items"][0]["id"], json!(id));
    assert_eq!(page.body["items"][0]["tenant_id"], json!(fixture.tenant));
    let others = format!("/v1/platform-instances?tenant_id={}", ids::TenantId::new());
    assert_eq!(fixture.admin().get(&others).await.expect(200).body["items"], json!([]));

    for (method, path) in [
        (Method::GET, ""),
        (Method::GET, "/actions"),
        (Method::POST, "/stop?reason=x"),
        (Method::DELETE, "?reason=x"),
    ] {
        let path = format!("/v1/platform-instances/{id}{path}");
        fixture.member().send(method, &path, &Value::Null).await.expect_problem(403, "forbidden");
    }
    for reason in ["", "?reason=", "?reason=%20", "?reason=a%0ab"] {
        let refused = act(&fixture, Method::POST, id, &format!("/stop{reason}")).await;
        assert_eq!(refused.status, 422, "{reason}: {}", refused.text);
    }
    let unknown = act(&fixture, Method::POST, InstanceId::new(), "/stop?reason=x").await;
    unknown.expect_problem(404, "not-found");

    let stopped = act(&fixture, Method::POST, id, "/stop?reason=mines%20coins").await.expect(202);
    assert_eq!((stopped.str("state"), stopped.str("reason")), ("stopping", "stopped_by_administrator"));
    fixture.pod_ends(&unit).await;
    let seen = fixture.in_state(id, "stopped").await;
    assert!(seen.str("message").contains("mines coins"), "{}", seen.text);
    // it is stopped: nothing changes, and it is on record
    let _ = act(&fixture, Method::POST, id, "/stop?reason=again").await.expect(202);
    let deleted = act(&fixture, Method::DELETE, id, "?reason=for%20good").await.expect(202);
    assert_eq!(deleted.str("state"), "deleting");
    fixture.gone(id).await;
    act(&fixture, Method::GET, id, "").await.expect_problem(404, "not-found");
    let actions = act(&fixture, Method::GET, id, "/actions").await.expect(200);
    let actions: Vec<_> = actions.body["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|action| (action["action"].as_str().unwrap(), action["reason"].as_str().unwrap()))
        .collect();
    assert_eq!(
        actions,
        [("delete_instance", "for good"), ("stop_instance", "again"), ("stop_instance", "mines coins"),]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_record_of_administrators_cannot_be_changed() {
    let fixture = Fixture::start().await;
    let id = fixture.running().await;
    let _ = act(&fixture, Method::POST, id, "/stop?reason=x").await.expect(202);
    let mut as_tenant = fixture.service_db.tenant(fixture.tenant).await.unwrap();
    let count = "select count(*) from admin_actions";
    let seen: i64 = sqlx::query_scalar(count).fetch_one(&mut *as_tenant).await.unwrap();
    assert_eq!(seen, 0, "only administrators read it");
    for statement in ["delete from admin_actions", "update admin_actions set reason = 'y'"] {
        let mut as_admin = fixture.service_db.admin().await.unwrap();
        assert!(sqlx::query(statement).execute(&mut *as_admin).await.is_err(), "{statement}");
    }
    let mut as_admin = fixture.service_db.admin().await.unwrap();
    let stopped = sqlx::query("update instances set name = 'mine'").execute(&mut *as_admin).await.unwrap();
    assert_eq!(stopped.rows_affected(), 0, "an administrator writes as a tenant only");
}

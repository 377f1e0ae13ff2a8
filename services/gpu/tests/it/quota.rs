//! Quotas: what a tenant may use at a time.

use auth::Role;
use ids::{InstanceId, TenantId};
use serde_json::{Value, json};
use testkit::Response;

use crate::{
    harness::{Fixture, Replica, Setup},
    neighbours::PRICE,
};

impl Fixture {
    async fn limit(&self, limits: Value) -> Response {
        let path = format!("/v1/platform-quotas/{}?reason=trial", self.tenant);
        self.admin().header("if-match", "*").put(&path, limits).await.expect(200)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn administrators_limit_what_a_tenant_uses_at_a_time() {
    let fixture = Fixture::start().await;
    let (admin, member) = (fixture.admin(), fixture.member());
    let none = member.get("/v1/quota").await.expect(200);
    assert_eq!((&none.body["limits"]["gpus"], &none.body["used"]["instances"]), (&Value::Null, &json!(0)));

    let set = fixture.limit(json!({ "instances": 2, "gpus_by_model": { "RTX 3080": 1 } })).await;
    let id = fixture.running().await;
    let quota = member.get("/v1/quota").await.expect(200);
    let used = json!({ "instances": 1, "gpus": { "RTX 3080": 1 }, "cost_per_hour": { "EUR": PRICE } });
    assert_eq!((&quota.body["used"], &quota.body["limits"]["instances"]), (&used, &json!(2)));
    let refused = member.post("/v1/instances", Fixture::order()).await.expect_problem(409, "quota-exceeded");
    assert_eq!(refused.body["quota"], "gpus of RTX 3080");
    assert_eq!(
        (&refused.body["limit"], &refused.body["used"], &refused.body["requested"]),
        (&json!(1), &json!(1), &json!(1))
    );
    let quote = member.post("/v1/instances/quote", Fixture::order()).await.expect(200);
    assert_eq!((&quote.body["starts_now"], &quote.body["reason"]), (&json!(false), &json!("quota_exceeded")));
    // other tenants are not concerned
    let other = fixture.user(TenantId::new(), Role::Owner);
    let _ = other.post("/v1/instances", Fixture::order()).await.expect(202);

    // the GPU counts until the instance has stopped
    let unit = fixture.unit_of(id).await;
    fixture.act(id, "stop").await;
    fixture.emptied(&unit).await;
    member.post("/v1/instances", Fixture::order()).await.expect_problem(409, "quota-exceeded");
    fixture.operator.ended(&unit, 160).await;
    fixture.in_state(id, "stopped").await;
    let second = fixture.ordered(Fixture::order()).await;
    let start = format!("/v1/instances/{id}/start");
    member.post(&start, Value::Null).await.expect_problem(409, "quota-exceeded");
    fixture.in_state(id, "stopped").await;

    // with a higher limit the start is accepted
    let etag = set.header("etag").unwrap();
    let path = format!("/v1/platform-quotas/{}?reason=more", fixture.tenant);
    let changed = admin.header("if-match", etag).put(&path, json!({ "instances": 2 })).await.expect(200);
    admin.header("if-match", etag).put(&path, json!({})).await.expect_problem(412, "changed-meanwhile");
    assert_eq!(changed.body["limits"]["gpus_by_model"], json!({}));
    let _ = member.post(&start, Value::Null).await.expect(202);
    let refused = member.post("/v1/instances", Fixture::order()).await.expect_problem(409, "quota-exceeded");
    assert_eq!(refused.body["quota"], "instances");
    let _ = member.delete(&format!("/v1/instances/{second}")).await.expect(202);

    let list = admin.get("/v1/platform-quotas").await.expect(200);
    assert_eq!(list.body["items"][0]["tenant_id"], json!(fixture.tenant));
    for who in [member, fixture.user(fixture.tenant, Role::Owner)] {
        who.header("if-match", "*").put(&path, json!({})).await.expect_problem(403, "forbidden");
        who.get("/v1/platform-quotas").await.expect_problem(403, "forbidden");
    }
    let _ = admin.delete(&path).await.expect(204);
    admin.delete(&path).await.expect_problem(404, "not-found");
    assert_eq!(admin.get(&path).await.expect(204).text, "");
    assert_eq!(fixture.member().get("/v1/quota").await.expect(200).body["limits"]["instances"], Value::Null);
    assert_eq!(fixture.execute("delete from gpu.admin_actions where action like '%_quota'").await, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_are_checked() {
    let fixture = Fixture::with(Setup { units: 0, workers: false, ..Setup::default() }).await;
    let path = format!("/v1/platform-quotas/{}", fixture.tenant);
    let admin = fixture.admin().header("if-match", "*");
    admin.put(&path, json!({})).await.expect_problem(422, "invalid-field");
    for (pointer, limits) in [
        ("/cost_per_hour/EUR", json!({ "cost_per_hour": { "EUR": "-1" } })),
        ("/cost_per_hour/euro", json!({ "cost_per_hour": { "euro": "1" } })),
        ("/gpus_by_model/", json!({ "gpus_by_model": { "": 1 } })),
        ("/surprise", json!({ "surprise": 1 })),
    ] {
        let refused =
            admin.put(&format!("{path}?reason=x"), limits).await.expect_problem(422, "invalid-field");
        assert_eq!(refused.body["errors"][0]["pointer"], pointer, "{}", refused.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_replicas_do_not_pass_a_limit_together() {
    let fixture = Fixture::with(Setup { units: 0, workers: false, ..Setup::default() }).await;
    // no workers: a start that fails for lack of a unit makes room for another
    let other = Replica::start(&fixture.config, false).await;
    let limit = PRICE.parse::<rust_decimal::Decimal>().unwrap() * rust_decimal::Decimal::from(3);
    fixture.limit(json!({ "cost_per_hour": { "EUR": limit } })).await;
    let clients = [
        fixture.member(),
        testkit::Client::new(&other.base).token(&fixture.issuer.user(fixture.tenant, Role::Member)),
    ];
    let orders = (0..16).map(|n| clients[n % 2].post("/v1/instances", Fixture::order()));
    let answers = futures::future::join_all(orders).await;
    let accepted = answers.iter().filter(|answer| answer.status == 202).count();
    let refused = answers.into_iter().filter(|answer| answer.status != 202);
    let refused = refused.map(|answer| answer.expect_problem(409, "cost-limit-exceeded")).last().unwrap();
    assert_eq!(accepted, 3);
    assert_eq!((&refused.body["limit"], &refused.body["currency"]), (&json!(limit), &json!("EUR")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_held_unit_counts_at_the_price_of_the_hold() {
    let fixture = Fixture::start().await;
    let id = fixture.running().await;
    let unit = fixture.unit_of(id).await;
    let _ = fixture.stop_and_hold(id, json!({ "for_seconds": 600 })).await.expect(202);
    fixture.emptied(&unit).await;
    fixture.operator.ended(&unit, 160).await;
    let price = fixture.held(id).await["hold"]["price_per_hour"].as_str().unwrap().to_owned();
    let used = fixture.member().get("/v1/quota").await.expect(200).body["used"].clone();
    assert_eq!(used["gpus"], json!({ "RTX 3080": 1 }));
    let number = |text: &str| text.parse::<rust_decimal::Decimal>().unwrap();
    assert_eq!(number(used["cost_per_hour"]["EUR"].as_str().unwrap()), number(&price));
    assert!(number(&price) < number(PRICE));
}

/// A start waits until a change of the use of its tenant is committed.
#[tokio::test(flavor = "multi_thread")]
async fn a_start_waits_for_another_that_adds_to_the_use() {
    let fixture = Fixture::with(Setup { units: 0, workers: false, ..Setup::default() }).await;
    fixture.limit(json!({ "instances": 1 })).await;
    let mut other = fixture.db.admin().await;
    let lock = "select pg_advisory_lock(hashtextextended('quota ' || $1, 0))";
    sqlx::query(lock).bind(fixture.tenant.to_string()).execute(&mut other).await.unwrap();
    let member = fixture.member();
    let order = tokio::spawn(async move { member.post("/v1/instances", Fixture::order()).await });
    fixture.db.wait_for_blocked_query().await;
    assert!(!order.is_finished());
    sqlx::query("select pg_advisory_unlock_all()").execute(&mut other).await.unwrap();
    let _ = order.await.unwrap().expect(202);
    let second = fixture.member().post("/v1/instances", Fixture::order()).await;
    second.expect_problem(409, "quota-exceeded");
}

/// The price has risen since the order.
#[tokio::test(flavor = "multi_thread")]
async fn the_price_of_the_unit_counts_in_the_transaction_that_takes_it() {
    let fixture = Fixture::with(Setup { units: 1, workers: false, ..Setup::default() }).await;
    let id: InstanceId = fixture.ordered(Fixture::order()).await;
    let cheap = r#"update gpu.instances set spec = jsonb_set(spec, '{price_per_hour}', '"0.01"')"#;
    assert_eq!(fixture.execute(cheap).await, 1);
    fixture.limit(json!({ "cost_per_hour": { "EUR": "0.1" } })).await;
    let stopped = testkit::eventually("the start has failed", async || {
        fixture.reconcile(id).await;
        let answer = fixture.member().get(&format!("/v1/instances/{id}")).await;
        (answer.body["state"] == "stopped").then_some(answer)
    })
    .await;
    assert_eq!(stopped.body["reason"], "quota_exceeded", "{}", stopped.text);
    let operation = fixture.ended(stopped.str("operation_id")).await;
    assert!(operation["problem"]["type"].as_str().unwrap().ends_with("cost-limit-exceeded"), "{operation}");
    assert_eq!(fixture.neighbours.claims(), 0, "the unit is released");
    let quota = fixture.member().get("/v1/quota").await.expect(200);
    assert_eq!(quota.body["used"], json!({ "instances": 1, "gpus": {}, "cost_per_hour": {} }));
}

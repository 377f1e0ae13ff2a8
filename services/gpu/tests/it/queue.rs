//! Instances that wait for a unit.

use ids::InstanceId;
use serde_json::{Value, json};
use testkit::eventually;

use crate::{
    harness::{Fixture, Setup},
    neighbours::Condition,
};

fn waiting_order() -> Value {
    let mut order = Fixture::order();
    order["wait"] = json!(true);
    order
}

impl Fixture {
    /// The instance once it waits in the queue.
    async fn queued(&self, id: InstanceId) -> Value {
        let path = format!("/v1/instances/{id}");
        let member = self.member();
        eventually("the instance is queued", async || {
            let body = member.get(&path).await.expect(200).body;
            (body["reason"] == "queued").then_some(body)
        })
        .await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_instance_tells_its_place_and_starts_with_the_release() {
    let fixture = Fixture::with(Setup { units: 1, ..Setup::default() }).await;
    let first = fixture.running().await;
    let unit = fixture.unit_of(first).await;
    let made = fixture.member().post("/v1/instances", waiting_order()).await.expect(202);
    let second: InstanceId = made.str("id").parse().unwrap();
    let seen = fixture.queued(second).await;
    assert_eq!(seen["state"], "pending");
    let queue = &seen["queue"];
    assert_eq!(
        (&queue["is_known"], &queue["position"], &queue["length"]),
        (&json!(true), &json!(1), &json!(1))
    );
    assert_eq!(queue["waiting_for"]["gpu_spec"]["name"], crate::neighbours::SPEC);
    assert_eq!(queue["estimate"]["releases"], 3);
    assert_eq!(seen["alternatives"][0]["price_per_hour"], "0.6");
    let list = fixture.member().get("/v1/instances?state=pending").await.expect(200).body;
    assert_eq!(list["items"][0]["queue"]["position"], 1);
    let all = fixture.admin().get("/v1/platform-instances?state=pending").await.expect(200).body;
    assert_eq!(all["items"][0]["queue"]["position"], 1);
    // for the gateway's page
    let route = format!("/internal/v1/routes/{}", second.k8s_name());
    assert_eq!(
        fixture.gateway().get(&route).await.expect(200).body["queue"],
        json!({ "position": 1, "length": 1, "starts_at": "2026-01-01T01:00:00Z" })
    );

    // without the stock service everything else is shown
    fixture.neighbours.be(Condition::Away);
    let seen = fixture.member().get(&format!("/v1/instances/{second}")).await.expect(200).body;
    assert_eq!((&seen["queue"]["is_known"], &seen["queue"]["position"]), (&json!(false), &Value::Null));
    let told = fixture.gateway().get(&route).await.expect(200).body;
    assert_eq!((&told["is_queued"], &told["queue"]), (&json!(true), &Value::Null));
    fixture.neighbours.be(Condition::Well);

    let _ = fixture.act(first, "stop").await;
    fixture.emptied(&unit).await;
    fixture.operator.ended(&unit, 160).await;
    fixture.brought_up(second).await;
    assert_eq!(fixture.ended(made.str("operation_id")).await["state"], "succeeded");
    let seen = fixture.in_state(second, "running").await.body;
    assert_eq!((&seen["queue"], &seen["alternatives"]), (&Value::Null, &Value::Null));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_survives_a_restart_and_ends_with_a_stop() {
    let mut fixture = Fixture::with(Setup { units: 1, ..Setup::default() }).await;
    let first = fixture.running().await;
    let unit = fixture.unit_of(first).await;
    let third = fixture.ordered(waiting_order()).await;
    fixture.queued(third).await;
    // leaving the queue is a stop
    let stop = fixture.act(third, "stop").await;
    assert_eq!(fixture.ended(&stop).await["state"], "succeeded");
    assert_eq!(fixture.neighbours.waits(), 0);
    // a unit that was given at the same moment goes back
    fixture.neighbours.grant_late(third);
    eventually("the unit is released", async || fixture.neighbours.claim_of(third).is_none().then_some(()))
        .await;

    let second = fixture.ordered(waiting_order()).await;
    fixture.queued(second).await;
    // the service is replaced while the instance waits; no replica follows the grants when the unit is released
    fixture.process.shutdown.begin();
    let replica = fixture.replica().await;
    fixture.base.clone_from(&replica.base);
    fixture.queued(second).await;
    let _ = fixture.act(first, "stop").await;
    fixture.emptied(&unit).await;
    fixture.operator.ended(&unit, 160).await;
    fixture.brought_up(second).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quote_tells_the_price_and_whether_it_starts_now() {
    let fixture = Fixture::with(Setup { units: 1, ..Setup::default() }).await;
    let quote = async |order: Value| fixture.member().post("/v1/instances/quote", order).await;
    let free = quote(Fixture::order()).await.expect(200).body;
    assert_eq!((&free["starts_now"], &free["available"]), (&json!(true), &json!(1)));
    assert_eq!((&free["price_per_hour"], &free["currency"]), (&json!("0.36"), &json!("EUR")));
    assert_eq!((&free["reason"], &free["alternatives"]), (&Value::Null, &json!([])));
    let list = fixture.member().get("/v1/instances").await.expect(200).body;
    assert_eq!(list["items"], json!([]), "nothing is stored");

    let _ = fixture.running().await;
    let second = fixture.ordered(waiting_order()).await;
    fixture.queued(second).await;
    let full = quote(waiting_order()).await.expect(200).body;
    assert_eq!((&full["starts_now"], &full["waiting"]), (&json!(false), &json!(1)));
    assert_eq!(full["reason"], "stock_exhausted");
    assert_eq!(full["alternatives"][0]["gpu_spec"]["name"], "4090-small-8-1");

    let mut wrong = Fixture::order();
    wrong["gpu_spec"] = json!("nothing");
    let refused = quote(wrong).await.expect_problem(422, "invalid-field");
    assert_eq!(refused.body["errors"][0]["pointer"], "/gpu_spec");
    let mut wrong = Fixture::order();
    wrong["version"] = json!("9");
    quote(wrong).await.expect_problem(422, "invalid-field");
    fixture.neighbours.be(Condition::Away);
    quote(Fixture::order()).await.expect_problem(503, "unavailable");
}

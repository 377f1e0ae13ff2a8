//! The stock and the storage service are away, hang, or answer nonsense: what needs neither is answered, the rest is
//! refused as unavailable or waits, and everything continues by itself. A silent cluster is in `clusters`, Prometheus in
//! `metrics`.

use std::time::{Duration, Instant};

use ids::InstanceId;
use serde_json::json;
use testkit::eventually;

use crate::{harness::World, neighbours::Condition};

/// For what needs no other service.
const AT_ONCE: Duration = Duration::from_secs(2);
/// For what needs one: longer than a call to it may take.
const REFUSED: Duration = Duration::from_secs(15);

/// Waits until the instance says what it waits for.
async fn waits_for(world: &World, id: InstanceId, reason: &str) {
    let path = format!("/v1/instances/{id}");
    let member = world.member();
    eventually(&format!("the instance says {reason}"), async || {
        (member.get(&path).await.expect(200).body["reason"] == reason).then_some(())
    })
    .await;
}

async fn goes_on_after(condition: Condition) {
    let world = World::start().await;
    let runs = world.running().await;
    let unit = world.unit_of(runs).await;
    let storage = world.neighbours.add_storage(world.tenant);
    let mut order = World::order();
    order["storage_id"] = json!(storage);
    order["start"] = json!(false);
    let stopped = world.ordered(order.clone()).await;
    world.in_state(stopped, "stopped").await;
    let member = world.member();

    world.neighbours.be(condition);
    let begun = Instant::now();
    let list = member.get("/v1/instances").await.expect(200).body;
    assert_eq!(list["items"].as_array().unwrap().len(), 2, "{list}");
    assert_eq!(member.get(&format!("/v1/instances/{runs}")).await.expect(200).body["state"], "running");
    let _ = member.get(&format!("/v1/instances/{runs}/usage")).await.expect(200);
    let start = world.act(stopped, "start").await;
    let stop = world.act(runs, "stop").await;
    assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());

    // what cannot be checked is refused
    let begun = Instant::now();
    for path in ["/v1/instances", "/v1/instances/quote"] {
        let refused = member.post(path, order.clone()).await.expect_problem(503, "unavailable");
        assert!(refused.header("retry-after").is_some(), "{refused:?}");
    }
    assert!(begun.elapsed() < 2 * REFUSED, "{:?}", begun.elapsed());

    // what was accepted says what it waits for
    world.emptied(&unit).await;
    world.operator.ended(&unit, 160).await;
    waits_for(&world, runs, "stock_unavailable").await;
    waits_for(&world, stopped, "storage_unavailable").await;
    let page = member.get("/v1/instances").await.expect(200).body;
    assert_eq!(page["items"].as_array().unwrap().len(), 2, "{page}");

    world.neighbours.be(Condition::Well);
    assert_eq!(world.ended(&stop).await["state"], "succeeded");
    world.brought_up(stopped).await;
    assert_eq!(world.ended(&start).await["state"], "succeeded");
    assert_eq!((world.neighbours.claims(), world.neighbours.attachments()), (1, 1));
    assert_eq!(world.usage(runs).await["total_seconds"], 60);
    let free = member.post("/v1/instances/quote", World::order()).await.expect(200).body;
    assert_eq!(free["starts_now"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_goes_on_after_the_other_services_were_away() {
    goes_on_after(Condition::Away).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_goes_on_after_the_other_services_hung() {
    goes_on_after(Condition::Hung).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_goes_on_after_the_other_services_answered_nonsense() {
    goes_on_after(Condition::Nonsense).await;
}

//! The stock and the storage service are away, hang, or answer nonsense: what needs neither is answered, the rest is
//! refused as unavailable or waits, and everything continues by itself. A silent cluster is in `clusters`, Prometheus in
//! `metrics`.

use std::time::{Duration, Instant};

use ids::InstanceId;
use serde_json::json;
use testkit::eventually;

use crate::{harness::Fixture, neighbours::Condition};

/// For what needs no other service.
const AT_ONCE: Duration = Duration::from_secs(2);
/// For what needs one: longer than a call to it may take.
const REFUSED: Duration = Duration::from_secs(15);

/// Waits until the instance says what it waits for.
async fn waits_for(fixture: &Fixture, id: InstanceId, reason: &str) {
    let path = format!("/v1/instances/{id}");
    let member = fixture.member();
    eventually(&format!("the instance says {reason}"), async || {
        (member.get(&path).await.expect(200).body["reason"] == reason).then_some(())
    })
    .await;
}

async fn goes_on_after(condition: Condition) {
    let fixture = Fixture::start().await;
    let runs = fixture.running().await;
    let unit = fixture.unit_of(runs).await;
    let storage = fixture.neighbours.add_storage(fixture.tenant);
    let mut order = Fixture::order();
    order["storage_id"] = json!(storage);
    order["start"] = json!(false);
    let stopped = fixture.ordered(order.clone()).await;
    fixture.in_state(stopped, "stopped").await;
    let member = fixture.member();

    fixture.neighbours.be(condition);
    let begun = Instant::now();
    let list = member.get("/v1/instances").await.expect(200).body;
    assert_eq!(list["items"].as_array().unwrap().len(), 2, "{list}");
    assert_eq!(member.get(&format!("/v1/instances/{runs}")).await.expect(200).body["state"], "running");
    let _ = member.get(&format!("/v1/instances/{runs}/usage")).await.expect(200);
    let start = fixture.act(stopped, "start").await;
    let stop = fixture.act(runs, "stop").await;
    assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());

    // what cannot be checked is refused
    let begun = Instant::now();
    for path in ["/v1/instances", "/v1/instances/quote"] {
        let refused = member.post(path, order.clone()).await.expect_problem(503, "unavailable");
        assert!(refused.header("retry-after").is_some(), "{refused:?}");
    }
    assert!(begun.elapsed() < 2 * REFUSED, "{:?}", begun.elapsed());

    // what was accepted says what it waits for
    fixture.emptied(&unit).await;
    fixture.operator.ended(&unit, 160).await;
    waits_for(&fixture, runs, "stock_unavailable").await;
    waits_for(&fixture, stopped, "storage_unavailable").await;
    let page = member.get("/v1/instances").await.expect(200).body;
    assert_eq!(page["items"].as_array().unwrap().len(), 2, "{page}");

    fixture.neighbours.be(Condition::Well);
    assert_eq!(fixture.ended(&stop).await["state"], "succeeded");
    fixture.brought_up(stopped).await;
    assert_eq!(fixture.ended(&start).await["state"], "succeeded");
    assert_eq!((fixture.neighbours.claims(), fixture.neighbours.attachments()), (1, 1));
    assert_eq!(fixture.usage(runs).await["total_seconds"], 60);
    let free = member.post("/v1/instances/quote", Fixture::order()).await.expect(200).body;
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

//! The life of an instance, as its tenant sees it and as its neighbours are left behind.

use serde_json::{Value, json};
use testkit::eventually;

use crate::{
    harness::{Fixture, Setup},
    neighbours::{Condition, PRICE},
    operator::at,
};

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_is_ordered_runs_stops_starts_again_and_goes() {
    let fixture = Fixture::start().await;
    let storage = fixture.neighbours.add_storage(fixture.tenant);
    let mut order = Fixture::order();
    order["name"] = json!("drawing");
    order["storage_id"] = json!(storage);
    order["env"] = json!([{ "name": "LEVEL", "value": "2" }, { "name": "PHRASE", "value": "hunter2" }]);
    let made = fixture.member().post("/v1/instances", order).await.expect(202);
    let id = made.str("id").parse().unwrap();
    assert_eq!(
        made.header("location"),
        Some(format!("/v1/instance-operations/{}", made.str("operation_id")).as_str())
    );
    assert_eq!((made.str("state"), made.str("name")), ("pending", "drawing"));
    assert_eq!(made.str("price_per_hour"), PRICE);
    let url = made.str("url").to_owned();
    assert!(url.starts_with("http://inst-") && url.ends_with(".localhost:8080/"), "{url}");
    assert!(!made.text.contains("hunter2"), "an environment's value is shown");

    let unit = fixture.unit_of(id).await;
    let wanted = fixture.operator.unit(&unit).await.spec.instance.unwrap();
    assert_eq!((wanted.attempt, wanted.restart), (1, 0));
    assert_eq!(wanted.tenant_id, fixture.tenant.k8s_name());
    let env: Vec<_> = wanted.env.iter().map(|e| (e.name.as_str(), e.value.as_str())).collect();
    assert_eq!(env[..3], [("MODE", "plain"), ("LEVEL", "2"), ("PHRASE", "hunter2")]);
    assert_eq!(wanted.volumes[0].storage.as_deref(), Some(storage.k8s_name().as_str()));
    assert_eq!(wanted.volumes[0].mount_path, "/workspace/storage");

    fixture.operator.begun(&unit).await;
    let starting = fixture.in_state(id, "starting").await;
    assert_eq!((starting.str("node"), starting.str("datacenter")), ("node-1", "dev-1"));
    fixture.operator.ready(&unit).await;
    let running = fixture.in_state(id, "running").await;
    assert_eq!(running.str("started_at"), at(100));
    let created = fixture.ended(made.str("operation_id")).await;
    assert_eq!((&created["state"], &created["kind"]), (&json!("succeeded"), &json!("create_instance")));
    let route = fixture.gateway().get(&format!("/internal/v1/routes/{}", id.k8s_name())).await.expect(200);
    assert_eq!(route.str("address"), "127.1.2.3:7860");

    let stop = fixture.act(id, "stop").await;
    fixture.emptied(&unit).await;
    assert_eq!(fixture.in_state(id, "stopping").await.body["url"], json!(url));
    assert!(fixture.neighbours.claim_of(id).is_some(), "released while it still runs");
    fixture.operator.ended(&unit, 160).await;
    assert_eq!(fixture.ended(&stop).await["state"], "succeeded");
    let stopped = fixture.in_state(id, "stopped").await;
    assert_eq!((&stopped.body["reason"], &stopped.body["node"]), (&Value::Null, &Value::Null));
    assert!(fixture.neighbours.claim_of(id).is_none());
    assert_eq!(fixture.neighbours.attachments(), 1, "a stopped instance keeps its storage");
    let route = fixture.gateway().get(&format!("/internal/v1/routes/{}", id.k8s_name())).await.expect(200);
    assert_eq!((&route.body["address"], route.str("state")), (&Value::Null, "stopped"));

    let start = fixture.act(id, "start").await;
    let unit = fixture.unit_of(id).await;
    assert_eq!(fixture.operator.unit(&unit).await.spec.instance.unwrap().attempt, 2);
    fixture.operator.ready_since(&unit, 200).await;
    assert_eq!(fixture.ended(&start).await["state"], "succeeded");
    assert_eq!(fixture.in_state(id, "running").await.str("url"), url);

    let delete = fixture.member().delete(&format!("/v1/instances/{id}")).await.expect(202);
    assert_eq!(delete.str("state"), "deleting");
    fixture.emptied(&unit).await;
    fixture.operator.ended(&unit, 3800).await;
    assert_eq!(fixture.ended(delete.str("operation_id")).await["state"], "succeeded");
    fixture.gone(id).await;
    assert_eq!((fixture.neighbours.claims(), fixture.neighbours.attachments()), (0, 0));
    fixture.member().delete(&format!("/v1/instances/{id}")).await.expect_problem(404, "not-found");
}

#[tokio::test(flavor = "multi_thread")]
async fn running_time_is_metered_by_the_clusters_evidence_to_the_second() {
    let fixture = Fixture::start().await;
    let id = fixture.running().await;
    let unit = fixture.unit_of(id).await;
    // it crashes and restarts: two runs, with a gap that is not billed
    fixture.operator.crashed(&unit, 160).await;
    let waiting = fixture.in_state(id, "starting").await;
    assert_eq!(waiting.str("reason"), "container_restarting");
    fixture.operator.ready_since(&unit, 170).await;
    fixture.in_state(id, "running").await;
    let open = fixture.usage(id).await;
    assert_eq!(open["items"][0]["ended_at"], Value::Null);
    fixture.act(id, "stop").await;
    fixture.emptied(&unit).await;
    fixture.operator.ended(&unit, 3710).await;
    fixture.in_state(id, "stopped").await;
    let usage = fixture.usage(id).await;
    assert_eq!(usage["total_seconds"], 60 + 3540);
    assert_eq!(
        usage["totals"],
        json!([{ "kind": "running", "currency": "EUR", "seconds": 3600, "amount": PRICE }])
    );
    let run = &usage["items"][1];
    assert_eq!((&run["started_at"], &run["ended_at"]), (&json!(at(100)), &json!(at(160))));
    assert_eq!((&run["seconds"], &run["amount"]), (&json!(60), &json!("0.006")));
    assert_eq!(run["end_reason"], "container_exited");
    // page by page it is the same
    let first = fixture.member().get(&format!("/v1/instances/{id}/usage?limit=1")).await.expect(200);
    let next = format!("/v1/instances/{id}/usage?limit=1&cursor={}", first.str("next_cursor"));
    let second = fixture.member().get(&next).await.expect(200);
    assert_eq!(second.body["items"][0], *run);
    assert_eq!(second.body["next_cursor"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_report_of_an_unreachable_cluster_confirms_no_running() {
    let mut fixture = Fixture::start().await;
    let id = fixture.running().await;
    let clusters = fixture.app.clusters().clone();
    eventually("the cluster reports it as running", async || (clusters.running() == [id]).then_some(()))
        .await;
    fixture.cluster.take().unwrap().stop().await;
    eventually("nothing is reported", async || clusters.running().is_empty().then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_fails_gives_the_unit_back_and_says_why() {
    let fixture = Fixture::start().await;
    let made = fixture.member().post("/v1/instances", Fixture::order()).await.expect(202);
    let id = made.str("id").parse().unwrap();
    let unit = fixture.unit_of(id).await;
    fixture.operator.begun(&unit).await;
    fixture.operator.failed(&unit).await;
    fixture.emptied(&unit).await;
    // the operator answers the emptied spec
    fixture.operator.status(&unit, json!({})).await;
    let stopped = fixture.in_state(id, "stopped").await;
    assert_eq!(stopped.str("reason"), "container_exited");
    assert!(stopped.str("message").contains("exit code 3"));
    assert!(stopped.str("log_tail").contains("out of memory"));
    let operation = fixture.ended(made.str("operation_id")).await;
    assert_eq!(operation["state"], "failed");
    assert_eq!(operation["problem"]["reason"], "container_exited");
    assert_eq!(fixture.neighbours.claims(), 0);
    // and it can be started again, as a new attempt
    fixture.act(id, "start").await;
    let unit = fixture.unit_of(id).await;
    assert_eq!(fixture.operator.unit(&unit).await.spec.instance.unwrap().attempt, 2);
    fixture.brought_up(id).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn exhausted_stock_is_told_with_what_else_there_is() {
    let fixture = Fixture::with(Setup { units: 0, ..Setup::default() }).await;
    let made = fixture.member().post("/v1/instances", Fixture::order()).await.expect(202);
    let operation = fixture.ended(made.str("operation_id")).await;
    assert_eq!(operation["state"], "failed");
    let problem = &operation["problem"];
    assert_eq!(problem["type"], "https://atelier.dev/problems/stock-exhausted");
    assert_eq!(problem["alternatives"][0]["gpu_spec"]["name"], "4090-small-8-1");
    let id = made.str("id").parse().unwrap();
    let stopped = fixture.in_state(id, "stopped").await;
    assert_eq!(stopped.str("reason"), "stock_exhausted");
    // the instance shows them too, until the next start
    assert_eq!(stopped.body["alternatives"][0]["price_per_hour"], "0.6");
    assert_eq!(stopped.body["queue"], Value::Null);
    let again = fixture.member().post(&format!("/v1/instances/{id}/start?wait=true"), Value::Null).await;
    assert_eq!(again.expect(202).body["alternatives"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_overtakes_a_start() {
    let fixture = Fixture::start().await;
    let made = fixture.member().post("/v1/instances", Fixture::order()).await.expect(202);
    let id = made.str("id").parse().unwrap();
    let unit = fixture.unit_of(id).await;
    fixture.operator.begun(&unit).await;
    let stop = fixture.act(id, "stop").await;
    assert_eq!(fixture.ended(made.str("operation_id")).await["state"], "cancelled");
    // the same again joins what is under way; a start has to wait
    assert_eq!(fixture.act(id, "stop").await, stop);
    let refused = fixture.member().post(&format!("/v1/instances/{id}/start"), Value::Null).await;
    refused.expect_problem(409, "instance-state");
    fixture.emptied(&unit).await;
    fixture.operator.ended(&unit, 0).await;
    assert_eq!(fixture.ended(&stop).await["state"], "succeeded");
    assert_eq!(fixture.usage(id).await["total_seconds"], 0);
    assert_eq!(fixture.neighbours.claims(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_keeps_the_unit_and_begins_a_new_run() {
    let fixture = Fixture::start().await;
    let id = fixture.running().await;
    let unit = fixture.unit_of(id).await;
    let restart = fixture.act(id, "restart").await;
    eventually("the restart is asked of the unit", async || {
        (fixture.operator.unit(&unit).await.spec.instance.unwrap().restart == 1).then_some(())
    })
    .await;
    // the operator ends the run, then the new pod is ready
    fixture.operator.crashed(&unit, 130).await;
    fixture.operator.ready_since(&unit, 140).await;
    assert_eq!(fixture.ended(&restart).await["state"], "succeeded");
    assert_eq!(fixture.in_state(id, "running").await.str("started_at"), at(140));
    assert_eq!(fixture.usage(id).await["items"].as_array().unwrap().len(), 2);
    assert_eq!(fixture.unit_of(id).await, unit);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_whose_node_is_lost_is_started_in_another_unit() {
    let fixture = Fixture::with(Setup { units: 2, ..Setup::default() }).await;
    let id = fixture.running().await;
    let url = fixture.member().get(&format!("/v1/instances/{id}")).await.str("url").to_owned();
    let unit = fixture.unit_of(id).await;
    fixture.neighbours.withdraw_unit(&unit);
    fixture.operator.node_lost(&unit, 150).await;
    fixture.emptied(&unit).await;
    let waiting = fixture.in_state(id, "pending").await;
    assert_eq!(waiting.str("reason"), "node_lost");
    assert!(fixture.neighbours.claim_of(id).is_some(), "released while it may still run");
    fixture.operator.status(&unit, json!({})).await;
    let other = fixture.unit_of(id).await;
    assert_ne!(other, unit);
    fixture.operator.ready_since(&other, 160).await;
    let running = fixture.in_state(id, "running").await;
    assert_eq!((running.str("url"), running.str("on_node_loss")), (url.as_str(), "restart"));
    assert_eq!(fixture.neighbours.claims(), 1);
    let usage = fixture.usage(id).await;
    let runs: Vec<_> = usage["items"].as_array().unwrap().iter().map(|run| &run["seconds"]).collect();
    assert_eq!(runs[1], 50, "the outage is billed: {usage}");
}

/// The instance leaves the unit at once instead of when the start times out.
#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_lost_its_place_is_tried_in_another_unit() {
    let fixture = Fixture::with(Setup { units: 2, ..Setup::default() }).await;
    let id = fixture.ordered(Fixture::order()).await;
    let unit = fixture.unit_of(id).await;
    fixture.operator.begun(&unit).await;
    fixture.neighbours.withdraw_unit(&unit);
    fixture.operator.place_lost(&unit).await;
    fixture.emptied(&unit).await;
    assert_eq!(fixture.in_state(id, "pending").await.str("reason"), "place_lost");
    fixture.operator.status(&unit, json!({ "instance": null })).await;
    let other = fixture.unit_of(id).await;
    assert_ne!(other, unit);
    fixture.operator.ready_since(&other, 160).await;
    fixture.in_state(id, "running").await;
    assert_eq!(fixture.neighbours.claims(), 1);
    assert_eq!(fixture.usage(id).await["items"].as_array().unwrap().len(), 1, "only the second start ran");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_node_stops_the_instance_and_its_bill() {
    let fixture = Fixture::start().await;
    let id = fixture.running().await;
    let changed = fixture.change(id, json!({ "on_node_loss": "stop" })).await.expect(200);
    assert_eq!((changed.str("on_node_loss"), changed.str("state")), ("stop", "running"));
    let unit = fixture.unit_of(id).await;
    fixture.operator.node_lost(&unit, 150).await;
    fixture.emptied(&unit).await;
    fixture.operator.status(&unit, json!({})).await;
    let stopped = fixture.in_state(id, "stopped").await;
    assert_eq!(stopped.str("reason"), "node_lost");
    assert_eq!(fixture.usage(id).await["total_seconds"], 50);
    assert_eq!(fixture.neighbours.claims(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_unit_deleted_by_hand_stops_the_instance() {
    let fixture = Fixture::start().await;
    let id = fixture.running().await;
    let unit = fixture.unit_of(id).await;
    fixture.operator.delete(&unit).await;
    let stopped = fixture.in_state(id, "stopped").await;
    assert_eq!(stopped.str("reason"), "unit_gone");
    let usage = fixture.usage(id).await;
    assert!(!usage["items"][0]["ended_at"].is_null(), "the run is left open: {usage}");
    assert_eq!(fixture.neighbours.claims(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_waits_for_a_neighbour_that_is_away() {
    let fixture = Fixture::start().await;
    let id = fixture.running().await;
    let unit = fixture.unit_of(id).await;
    fixture.neighbours.be(Condition::Away);
    // a new order cannot be checked, so it is refused; what runs can be stopped
    fixture.member().post("/v1/instances", Fixture::order()).await.expect_problem(503, "unavailable");
    let stop = fixture.act(id, "stop").await;
    fixture.emptied(&unit).await;
    fixture.operator.ended(&unit, 120).await;
    let path = format!("/v1/instances/{id}");
    eventually("it says what it waits for", async || {
        (fixture.member().get(&path).await.body["reason"] == "stock_unavailable").then_some(())
    })
    .await;
    fixture.neighbours.be(Condition::Well);
    assert_eq!(fixture.ended(&stop).await["state"], "succeeded");
    assert_eq!(fixture.usage(id).await["total_seconds"], 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_storage_that_went_fails_the_next_start() {
    let fixture = Fixture::start().await;
    let storage = fixture.neighbours.add_storage(fixture.tenant);
    let mut order = Fixture::order();
    order["storage_id"] = json!(storage);
    let id = fixture.ordered(order).await;
    fixture.brought_up(id).await;
    let unit = fixture.unit_of(id).await;
    let stop = fixture.act(id, "stop").await;
    fixture.emptied(&unit).await;
    fixture.operator.ended(&unit, 120).await;
    fixture.ended(&stop).await;
    fixture.neighbours.remove_storage(storage);
    let start = fixture.act(id, "start").await;
    let operation = fixture.ended(&start).await;
    assert_eq!(operation["problem"]["type"], "https://atelier.dev/problems/not-found");
    assert_eq!(fixture.in_state(id, "stopped").await.str("reason"), "storage_not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_share_the_work_and_one_can_go() {
    let fixture = Fixture::with(Setup { units: 3, ..Setup::default() }).await;
    let second = fixture.replica().await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(fixture.ordered(Fixture::order()).await);
    }
    for id in &ids {
        fixture.brought_up(*id).await;
    }
    assert_eq!(fixture.neighbours.claims(), 3);
    second.process.shutdown.begin();
    second.process.shutdown.finish().await;
    for id in &ids {
        let unit = fixture.unit_of(*id).await;
        fixture.act(*id, "stop").await;
        fixture.emptied(&unit).await;
        fixture.operator.ended(&unit, 110).await;
        fixture.in_state(*id, "stopped").await;
        assert_eq!(fixture.usage(*id).await["items"].as_array().unwrap().len(), 1);
    }
    assert_eq!(fixture.neighbours.claims(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_end_nobody_saw_is_billed_until_it_was_last_confirmed() {
    let fixture = Fixture::start().await;
    let id = fixture.running().await;
    let unit = fixture.unit_of(id).await;
    // nothing ran between the last confirmation and the operator's return
    fixture.execute("update gpu.runs set confirmed_at = started_at + interval '20 seconds'").await;
    fixture.operator.vanished(&unit, 168).await;
    fixture.operator.ready_since(&unit, 170).await;
    eventually("the instance runs again", async || {
        let seen = fixture.member().get(&format!("/v1/instances/{id}")).await;
        (seen.body["started_at"] == at(170)).then_some(())
    })
    .await;
    let usage = fixture.usage(id).await;
    let first = &usage["items"][1];
    assert_eq!((&first["seconds"], &first["end_reason"]), (&json!(20), &json!("pod_deleted")), "{usage}");
    assert_eq!(first["ended_at"], at(120));
}

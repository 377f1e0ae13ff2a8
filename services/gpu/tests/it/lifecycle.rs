//! The life of an instance, as its tenant sees it and as its neighbours are left behind.

use serde_json::{Value, json};
use testkit::eventually;

use crate::{
    harness::{Setup, World},
    neighbours::{Condition, PRICE},
    operator::at,
};

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_is_ordered_runs_stops_starts_again_and_goes() {
    let world = World::start().await;
    let storage = world.neighbours.add_storage(world.tenant);
    let mut order = World::order();
    order["name"] = json!("drawing");
    order["storage_id"] = json!(storage);
    order["env"] = json!([{ "name": "LEVEL", "value": "2" }, { "name": "PHRASE", "value": "hunter2" }]);
    let made = world.member().post("/v1/instances", order).await.expect(202);
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

    let unit = world.unit_of(id).await;
    let wanted = world.operator.unit(&unit).await.spec.instance.unwrap();
    assert_eq!((wanted.attempt, wanted.restart), (1, 0));
    assert_eq!(wanted.tenant_id, world.tenant.k8s_name());
    let env: Vec<_> = wanted.env.iter().map(|e| (e.name.as_str(), e.value.as_str())).collect();
    assert_eq!(env[..3], [("MODE", "plain"), ("LEVEL", "2"), ("PHRASE", "hunter2")]);
    assert_eq!(wanted.volumes[0].storage.as_deref(), Some(storage.k8s_name().as_str()));
    assert_eq!(wanted.volumes[0].mount_path, "/workspace/storage");

    world.operator.begun(&unit).await;
    let starting = world.in_state(id, "starting").await;
    assert_eq!((starting.str("node"), starting.str("datacenter")), ("node-1", "dev-1"));
    world.operator.ready(&unit).await;
    let running = world.in_state(id, "running").await;
    assert_eq!(running.str("started_at"), at(100));
    let created = world.ended(made.str("operation_id")).await;
    assert_eq!((&created["state"], &created["kind"]), (&json!("succeeded"), &json!("create_instance")));
    let route = world.gateway().get(&format!("/internal/v1/routes/{}", id.k8s_name())).await.expect(200);
    assert_eq!(route.str("address"), "127.1.2.3:7860");

    let stop = world.act(id, "stop").await;
    world.emptied(&unit).await;
    assert_eq!(world.in_state(id, "stopping").await.body["url"], json!(url));
    assert!(world.neighbours.claim_of(id).is_some(), "released while it still runs");
    world.operator.ended(&unit, 160).await;
    assert_eq!(world.ended(&stop).await["state"], "succeeded");
    let stopped = world.in_state(id, "stopped").await;
    assert_eq!((&stopped.body["reason"], &stopped.body["node"]), (&Value::Null, &Value::Null));
    assert!(world.neighbours.claim_of(id).is_none());
    assert_eq!(world.neighbours.attachments(), 1, "a stopped instance keeps its storage");
    let route = world.gateway().get(&format!("/internal/v1/routes/{}", id.k8s_name())).await.expect(200);
    assert_eq!((&route.body["address"], route.str("state")), (&Value::Null, "stopped"));

    let start = world.act(id, "start").await;
    let unit = world.unit_of(id).await;
    assert_eq!(world.operator.unit(&unit).await.spec.instance.unwrap().attempt, 2);
    world.operator.ready_since(&unit, 200).await;
    assert_eq!(world.ended(&start).await["state"], "succeeded");
    assert_eq!(world.in_state(id, "running").await.str("url"), url);

    let delete = world.member().delete(&format!("/v1/instances/{id}")).await.expect(202);
    assert_eq!(delete.str("state"), "deleting");
    world.emptied(&unit).await;
    world.operator.ended(&unit, 3800).await;
    assert_eq!(world.ended(delete.str("operation_id")).await["state"], "succeeded");
    world.gone(id).await;
    assert_eq!((world.neighbours.claims(), world.neighbours.attachments()), (0, 0));
    world.member().delete(&format!("/v1/instances/{id}")).await.expect_problem(404, "not-found");
}

#[tokio::test(flavor = "multi_thread")]
async fn running_time_is_metered_by_the_clusters_evidence_to_the_second() {
    let world = World::start().await;
    let id = world.running().await;
    let unit = world.unit_of(id).await;
    // it crashes and restarts: two runs, with a gap that is not billed
    world.operator.crashed(&unit, 160).await;
    let waiting = world.in_state(id, "starting").await;
    assert_eq!(waiting.str("reason"), "container_restarting");
    world.operator.ready_since(&unit, 170).await;
    world.in_state(id, "running").await;
    let open = world.usage(id).await;
    assert_eq!(open["items"][0]["ended_at"], Value::Null);
    world.act(id, "stop").await;
    world.emptied(&unit).await;
    world.operator.ended(&unit, 3710).await;
    world.in_state(id, "stopped").await;
    let usage = world.usage(id).await;
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
    let first = world.member().get(&format!("/v1/instances/{id}/usage?limit=1")).await.expect(200);
    let next = format!("/v1/instances/{id}/usage?limit=1&cursor={}", first.str("next_cursor"));
    let second = world.member().get(&next).await.expect(200);
    assert_eq!(second.body["items"][0], *run);
    assert_eq!(second.body["next_cursor"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_report_of_an_unreachable_cluster_confirms_no_running() {
    let mut world = World::start().await;
    let id = world.running().await;
    let clusters = world.app.clusters().clone();
    eventually("the cluster reports it as running", async || (clusters.running() == [id]).then_some(()))
        .await;
    world.cluster.take().unwrap().stop().await;
    eventually("nothing is reported", async || clusters.running().is_empty().then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_fails_gives_the_unit_back_and_says_why() {
    let world = World::start().await;
    let made = world.member().post("/v1/instances", World::order()).await.expect(202);
    let id = made.str("id").parse().unwrap();
    let unit = world.unit_of(id).await;
    world.operator.begun(&unit).await;
    world.operator.failed(&unit).await;
    world.emptied(&unit).await;
    // the operator answers the emptied spec
    world.operator.status(&unit, json!({})).await;
    let stopped = world.in_state(id, "stopped").await;
    assert_eq!(stopped.str("reason"), "container_exited");
    assert!(stopped.str("message").contains("exit code 3"));
    assert!(stopped.str("log_tail").contains("out of memory"));
    let operation = world.ended(made.str("operation_id")).await;
    assert_eq!(operation["state"], "failed");
    assert_eq!(operation["problem"]["reason"], "container_exited");
    assert_eq!(world.neighbours.claims(), 0);
    // and it can be started again, as a new attempt
    world.act(id, "start").await;
    let unit = world.unit_of(id).await;
    assert_eq!(world.operator.unit(&unit).await.spec.instance.unwrap().attempt, 2);
    world.brought_up(id).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn exhausted_stock_is_told_with_what_else_there_is() {
    let world = World::with(Setup { units: 0, ..Setup::default() }).await;
    let made = world.member().post("/v1/instances", World::order()).await.expect(202);
    let operation = world.ended(made.str("operation_id")).await;
    assert_eq!(operation["state"], "failed");
    let problem = &operation["problem"];
    assert_eq!(problem["type"], "https://atelier.dev/problems/stock-exhausted");
    assert_eq!(problem["alternatives"][0]["gpu_spec"]["name"], "4090-small-8-1");
    let id = made.str("id").parse().unwrap();
    let stopped = world.in_state(id, "stopped").await;
    assert_eq!(stopped.str("reason"), "stock_exhausted");
    // the instance shows them too, until the next start
    assert_eq!(stopped.body["alternatives"][0]["price_per_hour"], "0.6");
    assert_eq!(stopped.body["queue"], Value::Null);
    let again = world.member().post(&format!("/v1/instances/{id}/start?wait=true"), Value::Null).await;
    assert_eq!(again.expect(202).body["alternatives"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_overtakes_a_start() {
    let world = World::start().await;
    let made = world.member().post("/v1/instances", World::order()).await.expect(202);
    let id = made.str("id").parse().unwrap();
    let unit = world.unit_of(id).await;
    world.operator.begun(&unit).await;
    let stop = world.act(id, "stop").await;
    assert_eq!(world.ended(made.str("operation_id")).await["state"], "cancelled");
    // the same again joins what is under way; a start has to wait
    assert_eq!(world.act(id, "stop").await, stop);
    let refused = world.member().post(&format!("/v1/instances/{id}/start"), Value::Null).await;
    refused.expect_problem(409, "instance-state");
    world.emptied(&unit).await;
    world.operator.ended(&unit, 0).await;
    assert_eq!(world.ended(&stop).await["state"], "succeeded");
    assert_eq!(world.usage(id).await["total_seconds"], 0);
    assert_eq!(world.neighbours.claims(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_keeps_the_unit_and_begins_a_new_run() {
    let world = World::start().await;
    let id = world.running().await;
    let unit = world.unit_of(id).await;
    let restart = world.act(id, "restart").await;
    eventually("the restart is asked of the unit", async || {
        (world.operator.unit(&unit).await.spec.instance.unwrap().restart == 1).then_some(())
    })
    .await;
    // the operator ends the run, then the new pod is ready
    world.operator.crashed(&unit, 130).await;
    world.operator.ready_since(&unit, 140).await;
    assert_eq!(world.ended(&restart).await["state"], "succeeded");
    assert_eq!(world.in_state(id, "running").await.str("started_at"), at(140));
    assert_eq!(world.usage(id).await["items"].as_array().unwrap().len(), 2);
    assert_eq!(world.unit_of(id).await, unit);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_whose_node_is_lost_is_started_in_another_unit() {
    let world = World::with(Setup { units: 2, ..Setup::default() }).await;
    let id = world.running().await;
    let url = world.member().get(&format!("/v1/instances/{id}")).await.str("url").to_owned();
    let unit = world.unit_of(id).await;
    world.neighbours.withdraw_unit(&unit);
    world.operator.node_lost(&unit, 150).await;
    world.emptied(&unit).await;
    let waiting = world.in_state(id, "pending").await;
    assert_eq!(waiting.str("reason"), "node_lost");
    assert!(world.neighbours.claim_of(id).is_some(), "released while it may still run");
    world.operator.status(&unit, json!({})).await;
    let other = world.unit_of(id).await;
    assert_ne!(other, unit);
    world.operator.ready_since(&other, 160).await;
    let running = world.in_state(id, "running").await;
    assert_eq!((running.str("url"), running.str("on_node_loss")), (url.as_str(), "restart"));
    assert_eq!(world.neighbours.claims(), 1);
    let usage = world.usage(id).await;
    let runs: Vec<_> = usage["items"].as_array().unwrap().iter().map(|run| &run["seconds"]).collect();
    assert_eq!(runs[1], 50, "the outage is billed: {usage}");
}

/// The instance leaves the unit at once instead of when the start times out.
#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_lost_its_place_is_tried_in_another_unit() {
    let world = World::with(Setup { units: 2, ..Setup::default() }).await;
    let id = world.ordered(World::order()).await;
    let unit = world.unit_of(id).await;
    world.operator.begun(&unit).await;
    world.neighbours.withdraw_unit(&unit);
    world.operator.place_lost(&unit).await;
    world.emptied(&unit).await;
    assert_eq!(world.in_state(id, "pending").await.str("reason"), "place_lost");
    world.operator.status(&unit, json!({ "instance": null })).await;
    let other = world.unit_of(id).await;
    assert_ne!(other, unit);
    world.operator.ready_since(&other, 160).await;
    world.in_state(id, "running").await;
    assert_eq!(world.neighbours.claims(), 1);
    assert_eq!(world.usage(id).await["items"].as_array().unwrap().len(), 1, "only the second start ran");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_node_stops_the_instance_and_its_bill() {
    let world = World::start().await;
    let id = world.running().await;
    let changed = world.change(id, json!({ "on_node_loss": "stop" })).await.expect(200);
    assert_eq!((changed.str("on_node_loss"), changed.str("state")), ("stop", "running"));
    let unit = world.unit_of(id).await;
    world.operator.node_lost(&unit, 150).await;
    world.emptied(&unit).await;
    world.operator.status(&unit, json!({})).await;
    let stopped = world.in_state(id, "stopped").await;
    assert_eq!(stopped.str("reason"), "node_lost");
    assert_eq!(world.usage(id).await["total_seconds"], 50);
    assert_eq!(world.neighbours.claims(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_unit_deleted_by_hand_stops_the_instance() {
    let world = World::start().await;
    let id = world.running().await;
    let unit = world.unit_of(id).await;
    world.operator.delete(&unit).await;
    let stopped = world.in_state(id, "stopped").await;
    assert_eq!(stopped.str("reason"), "unit_gone");
    let usage = world.usage(id).await;
    assert!(!usage["items"][0]["ended_at"].is_null(), "the run is left open: {usage}");
    assert_eq!(world.neighbours.claims(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_waits_for_a_neighbour_that_is_away() {
    let world = World::start().await;
    let id = world.running().await;
    let unit = world.unit_of(id).await;
    world.neighbours.be(Condition::Away);
    // a new order cannot be checked, so it is refused; what runs can be stopped
    world.member().post("/v1/instances", World::order()).await.expect_problem(503, "unavailable");
    let stop = world.act(id, "stop").await;
    world.emptied(&unit).await;
    world.operator.ended(&unit, 120).await;
    let path = format!("/v1/instances/{id}");
    eventually("it says what it waits for", async || {
        (world.member().get(&path).await.body["reason"] == "stock_unavailable").then_some(())
    })
    .await;
    world.neighbours.be(Condition::Well);
    assert_eq!(world.ended(&stop).await["state"], "succeeded");
    assert_eq!(world.usage(id).await["total_seconds"], 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_storage_that_went_fails_the_next_start() {
    let world = World::start().await;
    let storage = world.neighbours.add_storage(world.tenant);
    let mut order = World::order();
    order["storage_id"] = json!(storage);
    let id = world.ordered(order).await;
    world.brought_up(id).await;
    let unit = world.unit_of(id).await;
    let stop = world.act(id, "stop").await;
    world.emptied(&unit).await;
    world.operator.ended(&unit, 120).await;
    world.ended(&stop).await;
    world.neighbours.remove_storage(storage);
    let start = world.act(id, "start").await;
    let operation = world.ended(&start).await;
    assert_eq!(operation["problem"]["type"], "https://atelier.dev/problems/not-found");
    assert_eq!(world.in_state(id, "stopped").await.str("reason"), "storage_not_found");
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_share_the_work_and_one_can_go() {
    let world = World::with(Setup { units: 3, ..Setup::default() }).await;
    let second = world.replica().await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(world.ordered(World::order()).await);
    }
    for id in &ids {
        world.brought_up(*id).await;
    }
    assert_eq!(world.neighbours.claims(), 3);
    second.process.shutdown.begin();
    second.process.shutdown.finish().await;
    for id in &ids {
        let unit = world.unit_of(*id).await;
        world.act(*id, "stop").await;
        world.emptied(&unit).await;
        world.operator.ended(&unit, 110).await;
        world.in_state(*id, "stopped").await;
        assert_eq!(world.usage(*id).await["items"].as_array().unwrap().len(), 1);
    }
    assert_eq!(world.neighbours.claims(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_end_nobody_saw_is_billed_until_it_was_last_confirmed() {
    let world = World::start().await;
    let id = world.running().await;
    let unit = world.unit_of(id).await;
    // nothing ran between the last confirmation and the operator's return
    world.execute("update gpu.runs set confirmed_at = started_at + interval '20 seconds'").await;
    world.operator.vanished(&unit, 168).await;
    world.operator.ready_since(&unit, 170).await;
    eventually("the instance runs again", async || {
        let seen = world.member().get(&format!("/v1/instances/{id}")).await;
        (seen.body["started_at"] == at(170)).then_some(())
    })
    .await;
    let usage = world.usage(id).await;
    let first = &usage["items"][1];
    assert_eq!((&first["seconds"], &first["end_reason"]), (&json!(20), &json!("pod_deleted")), "{usage}");
    assert_eq!(first["ended_at"], at(120));
}

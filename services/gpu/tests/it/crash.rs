//! A replica that is cut off at any point: the next reconcile continues, and nothing is left over.

use std::{future::poll_fn, pin::pin, task::Poll};

use atelier_gpu::App;
use ids::InstanceId;
use serde_json::{Value, json};
use service::Process;
use testkit::eventually;

use crate::{
    harness::{Setup, World, reconcile},
    holds::ago,
    operator::at,
};

/// Expires the leases of workers that were cut off.
pub(crate) const EXPIRE: &str = "update gpu.instances set lease_until = now() where lease_until is not null";

/// Reconciles an instance and drops the reconcile after it has been polled `times` times. Returns whether it ended
/// before.
async fn cut_off(world: &World, id: InstanceId, times: usize) -> bool {
    let mut work = pin!(reconcile(&world.app, &world.service_db, id));
    let mut polls = 0;
    poll_fn(|context| {
        if polls == times {
            return Poll::Ready(false);
        }
        polls += 1;
        work.as_mut().poll(context).map(|_| true)
    })
    .await
}

/// As [`cut_off`]; then the lease expires.
async fn crash(world: &World, id: InstanceId, times: usize) -> bool {
    let ended = cut_off(world, id, times).await;
    if !ended {
        world.execute(EXPIRE).await;
    }
    ended
}

/// Reconciles until the instance is in a state.
async fn reconciled_until(world: &World, id: InstanceId, state: &str) {
    let path = format!("/v1/instances/{id}");
    let member = world.member();
    eventually(&format!("the instance is {state}"), async || {
        world.reconcile(id).await;
        let answer = member.get(&path).await;
        (answer.body["state"] == state || (state == "gone" && answer.status == 404)).then_some(())
    })
    .await;
}

/// A whole life, in which a reconcile of each stage is cut off after `times` polls. Returns whether any was.
async fn life(world: &World, times: usize) -> bool {
    let storage = world.neighbours.add_storage(world.tenant);
    let mut order = World::order();
    let second = world.neighbours.add_storage(world.tenant);
    order["storages"] = json!([
        { "storage_id": storage },
        { "storage_id": second, "mount_path": "/models", "read_only": true },
    ]);
    order["secrets"] = json!([{ "name": "TOKEN", "value": "hunter2" }]);
    let id = world.ordered(order).await;
    let mut cut = !crash(world, id, times).await;
    assert!(world.neighbours.claims() <= 1);
    reconciled_until(world, id, "starting").await;
    let unit = world.unit_of(id).await;
    assert_eq!(world.neighbours.claim_of(id).map(ids::UnitId::k8s_name), Some(unit.clone()));

    world.operator.ready(&unit).await;
    cut |= !crash(world, id, times).await;
    reconciled_until(world, id, "running").await;

    world.act(id, "stop").await;
    cut |= !crash(world, id, times).await;
    eventually("the unit is emptied", async || {
        world.reconcile(id).await;
        world.operator.unit(&unit).await.spec.instance.is_none().then_some(())
    })
    .await;
    assert!(world.neighbours.claim_of(id).is_some(), "released while it still runs");
    world.operator.ended(&unit, 160).await;
    cut |= !crash(world, id, times).await;
    reconciled_until(world, id, "stopped").await;
    assert_eq!((world.neighbours.claims(), world.neighbours.attachments()), (0, 2));
    assert_eq!(world.secret_names().await, [""; 0]);
    // one of them is removed while the instance is stopped
    let _ = world.change(id, json!({ "storages": [{ "storage_id": storage }] })).await.expect(200);
    cut |= !crash(world, id, times).await;
    eventually("the removed storage is detached", async || {
        world.reconcile(id).await;
        world.neighbours.attachment(second, id).is_none().then_some(())
    })
    .await;
    let usage = world.usage(id).await;
    assert_eq!(usage["items"].as_array().unwrap().len(), 1, "{usage}");
    assert_eq!((&usage["total_seconds"], &usage["items"][0]["ended_at"]), (&json!(60), &json!(at(160))));

    let _ = world.member().delete(&format!("/v1/instances/{id}")).await.expect(202);
    cut |= !crash(world, id, times).await;
    reconciled_until(world, id, "gone").await;
    assert_eq!((world.neighbours.claims(), world.neighbours.attachments()), (0, 0));
    let history = [
        "created user",
        "storage_attached system",
        "storage_attached system",
        "unit_claimed system",
        "started system",
        "stop_requested user",
        "run_ended system",
        "stopped system",
        "updated user",
        "storage_detached system",
        "deletion_requested user",
        "storage_detached system",
        "deleted system",
    ];
    assert_eq!(world.history(id).await, history, "each event once, wherever a reconcile was cut off");
    cut
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reconcile_that_is_cut_off_anywhere_is_continued() {
    let world = World::with(Setup { units: 1, workers: false, ..Setup::default() }).await;
    let mut times = 1;
    while life(&world, times).await {
        times += 1;
        assert!(times < 500, "a reconcile never ends");
    }
    assert!(times > 4, "hardly any reconcile was cut off: {times}");
}

/// A life with two holds, one that ends with a start and one that expires, cut off as in [`life`].
async fn life_with_holds(world: &World, times: usize) -> bool {
    let id = world.ordered(World::order()).await;
    reconciled_until(world, id, "starting").await;
    let unit = world.unit_of(id).await;
    world.operator.ready_since(&unit, ago(60)).await;
    reconciled_until(world, id, "running").await;
    let mut cut = false;
    for round in 0..2 {
        let _ = world.stop_and_hold(id, json!({ "for_seconds": 600 })).await.expect(202);
        cut |= !crash(world, id, times).await;
        eventually("the unit is emptied", async || {
            world.reconcile(id).await;
            world.operator.unit(&unit).await.spec.instance.is_none().then_some(())
        })
        .await;
        world.operator.ended(&unit, ago(0)).await;
        cut |= !crash(world, id, times).await;
        reconciled_until(world, id, "stopped").await;
        assert!(world.neighbours.claim_of(id).is_some(), "the unit is kept");
        if round == 0 {
            world.act(id, "start").await;
            cut |= !crash(world, id, times).await;
            reconciled_until(world, id, "starting").await;
            assert_eq!((world.neighbours.claims(), world.unit_of(id).await), (1, unit.clone()));
            world.operator.ready_since(&unit, ago(0)).await;
            cut |= !crash(world, id, times).await;
            reconciled_until(world, id, "running").await;
        }
    }
    let expire = r#"update gpu.instances set wake_at = now(),
        phase = jsonb_set(phase, '{hold,until}', '"2026-01-01T00:00:00Z"') where phase ? 'hold'"#;
    assert_eq!(world.execute(expire).await, 1);
    cut |= !crash(world, id, times).await;
    eventually("the unit is released", async || {
        world.reconcile(id).await;
        world.neighbours.claim_of(id).is_none().then_some(())
    })
    .await;
    reconciled_until(world, id, "stopped").await;
    let usage = world.usage(id).await;
    let runs: Vec<_> = usage["items"].as_array().unwrap().iter().collect();
    assert!(runs.iter().all(|run| !run["ended_at"].is_null()), "{usage}");
    let (held, ran): (Vec<&Value>, Vec<_>) = runs.into_iter().partition(|run| run["kind"] == json!("held"));
    // runs that begin in the same second are in no order
    let mut ends: Vec<_> = held.iter().map(|run| run["end_reason"].as_str().unwrap()).collect();
    ends.sort_unstable();
    assert_eq!((ends.as_slice(), ran.len()), (["expired", "instance_started"].as_slice(), 2), "each once");

    let _ = world.member().delete(&format!("/v1/instances/{id}")).await.expect(202);
    cut |= !crash(world, id, times).await;
    reconciled_until(world, id, "gone").await;
    assert_eq!(world.neighbours.claims(), 0);
    let stop = ["stop_requested user", "run_ended system", "hold_started system"];
    let mut history = vec!["created user", "unit_claimed system", "started system"];
    history.extend(stop);
    history.extend(["start_requested user", "hold_ended user", "started system"]);
    history.extend(stop);
    history.extend(["hold_ended system", "stopped system", "deletion_requested user", "deleted system"]);
    assert_eq!(world.history(id).await, history, "each event once, wherever a reconcile was cut off");
    cut
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_survives_a_reconcile_that_is_cut_off_anywhere() {
    let world = World::with(Setup { units: 1, workers: false, ..Setup::default() }).await;
    let mut times = 1;
    while life_with_holds(&world, times).await {
        times += 1;
        assert!(times < 500, "a reconcile never ends");
    }
    assert!(times > 4, "hardly any reconcile was cut off: {times}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_that_another_replica_reconciles_is_left_to_it() {
    let world = World::with(Setup { units: 1, workers: false, ..Setup::default() }).await;
    let id = world.ordered(World::order()).await;
    world
        .execute("update gpu.instances set lease_owner = gen_random_uuid(), lease_until = now() + interval '1 hour'")
        .await;
    assert!(!world.reconcile(id).await);
    assert_eq!(world.neighbours.claims(), 0);
    world.execute(EXPIRE).await;
    assert!(world.reconcile(id).await);
    assert_eq!(world.neighbours.claims(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_of_a_dead_replica_is_reconciled_when_its_lease_expires() {
    for _ in 0..8 {
        if Box::pin(is_taken_over()).await {
            return;
        }
    }
    panic!("no reconcile was cut off under its lease");
}

/// Returns false if each reconcile after the deletion of the unit ended.
async fn is_taken_over() -> bool {
    let world = World::with(Setup { units: 1, workers: false, ..Setup::default() }).await;
    let id = world.ordered(World::order()).await;
    reconciled_until(&world, id, "starting").await;
    let unit = world.unit_of(id).await;
    world.operator.ready(&unit).await;
    reconciled_until(&world, id, "running").await;
    world.operator.delete(&unit).await;
    let mut admin = world.db.admin().await;
    let mut times = 0;
    let cut = eventually("a reconcile is cut off under its lease, or has handled the deletion", async || {
        let ended = cut_off(&world, id, times).await;
        times = if ended { 0 } else { times + 1 };
        let row = "select lease_owner is not null, state = 'stopped' from gpu.instances";
        let (leased, stopped): (bool, bool) = sqlx::query_as(row).fetch_one(&mut admin).await.unwrap();
        (leased || stopped).then_some(leased)
    })
    .await;
    if cut {
        // the other replica observes the deletion while the lease lasts
        let replica = world.replica().await;
        world.in_state(id, "stopped").await;
        replica.process.shutdown.begin();
    }
    cut
}

#[tokio::test(flavor = "multi_thread")]
async fn a_due_reconcile_asks_the_cluster_for_what_the_watch_missed() {
    let world = World::with(Setup { units: 1, workers: false, ..Setup::default() }).await;
    let id = world.ordered(World::order()).await;
    reconciled_until(&world, id, "starting").await;
    let unit = world.unit_of(id).await;
    // this replica does not watch
    let deaf = App::new(world.config.clone(), Process::default()).unwrap();
    let path = format!("/v1/instances/{id}");
    for state in ["running", "stopped"] {
        match state {
            "running" => world.operator.ready(&unit).await,
            _ => world.operator.delete(&unit).await,
        }
        eventually(&format!("the instance is {state}"), async || {
            world.execute("update gpu.instances set wake_at = now() - interval '1 second'").await;
            reconcile(&deaf, &world.service_db, id).await;
            (world.member().get(&path).await.body["state"] == state).then_some(())
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_claim_is_released_some_time_after_the_end() {
    let world = World::with(Setup { units: 0, workers: false, ..Setup::default() }).await;
    let id = world.ordered(World::order()).await;
    world.reconcile(id).await;
    world.in_state(id, "stopped").await;
    // a delayed call of a replica that died: the unit is claimed for a stopped instance
    world.neighbours.add_unit(ids::UnitId::new());
    world.neighbours.claim_late(id);
    assert_eq!(world.neighbours.claims(), 1);
    let due = "update gpu.instances set wake_at = now() - interval '1 second' where wake_at is not null";
    assert_eq!(world.execute(due).await, 1);
    world.reconcile(id).await;
    assert_eq!(world.neighbours.claims(), 0);
    // once is enough
    assert_eq!(world.execute(due).await, 0);
}

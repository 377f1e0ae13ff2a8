//! A replica that is cut off at whatever point: the next look goes on, and nothing is left over.

use std::{future::poll_fn, pin::pin, task::Poll};

use atelier_gpu::{app, instance::Looked};
use ids::InstanceId;
use serde_json::json;
use service::Metrics;
use testkit::eventually;
use tokio_util::sync::CancellationToken;

use crate::{
    harness::{Wish, World},
    operator::at,
};

/// Looks at an instance until the look has been resumed `times` times, then drops it where it is.
/// True if it came to its end before.
async fn cut_off(world: &World, id: InstanceId, times: usize) -> bool {
    let mut look = pin!(world.reconciler.look(id));
    let mut polls = 0;
    poll_fn(|context| {
        if polls == times {
            return Poll::Ready(false);
        }
        polls += 1;
        look.as_mut().poll(context).map(|looked| {
            looked.unwrap();
            true
        })
    })
    .await
}

/// Looks, to the end, until the instance is in a state.
async fn looked_until(world: &World, id: InstanceId, state: &str) {
    let path = format!("/v1/instances/{id}");
    let member = world.member();
    eventually(&format!("the instance is {state}"), async || {
        world.reconciler.look(id).await.unwrap();
        let answer = member.get(&path).await;
        (answer.body["state"] == state || (state == "gone" && answer.status == 404)).then_some(())
    })
    .await;
}

/// A whole life, with every stretch of it cut off once after so many resumptions. Gives whether any was.
async fn life(world: &World, times: usize) -> bool {
    let storage = world.neighbours.add_storage(world.tenant);
    let mut order = World::order();
    order["storage_id"] = json!(storage);
    let id = world.ordered(order).await;
    let mut cut = !cut_off(world, id, times).await;
    assert!(world.neighbours.claims() <= 1);
    looked_until(world, id, "starting").await;
    let unit = world.unit_of(id).await;
    assert_eq!(world.neighbours.claim_of(id).map(ids::UnitId::k8s_name), Some(unit.clone()));

    world.operator.ready(&unit).await;
    cut |= !cut_off(world, id, times).await;
    looked_until(world, id, "running").await;

    world.act(id, "stop").await;
    cut |= !cut_off(world, id, times).await;
    eventually("the unit is emptied", async || {
        world.reconciler.look(id).await.unwrap();
        world.operator.unit(&unit).await.spec.instance.is_none().then_some(())
    })
    .await;
    assert!(world.neighbours.claim_of(id).is_some(), "given back while it still runs");
    world.operator.ended(&unit, 160).await;
    cut |= !cut_off(world, id, times).await;
    looked_until(world, id, "stopped").await;
    assert_eq!(world.neighbours.claims(), 0);
    let usage = world.usage(id).await;
    assert_eq!(usage["items"].as_array().unwrap().len(), 1, "{usage}");
    assert_eq!((&usage["total_seconds"], &usage["items"][0]["ended_at"]), (&json!(60), &json!(at(160))));

    let _ = world.member().delete(&format!("/v1/instances/{id}")).await.expect(202);
    cut |= !cut_off(world, id, times).await;
    looked_until(world, id, "gone").await;
    assert_eq!((world.neighbours.claims(), world.neighbours.attachments()), (0, 0));
    cut
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_that_is_cut_off_anywhere_is_gone_on_with() {
    let world = World::with(Wish { units: 1, worker: false }).await;
    let mut times = 1;
    while life(&world, times).await {
        times += 1;
        assert!(times < 500, "a look never comes to its end");
    }
    assert!(times > 4, "looks were hardly cut at all: {times}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_replica_looks_at_is_left_to_it() {
    let world = World::with(Wish { units: 1, worker: false }).await;
    let id = world.ordered(World::order()).await;
    let mut admin = world.db.admin().await;
    sqlx::query(
        "update gpu.instances set lease_owner = gen_random_uuid(), lease_until = now() + interval '1 hour'",
    )
    .execute(&mut admin)
    .await
    .unwrap();
    assert_eq!(world.reconciler.look(id).await.unwrap(), Looked::Elsewhere);
    assert_eq!(world.neighbours.claims(), 0);
    // its lease ends when it does not come back
    sqlx::query("update gpu.instances set lease_until = now() - interval '1 second'")
        .execute(&mut admin)
        .await
        .unwrap();
    assert_eq!(world.reconciler.look(id).await.unwrap(), Looked::Done);
    assert_eq!(world.neighbours.claims(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_dead_replica_was_looking_at_is_looked_at_when_its_lease_ends() {
    for _ in 0..8 {
        if is_taken_over().await {
            return;
        }
    }
    panic!("no look was cut off under its lease");
}

/// False if each look at the deletion came to its end.
async fn is_taken_over() -> bool {
    let world = World::with(Wish { units: 1, worker: false }).await;
    let id = world.ordered(World::order()).await;
    looked_until(&world, id, "starting").await;
    let unit = world.unit_of(id).await;
    world.operator.ready(&unit).await;
    looked_until(&world, id, "running").await;
    world.operator.delete(&unit).await;
    let mut admin = world.db.admin().await;
    let mut times = 0;
    let cut = eventually("a look is cut off under its lease, or has seen the deletion", async || {
        let ended = cut_off(&world, id, times).await;
        times = if ended { 0 } else { times + 1 };
        let row = "select lease_owner is not null, state = 'stopped' from gpu.instances";
        let (leased, stopped): (bool, bool) = sqlx::query_as(row).fetch_one(&mut admin).await.unwrap();
        (leased || stopped).then_some(leased)
    })
    .await;
    if cut {
        // the other replica hears of the deletion while the lease lasts
        let (_, replica) = world.replica().await;
        world.in_state(id, "stopped").await;
        replica.begin();
    }
    cut
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_watch_does_not_tell_is_asked_when_a_look_is_due() {
    let world = World::with(Wish { units: 1, worker: false }).await;
    let id = world.ordered(World::order()).await;
    looked_until(&world, id, "starting").await;
    let unit = world.unit_of(id).await;
    // this replica's watch never hears anything
    let deaf = app(world.config.clone(), Metrics::default(), CancellationToken::new()).await.unwrap();
    let mut admin = world.db.admin().await;
    let due = "update gpu.instances set wake_at = now() - interval '1 second'";
    let path = format!("/v1/instances/{id}");
    for state in ["running", "stopped"] {
        match state {
            "running" => world.operator.ready(&unit).await,
            _ => world.operator.delete(&unit).await,
        }
        eventually(&format!("the instance is {state}"), async || {
            sqlx::query(due).execute(&mut admin).await.unwrap();
            deaf.reconciler.look(id).await.unwrap();
            (world.member().get(&path).await.body["state"] == state).then_some(())
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_came_too_late_is_given_back_after_the_end() {
    let world = World::with(Wish { units: 0, worker: false }).await;
    let id = world.ordered(World::order()).await;
    world.reconciler.look(id).await.unwrap();
    world.in_state(id, "stopped").await;
    // a call that was on its way when its sender died: the unit is claimed for a stopped instance
    world.neighbours.add_unit(ids::UnitId::new());
    world.neighbours.claim_late(id);
    assert_eq!(world.neighbours.claims(), 1);
    let mut admin = world.db.admin().await;
    let due = "update gpu.instances set wake_at = now() - interval '1 second' where wake_at is not null";
    assert_eq!(sqlx::query(due).execute(&mut admin).await.unwrap().rows_affected(), 1);
    world.reconciler.look(id).await.unwrap();
    assert_eq!(world.neighbours.claims(), 0);
    // once is enough
    assert_eq!(sqlx::query(due).execute(&mut admin).await.unwrap().rows_affected(), 0);
}

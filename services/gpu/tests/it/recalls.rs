//! Interruptible instances: they leave their unit when another one claims it.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use ids::InstanceId;
use orders::reconcile::fault::{ActionKind, Fault, Point};
use serde_json::{Value, json};
use testkit::eventually;

use crate::{
    crash::EXPIRE,
    harness::{Setup, World, reconcile_by},
    managed::managed_path,
};

impl World {
    fn interruptible_order(&self) -> Value {
        let mut order = self.managed_order();
        order["interruptible"] = json!(true);
        order
    }

    /// The instance once it has lost its unit.
    async fn recalled(&self, id: InstanceId) -> Value {
        eventually("the instance is recalled", async || {
            let body = self.jobs().get(&managed_path(id)).await.expect(200).body;
            (!body["recalled"].is_null()).then_some(body)
        })
        .await
    }
}

/// A test platform with one unit.
async fn world() -> World {
    World::with(Setup { units: 1, ..Setup::default() }).await
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::disallowed_methods, reason = "tests run on the real clock")]
async fn an_instance_that_loses_its_unit_runs_until_it_has_to_leave() {
    let world = world().await;
    world.neighbours.leave_seconds.store(2, Ordering::SeqCst);
    let lent = world.managed(&world.interruptible_order()).await;
    world.brought_up(lent).await;
    let unit = world.unit_of(lent).await;
    let path = managed_path(lent);
    let _ = world.jobs().patch(&path, "*", json!({ "recall_rank": -3 })).await.expect(204);
    assert_eq!(world.neighbours.rank_of(lent), Some(-3));

    let paying = world.ordered(World::order()).await;
    let recalled = world.recalled(lent).await;
    assert_eq!(recalled["state"], "running", "it has time to leave");
    eventually("the start waits for the unit", async || {
        let shown = world.member().get(&format!("/v1/instances/{paying}")).await.expect(200);
        (shown.body["reason"] == "unit_occupied").then_some(())
    })
    .await;
    // it is not deleted, and so it is stopped
    world.in_state(lent, "stopping").await;
    let leave_by: jiff::Timestamp = recalled["recalled"]["leave_by"].as_str().unwrap().parse().unwrap();
    assert!(jiff::Timestamp::now() >= leave_by);
    world.emptied_of(&unit, lent).await;
    // the new one is there before the old one has ended
    assert_eq!(world.unit_of(paying).await, unit);
    world.operator.ready_since(&unit, 300).await;
    world.in_state(paying, "running").await;
    let stopped = world.in_state(lent, "stopped").await;
    assert_eq!(stopped.str("reason"), "recalled");
    assert!(world.neighbours.claim_of(paying).is_some(), "released by the one that has lost it");
    let history = world.history(lent).await;
    assert!(history.contains(&"recalled system recalled".to_owned()), "{history:?}");
    assert!(history.contains(&"stopped system recalled".to_owned()), "{history:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_manages_an_instance_deletes_it_before_it_has_to_leave() {
    let world = world().await;
    let lent = world.managed(&world.interruptible_order()).await;
    world.brought_up(lent).await;
    let unit = world.unit_of(lent).await;
    let paying = world.ordered(World::order()).await;
    world.recalled(lent).await;
    let _ = world.jobs().delete(&managed_path(lent)).await.expect(204);
    world.emptied_of(&unit, lent).await;
    assert_eq!(world.unit_of(paying).await, unit);
    world.operator.ready_since(&unit, 300).await;
    world.in_state(paying, "running").await;
    world.gone(lent).await;
    assert!(world.neighbours.claim_of(paying).is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_that_is_starting_leaves_as_well() {
    let world = world().await;
    world.neighbours.leave_seconds.store(0, Ordering::SeqCst);
    let lent = world.managed(&world.interruptible_order()).await;
    let unit = world.unit_of(lent).await;
    let paying = world.ordered(World::order()).await;
    world.recalled(lent).await;
    world.emptied_of(&unit, lent).await;
    assert_eq!(world.unit_of(paying).await, unit);
    world.operator.ready_since(&unit, 300).await;
    world.in_state(paying, "running").await;
    assert_eq!(world.in_state(lent, "stopped").await.str("reason"), "recalled");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_dies_before_it_records_the_claim_tells_the_other_one_later() {
    let world = World::with(Setup { units: 1, workers: false, ..Setup::default() }).await;
    let lent = world.managed(&world.interruptible_order()).await;
    world.reconcile(lent).await;
    let paying = world.ordered(World::order()).await;
    let killed = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&killed);
    let reconciler = world.app.reconciler().clone().with_faults(Arc::new(move |point| {
        if point == Point::After(ActionKind::Claim) {
            seen.store(true, Ordering::SeqCst);
            return Fault::Error;
        }
        Fault::None
    }));
    reconcile_by(&reconciler, &world.app, &world.service_db, paying).await;
    assert!(killed.load(Ordering::SeqCst));
    assert!(world.neighbours.claim_of(paying).is_some());
    let seen = world.jobs().get(&managed_path(lent)).await.expect(200);
    assert_eq!(seen.body["recalled"], Value::Null);
    world.execute(EXPIRE).await;
    world.reconcile(paying).await;
    world.recalled(lent).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_is_lost_without_a_word_counts_as_recalled() {
    let world = World::with(Setup { units: 1, workers: false, ..Setup::default() }).await;
    let lent = world.managed(&world.interruptible_order()).await;
    world.reconcile(lent).await;
    world.neighbours.take_from(lent);
    let due = "update gpu.instances set wake_at = now() - interval '1 second'";
    world.execute(due).await;
    world.reconcile(lent).await;
    world.recalled(lent).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interruptible_instance_waits_for_no_unit() {
    let world = world().await;
    let mut order = world.interruptible_order();
    order["wait"] = json!(true);
    let refused = world.jobs().put(&managed_path(InstanceId::new()), order).await;
    assert_eq!(refused.expect_problem(422, "invalid-field").body["errors"][0]["pointer"], "/wait");
    let _ = world.running().await;
    let lent = world.managed(&world.interruptible_order()).await;
    assert_eq!(world.in_state(lent, "stopped").await.str("reason"), "stock_exhausted");
}

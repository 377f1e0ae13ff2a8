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
    harness::{Fixture, Setup, reconcile_by},
    managed::managed_path,
};

impl Fixture {
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
async fn fixture() -> Fixture {
    Fixture::with(Setup { units: 1, ..Setup::default() }).await
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::disallowed_methods, reason = "tests run on the real clock")]
async fn an_instance_that_loses_its_unit_runs_until_it_has_to_leave() {
    let fixture = fixture().await;
    fixture.neighbours.leave_seconds.store(2, Ordering::SeqCst);
    let lent = fixture.managed(&fixture.interruptible_order()).await;
    fixture.brought_up(lent).await;
    let unit = fixture.unit_of(lent).await;
    let path = managed_path(lent);
    let _ = fixture.jobs().patch(&path, "*", json!({ "recall_rank": -3 })).await.expect(204);
    assert_eq!(fixture.neighbours.rank_of(lent), Some(-3));

    let paying = fixture.ordered(Fixture::order()).await;
    let recalled = fixture.recalled(lent).await;
    assert_eq!(recalled["state"], "running", "it has time to leave");
    eventually("the start waits for the unit", async || {
        let shown = fixture.member().get(&format!("/v1/instances/{paying}")).await.expect(200);
        (shown.body["reason"] == "unit_occupied").then_some(())
    })
    .await;
    // it is not deleted, and so it is stopped
    fixture.in_state(lent, "stopping").await;
    let leave_by: jiff::Timestamp = recalled["recalled"]["leave_by"].as_str().unwrap().parse().unwrap();
    assert!(jiff::Timestamp::now() >= leave_by);
    fixture.emptied_of(&unit, lent).await;
    // the new one is there before the old one has ended
    assert_eq!(fixture.unit_of(paying).await, unit);
    fixture.operator.ready_since(&unit, 300).await;
    fixture.in_state(paying, "running").await;
    let stopped = fixture.in_state(lent, "stopped").await;
    assert_eq!(stopped.str("reason"), "recalled");
    assert!(fixture.neighbours.claim_of(paying).is_some(), "released by the one that has lost it");
    let history = fixture.history(lent).await;
    assert!(history.contains(&"recalled system recalled".to_owned()), "{history:?}");
    assert!(history.contains(&"stopped system recalled".to_owned()), "{history:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_manages_an_instance_deletes_it_before_it_has_to_leave() {
    let fixture = fixture().await;
    let lent = fixture.managed(&fixture.interruptible_order()).await;
    fixture.brought_up(lent).await;
    let unit = fixture.unit_of(lent).await;
    let paying = fixture.ordered(Fixture::order()).await;
    fixture.recalled(lent).await;
    let _ = fixture.jobs().delete(&managed_path(lent)).await.expect(204);
    fixture.emptied_of(&unit, lent).await;
    assert_eq!(fixture.unit_of(paying).await, unit);
    fixture.operator.ready_since(&unit, 300).await;
    fixture.in_state(paying, "running").await;
    fixture.gone(lent).await;
    assert!(fixture.neighbours.claim_of(paying).is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_that_is_starting_leaves_as_well() {
    let fixture = fixture().await;
    fixture.neighbours.leave_seconds.store(0, Ordering::SeqCst);
    let lent = fixture.managed(&fixture.interruptible_order()).await;
    let unit = fixture.unit_of(lent).await;
    let paying = fixture.ordered(Fixture::order()).await;
    fixture.recalled(lent).await;
    fixture.emptied_of(&unit, lent).await;
    assert_eq!(fixture.unit_of(paying).await, unit);
    fixture.operator.ready_since(&unit, 300).await;
    fixture.in_state(paying, "running").await;
    assert_eq!(fixture.in_state(lent, "stopped").await.str("reason"), "recalled");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_dies_before_it_records_the_claim_tells_the_other_one_later() {
    let fixture = Fixture::with(Setup { units: 1, workers: false, ..Setup::default() }).await;
    let lent = fixture.managed(&fixture.interruptible_order()).await;
    fixture.reconcile(lent).await;
    let paying = fixture.ordered(Fixture::order()).await;
    let killed = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&killed);
    let reconciler = fixture.app.reconciler().clone().with_faults(Arc::new(move |point| {
        if point == Point::After(ActionKind::Claim) {
            seen.store(true, Ordering::SeqCst);
            return Fault::Error;
        }
        Fault::None
    }));
    reconcile_by(&reconciler, &fixture.app, &fixture.service_db, paying).await;
    assert!(killed.load(Ordering::SeqCst));
    assert!(fixture.neighbours.claim_of(paying).is_some());
    let seen = fixture.jobs().get(&managed_path(lent)).await.expect(200);
    assert_eq!(seen.body["recalled"], Value::Null);
    fixture.execute(EXPIRE).await;
    fixture.reconcile(paying).await;
    fixture.recalled(lent).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_is_lost_without_a_word_counts_as_recalled() {
    let fixture = Fixture::with(Setup { units: 1, workers: false, ..Setup::default() }).await;
    let lent = fixture.managed(&fixture.interruptible_order()).await;
    fixture.reconcile(lent).await;
    fixture.neighbours.take_from(lent);
    let due = "update gpu.instances set wake_at = now() - interval '1 second'";
    fixture.execute(due).await;
    fixture.reconcile(lent).await;
    fixture.recalled(lent).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interruptible_instance_waits_for_no_unit() {
    let fixture = fixture().await;
    let mut order = fixture.interruptible_order();
    order["wait"] = json!(true);
    let refused = fixture.jobs().put(&managed_path(InstanceId::new()), order).await;
    assert_eq!(refused.expect_problem(422, "invalid-field").body["errors"][0]["pointer"], "/wait");
    let _ = fixture.running().await;
    let lent = fixture.managed(&fixture.interruptible_order()).await;
    assert_eq!(fixture.in_state(lent, "stopped").await.str("reason"), "stock_exhausted");
}

//! A replica that is cut off at any point: the next reconcile continues, and nothing is left over.

use std::{future::poll_fn, pin::pin, task::Poll};

use atelier_gpu::App;
use ids::InstanceId;
use serde_json::{Value, json};
use service::Process;
use testkit::eventually;

use crate::{
    harness::{Fixture, Setup, reconcile},
    holds::ago,
    operator::at,
};

/// Expires the leases of workers that were cut off.
pub(crate) const EXPIRE: &str = "update gpu.instances set lease_until = now() where lease_until is not null";

/// Reconciles an instance and drops the reconcile after it has been polled `times` times. Returns whether it ended
/// before.
async fn cut_off(fixture: &Fixture, id: InstanceId, times: usize) -> bool {
    let mut work = pin!(reconcile(&fixture.app, &fixture.service_db, id));
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
async fn crash(fixture: &Fixture, id: InstanceId, times: usize) -> bool {
    let ended = cut_off(fixture, id, times).await;
    if !ended {
        fixture.execute(EXPIRE).await;
    }
    ended
}

/// Reconciles until the instance is in a state.
async fn reconciled_until(fixture: &Fixture, id: InstanceId, state: &str) {
    let path = format!("/v1/instances/{id}");
    let member = fixture.member();
    eventually(&format!("the instance is {state}"), async || {
        fixture.reconcile(id).await;
        let answer = member.get(&path).await;
        (answer.body["state"] == state || (state == "gone" && answer.status == 404)).then_some(())
    })
    .await;
}

/// A whole life, in which a reconcile of each stage is cut off after `times` polls. Returns whether any was.
async fn life(fixture: &Fixture, times: usize) -> bool {
    let storage = fixture.neighbours.add_storage(fixture.tenant);
    let mut order = Fixture::order();
    let second = fixture.neighbours.add_storage(fixture.tenant);
    order["storages"] = json!([
        { "storage_id": storage },
        { "storage_id": second, "mount_path": "/models", "read_only": true },
    ]);
    order["secrets"] = json!([{ "name": "TOKEN", "value": "hunter2" }]);
    let id = fixture.ordered(order).await;
    let mut cut = !crash(fixture, id, times).await;
    assert!(fixture.neighbours.claims() <= 1);
    reconciled_until(fixture, id, "starting").await;
    let unit = fixture.unit_of(id).await;
    assert_eq!(fixture.neighbours.claim_of(id).map(ids::UnitId::k8s_name), Some(unit.clone()));

    fixture.operator.ready(&unit).await;
    cut |= !crash(fixture, id, times).await;
    reconciled_until(fixture, id, "running").await;

    fixture.act(id, "stop").await;
    cut |= !crash(fixture, id, times).await;
    eventually("the unit is emptied", async || {
        fixture.reconcile(id).await;
        fixture.operator.unit(&unit).await.spec.instance.is_none().then_some(())
    })
    .await;
    assert!(fixture.neighbours.claim_of(id).is_some(), "released while it still runs");
    fixture.operator.ended(&unit, 160).await;
    cut |= !crash(fixture, id, times).await;
    reconciled_until(fixture, id, "stopped").await;
    assert_eq!((fixture.neighbours.claims(), fixture.neighbours.attachments()), (0, 2));
    assert_eq!(fixture.secret_names().await, [""; 0]);
    // one of them is removed while the instance is stopped
    let _ = fixture.change(id, json!({ "storages": [{ "storage_id": storage }] })).await.expect(200);
    cut |= !crash(fixture, id, times).await;
    eventually("the removed storage is detached", async || {
        fixture.reconcile(id).await;
        fixture.neighbours.attachment(second, id).is_none().then_some(())
    })
    .await;
    let usage = fixture.usage(id).await;
    assert_eq!(usage["items"].as_array().unwrap().len(), 1, "{usage}");
    assert_eq!((&usage["total_seconds"], &usage["items"][0]["ended_at"]), (&json!(60), &json!(at(160))));

    let _ = fixture.member().delete(&format!("/v1/instances/{id}")).await.expect(202);
    cut |= !crash(fixture, id, times).await;
    reconciled_until(fixture, id, "gone").await;
    assert_eq!((fixture.neighbours.claims(), fixture.neighbours.attachments()), (0, 0));
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
    assert_eq!(fixture.history(id).await, history, "each event once, wherever a reconcile was cut off");
    cut
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reconcile_that_is_cut_off_anywhere_is_continued() {
    let fixture = Fixture::with(Setup { units: 1, workers: false, ..Setup::default() }).await;
    let mut times = 1;
    while life(&fixture, times).await {
        times += 1;
        assert!(times < 500, "a reconcile never ends");
    }
    assert!(times > 4, "hardly any reconcile was cut off: {times}");
}

/// A life with two holds, one that ends with a start and one that expires, cut off as in [`life`].
async fn life_with_holds(fixture: &Fixture, times: usize) -> bool {
    let id = fixture.ordered(Fixture::order()).await;
    reconciled_until(fixture, id, "starting").await;
    let unit = fixture.unit_of(id).await;
    fixture.operator.ready_since(&unit, ago(60)).await;
    reconciled_until(fixture, id, "running").await;
    let mut cut = false;
    for round in 0..2 {
        let _ = fixture.stop_and_hold(id, json!({ "for_seconds": 600 })).await.expect(202);
        cut |= !crash(fixture, id, times).await;
        eventually("the unit is emptied", async || {
            fixture.reconcile(id).await;
            fixture.operator.unit(&unit).await.spec.instance.is_none().then_some(())
        })
        .await;
        fixture.operator.ended(&unit, ago(0)).await;
        cut |= !crash(fixture, id, times).await;
        reconciled_until(fixture, id, "stopped").await;
        assert!(fixture.neighbours.claim_of(id).is_some(), "the unit is kept");
        if round == 0 {
            fixture.act(id, "start").await;
            cut |= !crash(fixture, id, times).await;
            reconciled_until(fixture, id, "starting").await;
            assert_eq!((fixture.neighbours.claims(), fixture.unit_of(id).await), (1, unit.clone()));
            fixture.operator.ready_since(&unit, ago(0)).await;
            cut |= !crash(fixture, id, times).await;
            reconciled_until(fixture, id, "running").await;
        }
    }
    let expire = r#"update gpu.instances set wake_at = now(),
        phase = jsonb_set(phase, '{hold,until}', '"2026-01-01T00:00:00Z"') where phase ? 'hold'"#;
    assert_eq!(fixture.execute(expire).await, 1);
    cut |= !crash(fixture, id, times).await;
    eventually("the unit is released", async || {
        fixture.reconcile(id).await;
        fixture.neighbours.claim_of(id).is_none().then_some(())
    })
    .await;
    reconciled_until(fixture, id, "stopped").await;
    let usage = fixture.usage(id).await;
    let runs: Vec<_> = usage["items"].as_array().unwrap().iter().collect();
    assert!(runs.iter().all(|run| !run["ended_at"].is_null()), "{usage}");
    let (held, ran): (Vec<&Value>, Vec<_>) = runs.into_iter().partition(|run| run["kind"] == json!("held"));
    // runs that begin in the same second are in no order
    let mut ends: Vec<_> = held.iter().map(|run| run["end_reason"].as_str().unwrap()).collect();
    ends.sort_unstable();
    assert_eq!((ends.as_slice(), ran.len()), (["expired", "instance_started"].as_slice(), 2), "each once");

    let _ = fixture.member().delete(&format!("/v1/instances/{id}")).await.expect(202);
    cut |= !crash(fixture, id, times).await;
    reconciled_until(fixture, id, "gone").await;
    assert_eq!(fixture.neighbours.claims(), 0);
    let stop = ["stop_requested user", "run_ended system", "hold_started system"];
    let mut history = vec!["created user", "unit_claimed system", "started system"];
    history.extend(stop);
    history.extend(["start_requested user", "hold_ended user", "started system"]);
    history.extend(stop);
    history.extend(["hold_ended system", "stopped system", "deletion_requested user", "deleted system"]);
    assert_eq!(fixture.history(id).await, history, "each event once, wherever a reconcile was cut off");
    cut
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_survives_a_reconcile_that_is_cut_off_anywhere() {
    let fixture = Fixture::with(Setup { units: 1, workers: false, ..Setup::default() }).await;
    let mut times = 1;
    while life_with_holds(&fixture, times).await {
        times += 1;
        assert!(times < 500, "a reconcile never ends");
    }
    assert!(times > 4, "hardly any reconcile was cut off: {times}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_that_another_replica_reconciles_is_left_to_it() {
    let fixture = Fixture::with(Setup { units: 1, workers: false, ..Setup::default() }).await;
    let id = fixture.ordered(Fixture::order()).await;
    fixture
        .execute("update gpu.instances set lease_owner = gen_random_uuid(), lease_until = now() + interval '1 hour'")
        .await;
    assert!(!fixture.reconcile(id).await);
    assert_eq!(fixture.neighbours.claims(), 0);
    fixture.execute(EXPIRE).await;
    assert!(fixture.reconcile(id).await);
    assert_eq!(fixture.neighbours.claims(), 1);
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
    let fixture = Fixture::with(Setup { units: 1, workers: false, ..Setup::default() }).await;
    let id = fixture.ordered(Fixture::order()).await;
    reconciled_until(&fixture, id, "starting").await;
    let unit = fixture.unit_of(id).await;
    fixture.operator.ready(&unit).await;
    reconciled_until(&fixture, id, "running").await;
    fixture.operator.delete(&unit).await;
    let mut admin = fixture.db.admin().await;
    let mut times = 0;
    let cut = eventually("a reconcile is cut off under its lease, or has handled the deletion", async || {
        let ended = cut_off(&fixture, id, times).await;
        times = if ended { 0 } else { times + 1 };
        let row = "select lease_owner is not null, state = 'stopped' from gpu.instances";
        let (leased, stopped): (bool, bool) = sqlx::query_as(row).fetch_one(&mut admin).await.unwrap();
        (leased || stopped).then_some(leased)
    })
    .await;
    if cut {
        // the other replica observes the deletion while the lease lasts
        let replica = fixture.replica().await;
        fixture.in_state(id, "stopped").await;
        replica.process.shutdown.begin();
    }
    cut
}

#[tokio::test(flavor = "multi_thread")]
async fn a_due_reconcile_asks_the_cluster_for_what_the_watch_missed() {
    let fixture = Fixture::with(Setup { units: 1, workers: false, ..Setup::default() }).await;
    let id = fixture.ordered(Fixture::order()).await;
    reconciled_until(&fixture, id, "starting").await;
    let unit = fixture.unit_of(id).await;
    // this replica does not watch
    let deaf = App::new(fixture.config.clone(), Process::default()).unwrap();
    let path = format!("/v1/instances/{id}");
    for state in ["running", "stopped"] {
        match state {
            "running" => fixture.operator.ready(&unit).await,
            _ => fixture.operator.delete(&unit).await,
        }
        eventually(&format!("the instance is {state}"), async || {
            fixture.execute("update gpu.instances set wake_at = now() - interval '1 second'").await;
            reconcile(&deaf, &fixture.service_db, id).await;
            (fixture.member().get(&path).await.body["state"] == state).then_some(())
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_claim_is_released_some_time_after_the_end() {
    let fixture = Fixture::with(Setup { units: 0, workers: false, ..Setup::default() }).await;
    let id = fixture.ordered(Fixture::order()).await;
    fixture.reconcile(id).await;
    fixture.in_state(id, "stopped").await;
    // a delayed call of a replica that died: the unit is claimed for a stopped instance
    fixture.neighbours.add_unit(ids::UnitId::new());
    fixture.neighbours.claim_late(id);
    assert_eq!(fixture.neighbours.claims(), 1);
    let due = "update gpu.instances set wake_at = now() - interval '1 second' where wake_at is not null";
    assert_eq!(fixture.execute(due).await, 1);
    fixture.reconcile(id).await;
    assert_eq!(fixture.neighbours.claims(), 0);
    // once is enough
    assert_eq!(fixture.execute(due).await, 0);
}

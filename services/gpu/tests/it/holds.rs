//! Stopped instances that keep their unit.

#![expect(clippy::disallowed_methods, reason = "tests run on the real clock")]

use std::sync::atomic::Ordering;

use ids::InstanceId;
use jiff::Timestamp;
use serde_json::{Value, json};
use testkit::{Response, eventually};

use crate::{
    harness::{Fixture, Setup},
    operator::{EPOCH, at},
};

/// A second of the operator's time, on the real clock.
pub(crate) fn ago(seconds: i64) -> i64 {
    Timestamp::now().as_second() - EPOCH - seconds
}

impl Fixture {
    /// Stops an instance, which keeps its unit.
    pub(crate) async fn stop_and_hold(&self, id: InstanceId, hold: Value) -> Response {
        self.member().post(&format!("/v1/instances/{id}/stop"), json!({ "hold": hold })).await
    }

    /// The instance once it is stopped and keeps its unit.
    pub(crate) async fn held(&self, id: InstanceId) -> Value {
        let path = format!("/v1/instances/{id}");
        let member = self.member();
        eventually("the instance keeps its unit", async || {
            let body = member.get(&path).await.expect(200).body;
            (!body["hold"]["since"].is_null()).then_some(body)
        })
        .await
    }

    /// An instance that ran for a minute, and was stopped with a hold. Returns its unit too.
    async fn stopped_with_hold(&self, seconds: i64) -> (InstanceId, String) {
        let id = self.ordered(Self::order()).await;
        let unit = self.unit_of(id).await;
        let since = ago(90);
        self.operator.ready_since(&unit, since).await;
        let _ = self.in_state(id, "running").await;
        let _ = self.stop_and_hold(id, json!({ "for_seconds": seconds })).await.expect(202);
        self.emptied(&unit).await;
        self.operator.ended(&unit, since + 60).await;
        self.held(id).await;
        (id, unit)
    }

    async fn released(&self, id: InstanceId) {
        eventually("the unit is released", async || self.neighbours.claim_of(id).is_none().then_some(()))
            .await;
        let _ = self.in_state(id, "stopped").await;
    }

    /// The only hold of an instance.
    async fn held_run(&self, id: InstanceId) -> Value {
        let usage = self.usage(id).await;
        let mut held = usage["items"].as_array().unwrap().iter().filter(|run| run["kind"] == "held");
        let run = held.next().unwrap_or_else(|| panic!("no hold: {usage}")).clone();
        assert_eq!(held.next(), None, "{usage}");
        run
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_held_unit_is_kept_and_the_next_start_needs_no_other() {
    let fixture = Fixture::with(Setup { units: 1, ..Setup::default() }).await;
    let (id, unit) = fixture.stopped_with_hold(600).await;
    let seen = fixture.held(id).await;
    assert_eq!(seen["state"], "stopped");
    let hold = &seen["hold"];
    assert_eq!((&hold["price_per_hour"], &hold["currency"]), (&json!("0.09"), &json!("EUR")));
    assert_eq!(fixture.neighbours.claims(), 1);
    // no other instance gets it
    let rival = fixture.ordered(Fixture::order()).await;
    let rival = fixture.in_state(rival, "stopped").await;
    assert_eq!(rival.body["reason"], "stock_exhausted");

    let calls = fixture.neighbours.claim_calls.load(Ordering::SeqCst);
    let start = fixture.act(id, "start").await;
    assert_eq!(fixture.unit_of(id).await, unit);
    assert_eq!(fixture.neighbours.claim_calls.load(Ordering::SeqCst), calls, "the claim was kept");
    fixture.operator.ready_since(&unit, ago(0)).await;
    assert_eq!(fixture.ended(&start).await["state"], "succeeded");
    let run = fixture.held_run(id).await;
    assert_eq!((&run["price_per_hour"], &run["end_reason"]), (&json!("0.09"), &json!("instance_started")));
    let seen = fixture.in_state(id, "running").await.body;
    assert_eq!((&seen["hold"], &seen["price_per_hour"]), (&Value::Null, &json!("0.36")));
    let history = fixture.history(id).await;
    assert_eq!(
        history[3..],
        [
            "stop_requested user",
            "run_ended system",
            "hold_started system",
            "start_requested user",
            "hold_ended user",
            "started system"
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_expires_at_its_time_and_its_unit_is_released_once() {
    let fixture = Fixture::with(Setup { units: 1, ..Setup::default() }).await;
    let (id, _) = fixture.stopped_with_hold(4).await;
    let until = fixture.held(id).await["hold"]["until"].clone();
    fixture.released(id).await;
    let run = fixture.held_run(id).await;
    assert_eq!((&run["ended_at"], &run["end_reason"]), (&until, &json!("expired")));
    let usage = fixture.usage(id).await;
    assert_eq!((&usage["total_seconds"], &usage["held_seconds"]), (&json!(60), &run["seconds"]));
    assert_eq!(usage["totals"][1]["kind"], "held");
    let history = fixture.history(id).await;
    assert_eq!(history[5..], ["hold_started system", "hold_ended system", "stopped system"]);
    assert_eq!(fixture.in_state(id, "stopped").await.body["hold"], Value::Null);
    // the unit is free for the next
    let next = fixture.ordered(Fixture::order()).await;
    fixture.unit_of(next).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_is_given_up_by_its_tenant_an_administrator_and_a_deletion() {
    let fixture = Fixture::with(Setup { units: 1, ..Setup::default() }).await;
    let member = fixture.member();
    for (cause, status) in
        [("given_up", "stopped"), ("administrator", "stopped"), ("instance_deleted", "gone")]
    {
        let (id, unit) = fixture.stopped_with_hold(600).await;
        let path = format!("/v1/instances/{id}");
        match cause {
            "given_up" => {
                let released = member.delete(&format!("{path}/hold")).await.expect(202);
                assert_eq!(fixture.ended(released.str("operation_id")).await["state"], "succeeded");
                let none = member.delete(&format!("{path}/hold")).await;
                none.expect_problem(404, "not-found");
            }
            "administrator" => {
                let path = format!("/v1/platform-instances/{id}/stop?reason=maintenance");
                let _ = fixture.admin().post(&path, Value::Null).await.expect(202);
            }
            _ => {
                let _ = member.delete(&path).await.expect(202);
            }
        }
        if status == "gone" {
            fixture.gone(id).await;
        } else {
            fixture.released(id).await;
            assert_eq!(fixture.held_run(id).await["end_reason"], cause);
        }
        assert_eq!(fixture.neighbours.claims(), 0, "{cause}");
        let events = member.get(&format!("{path}/events?type=instance.hold_ended")).await.expect(200);
        assert_eq!(events.body["items"][0]["data"]["cause"], cause);
        assert!(fixture.operator.unit(&unit).await.spec.instance.is_none());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_ends_with_its_unit() {
    let fixture = Fixture::with(Setup { units: 1, ..Setup::default() }).await;
    let (removed, unit) = fixture.stopped_with_hold(600).await;
    fixture.operator.delete(&unit).await;
    fixture.released(removed).await;
    assert_eq!(fixture.held_run(removed).await["end_reason"], "unit_lost");
    let fixture = Fixture::with(Setup { units: 1, ..Setup::default() }).await;
    let (lost, unit) = fixture.stopped_with_hold(600).await;
    let conditions = json!([{ "type": "Held", "status": "False", "reason": "NodeLost",
        "message": "node-1 does not answer", "lastTransitionTime": at(0) }]);
    fixture.operator.status(&unit, json!({ "conditions": conditions })).await;
    fixture.released(lost).await;
    assert_eq!(fixture.held_run(lost).await["end_reason"], "unit_lost");
}

#[tokio::test(flavor = "multi_thread")]
async fn holds_have_bounds_and_are_offered_by_the_specification() {
    let fixture = Fixture::start().await;
    let pending = fixture.ordered(Fixture::order()).await;
    let unit = fixture.unit_of(pending).await;
    fixture.operator.ready(&unit).await;
    let id = pending;
    fixture.in_state(id, "running").await;
    for hold in [
        json!({}),
        json!({ "for_seconds": 0 }),
        json!({ "for_seconds": 3601 }),
        json!({ "for_seconds": 60, "until": "2030-01-01T00:00:00Z" }),
        json!({ "until": "2001-01-01T00:00:00Z" }),
        json!({ "forever": true }),
    ] {
        fixture.stop_and_hold(id, hold).await.expect_problem(422, "invalid-field");
    }
    // a held unit that is released before the instance has stopped
    let _ = fixture.stop_and_hold(id, json!({ "for_seconds": 600 })).await.expect(202);
    let stopping = fixture.member().get(&format!("/v1/instances/{id}")).await.expect(200).body;
    assert_eq!((&stopping["state"], &stopping["hold"]["since"]), (&json!("stopping"), &Value::Null));
    let _ = fixture.member().delete(&format!("/v1/instances/{id}/hold")).await.expect(202);
    fixture.emptied(&unit).await;
    fixture.operator.ended(&unit, 160).await;
    fixture.released(id).await;

    fixture.neighbours.holds.store(false, Ordering::SeqCst);
    let quote = fixture.member().post("/v1/instances/quote", Fixture::order()).await.expect(200);
    assert_eq!(quote.body["hold_price_per_hour"], Value::Null);
    let id = fixture.running().await;
    fixture.stop_and_hold(id, json!({ "for_seconds": 60 })).await.expect_problem(409, "hold-not-offered");
    // the terms of the claim are kept
    fixture.neighbours.holds.store(true, Ordering::SeqCst);
    let quote = fixture.member().post("/v1/instances/quote", Fixture::order()).await.expect(200);
    assert_eq!(quote.body["hold_price_per_hour"], "0.09");
    fixture.stop_and_hold(id, json!({ "for_seconds": 60 })).await.expect_problem(409, "hold-not-offered");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_ends_with_the_suspension_of_its_tenant() {
    let fixture = Fixture::with(Setup { units: 1, ..Setup::default() }).await;
    let (id, _) = fixture.stopped_with_hold(600).await;
    assert_eq!(fixture.put_tenant(1, "suspended", false).await["done"], false);
    fixture.released(id).await;
    assert_eq!(fixture.put_tenant(1, "suspended", false).await["done"], true);
    assert_eq!(fixture.held_run(id).await["end_reason"], "tenant_suspended");
}

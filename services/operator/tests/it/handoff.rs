//! The hand-off under contention.

use std::sync::Arc;
use std::time::Duration;

use atelier_operator::controller::{Hook, Step, Verdict};
use crds::names;
use futures::future::join_all;
use serde_json::json;

use crate::lab::{Lab, reason};

/// Twenty units are started and stopped again and again, all at once, while thieves of a class in between want every GPU
/// that is free for a moment. No place is lost and no unit is used twice. Every third start is withdrawn during the
/// hand-off.
#[tokio::test(flavor = "multi_thread")]
async fn no_place_is_stolen_in_many_starts_and_stops() {
    const UNITS: usize = 20;
    let rounds = testkit::budget(4, 10);
    let lab = Lab::new(4, 6).await;
    let operator = lab.operator("one", None).await;
    lab.create_units(UNITS).await;
    for n in 0..UNITS {
        lab.held(n).await;
    }
    lab.thieves(12).await;
    testkit::eventually("every place is used", async || (lab.stolen().await == 24 - UNITS).then_some(()))
        .await;
    let lives = (0..UNITS).map(|n| {
        let lab = &lab;
        async move {
            let place = lab.held(n).await.node;
            for attempt in 1..=rounds {
                lab.set_instance(n, Some(lab.instance(n, attempt))).await;
                let started = if attempt % 3 == 0 {
                    lab.until(n, "started", |status| status.instance.is_some()).await
                } else {
                    lab.running(n, attempt).await
                };
                assert_eq!(started.last_failure, None);
                assert_eq!(started.node, place, "unit {n} started elsewhere in round {attempt}");
                lab.set_instance(n, None).await;
                let back = lab.held(n).await;
                assert_eq!(
                    back.node,
                    place,
                    "unit {n} lost its place in round {attempt}:\n{}",
                    lab.events(n).await
                );
            }
        }
    });
    join_all(lives).await;
    assert_eq!(lab.stolen().await, 24 - UNITS, "a thief got a place");
    lab.end(operator, UNITS).await;
}

/// A busy scheduler: what it has seen of the nodes is old when it reads the nominations. The binding falls between the two.
#[tokio::test(flavor = "multi_thread")]
async fn a_slow_cycle_of_the_scheduler_costs_no_place() {
    let lab = Lab::with(1, 1, |config| config.scheduler_cycle_ms = 40).await;
    // longer than a cycle and shorter than those of all thieves
    let binds_late: Hook = Arc::new(|step, word, _| {
        if (step, word) == (Step::Before, "bind") {
            tokio::task::block_in_place(|| std::thread::sleep(Duration::from_millis(60)));
        }
        Verdict::Continue
    });
    let operator = lab.operator("one", Some(binds_late)).await;
    lab.create_units(1).await;
    lab.held(0).await;
    lab.thieves(4).await;
    lab.thieves_are_alert().await;
    lab.set_instance(0, Some(lab.instance(0, 1))).await;
    lab.running(0, 1).await;
    assert_eq!(lab.stolen().await, 0, "a thief got the place");
    lab.set_instance(0, None).await;
    lab.held(0).await;
    assert_eq!(lab.stolen().await, 0, "a thief got the place");
    lab.end(operator, 1).await;
}

/// On a full node, two instances take long to terminate. The placeholders that wait behind them do not obstruct the
/// hand-offs of the other units.
#[tokio::test(flavor = "multi_thread")]
async fn a_slow_termination_does_not_delay_other_units() {
    const UNITS: usize = 8;
    let lab = Lab::new(0, 0).await;
    let operator = lab.operator("one", None).await;
    for n in 0..UNITS {
        lab.create_real_unit(n).await;
        lab.held(n).await;
    }
    for n in 0..2 {
        let mut slow = lab.instance(n, 1);
        slow["command"] = json!(["sh", "-c", "trap '' TERM; while :; do sleep 1; done"]);
        slow["terminationGracePeriodSeconds"] = json!(20);
        lab.set_instance(n, Some(slow)).await;
        lab.running(n, 1).await;
    }
    for n in 0..2 {
        lab.set_instance(n, None).await;
    }
    for attempt in 1..=2 {
        let node = lab.held(7).await.node;
        lab.set_instance(7, Some(lab.instance(7, attempt))).await;
        assert_eq!(lab.running(7, attempt).await.node, node);
        lab.set_instance(7, None).await;
        assert_eq!(lab.held(7).await.node, node, "{}", lab.events(7).await);
    }
    for n in 0..2 {
        let why = reason(&lab.status(n).await, names::CONDITION_INSTANCE_READY);
        assert_eq!(why, "Stopping", "unit {n} terminated too early: the test has shown nothing");
    }
    for n in 0..2 {
        lab.held(n).await;
    }
    lab.end(operator, UNITS).await;
}

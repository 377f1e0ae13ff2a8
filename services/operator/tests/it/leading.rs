//! Several operators, a restart of the API server, and an operator with nothing to do.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use atelier_operator::controller::election::LeaseSettings;
use atelier_operator::controller::{Hook, Step, Verdict};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use testkit::eventually;

use crate::lab::{Lab, roles};
use crate::outage::Part;

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_operators_leads_and_the_other_takes_over() {
    let lab = Lab::new(1, 4).await;
    let mut one = lab.operator("one", None).await;
    one.leads().await;
    let mut two = lab.operator("two", None).await;
    lab.create_units(2).await;
    lab.held(0).await;
    lab.held(1).await;
    assert!(one.is_leading() && !two.is_leading());
    assert_eq!(two.counts.writes.load(Ordering::SeqCst), 0, "only the leader writes");
    // killed: the other waits until the lease expires
    one.kill();
    lab.set_instance(0, Some(lab.instance(0, 1))).await;
    two.leads().await;
    lab.running(0, 1).await;
    // a graceful stop: the next one need not wait
    let mut three = lab.operator("three", None).await;
    two.stop().await;
    three.leads().await;
    lab.set_instance(0, None).await;
    lab.held(0).await;
    lab.end(three, 2).await;
}

/// The leader is killed several times, each time with a start requested right afterwards.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_leader_is_replaced_within_five_seconds() {
    let lab = Lab::new(1, 6).await;
    let mut leader = lab.operator("operator-0", None).await;
    leader.leads().await;
    lab.create_units(6).await;
    for n in 0..6 {
        lab.held(n).await;
    }
    let mut hand_overs = Vec::new();
    for n in 0..6 {
        let mut standby = lab.operator(&format!("operator-{}", n + 1), None).await;
        eventually("the standby has seen the units", async || (standby.units.all().len() == 6).then_some(()))
            .await;
        // at any time between two renewals
        tokio::time::sleep(Duration::from_millis(170 * u64::try_from(n).unwrap())).await;
        let killed = Instant::now();
        leader.kill();
        lab.set_instance(n, Some(lab.instance(n, 1))).await;
        standby.leads().await;
        let led = killed.elapsed();
        lab.running(n, 1).await;
        hand_overs.push((led, killed.elapsed()));
        leader = standby;
    }
    eprintln!("from the kill until the standby leads, and until the instance runs: {hand_overs:.1?}");
    assert!(hand_overs.iter().all(|(led, _)| *led <= Duration::from_secs(5)), "{hand_overs:?}");
    lab.end(leader, 6).await;
}

/// Stops all threads of the operator's runtime at its first write of an action, then lets them go on.
fn freezes_once(at: &'static str, frozen: Arc<AtomicBool>, duration: Duration) -> Hook {
    Arc::new(move |step, action, _| {
        if step == Step::Before && action == at && !frozen.swap(true, Ordering::SeqCst) {
            let until = Instant::now() + duration;
            let freeze = move || std::thread::sleep(until.saturating_duration_since(Instant::now()));
            // more than its other threads: some may be queued where only this thread finds them
            for _ in 0..8 {
                tokio::spawn(async move { freeze() });
            }
            freeze();
        }
        Verdict::Continue
    })
}

/// The leader is frozen while it starts an instance, for longer than the lease: the standby continues the start, and
/// the old leader writes nothing when it wakes.
#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_leader_writes_nothing_when_it_wakes() {
    let lab = Lab::new(1, 2).await;
    let frozen = Arc::new(AtomicBool::new(false));
    let lasts = LeaseSettings::default().duration * 3;
    let hook = freezes_once("create_instance", Arc::clone(&frozen), lasts);
    let mut one = lab.operator("one", Some(hook)).await;
    one.leads().await;
    lab.create_units(2).await;
    let held = [lab.held(0).await, lab.held(1).await];
    let mut two = lab.operator("two", None).await;
    eventually("the standby has seen the units", async || (two.units.all().len() == 2).then_some(())).await;
    lab.set_instance(0, Some(lab.instance(0, 1))).await;
    eventually("the leader is frozen", async || frozen.load(Ordering::SeqCst).then_some(())).await;
    let writes = one.counts.writes.load(Ordering::SeqCst);
    two.leads().await;
    assert!(one.is_leading(), "it does not know yet");
    let running = lab.running(0, 1).await;
    assert_eq!(running.node, held[0].node);
    let pods = lab.pods(0).await;
    assert_eq!(roles(&pods).into_values().collect::<Vec<_>>(), ["instance"]);

    eventually("the old leader is a standby", async || (!one.is_leading()).then_some(())).await;
    // it watches again, and would act
    lab.set_instance(1, Some(lab.instance(1, 1))).await;
    lab.running(1, 1).await;
    let attempt = running.instance.unwrap().attempt;
    eventually("the old leader has seen it", async || {
        let units = one.units.all();
        let seen = |unit: &&Arc<crds::GpuUnit>| {
            unit.status.as_ref().is_some_and(|status| status.state == crds::UnitState::Running)
        };
        (units.iter().filter(seen).count() == 2).then_some(())
    })
    .await;
    assert_eq!(one.counts.writes.load(Ordering::SeqCst), writes, "a write by the replica that was frozen");
    assert!(two.is_leading());
    let uids = |pods: &[Pod]| pods.iter().map(|pod| pod.uid().unwrap()).collect::<Vec<_>>();
    assert_eq!(uids(&lab.pods(0).await), uids(&pods), "one pod per attempt");
    let after = lab.status(0).await;
    assert_eq!((after.instance.unwrap().attempt, after.recent_runs.len()), (attempt, 0));
    one.stop().await;
    lab.end(two, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_operator_writes_nothing_and_reads_nothing() {
    let lab = Lab::new(4, 10).await;
    let operator = lab.operator("one", None).await;
    lab.create_units(30).await;
    for n in 0..30 {
        lab.held(n).await;
    }
    lab.set_instance(0, Some(lab.instance(0, 1))).await;
    lab.running(0, 1).await;
    let quiet_for = async |renewals: u64| {
        let (begun, writes, reads) = (
            operator.counts.renewals.load(Ordering::SeqCst),
            operator.counts.writes.load(Ordering::SeqCst),
            operator.counts.reads.load(Ordering::SeqCst),
        );
        eventually("the lease is renewed", async || {
            (operator.counts.renewals.load(Ordering::SeqCst) >= begun + renewals).then_some(())
        })
        .await;
        (
            operator.counts.writes.load(Ordering::SeqCst) - writes,
            operator.counts.reads.load(Ordering::SeqCst) - reads,
        )
    };
    // Events, and watch events of its own writes
    quiet_for(2).await;
    assert_eq!(quiet_for(5).await, (0, 0));

    // the next operator finds the desired state
    operator.stop().await;
    let mut next = lab.operator("next", None).await;
    next.leads().await;
    let renewals = next.counts.renewals.load(Ordering::SeqCst);
    eventually("everything has been reconciled", async || {
        (next.counts.renewals.load(Ordering::SeqCst) >= renewals + 3).then_some(())
    })
    .await;
    assert_eq!(next.counts.writes.load(Ordering::SeqCst), 0, "a restart writes nothing");
    lab.end(next, 30).await;
}

/// A start that was requested before the restart is carried out after it, once.
#[tokio::test(flavor = "multi_thread")]
async fn a_restart_of_the_api_server_loses_nothing() {
    let lab = Lab::new(1, 2).await;
    if !lab.can_stop_parts() {
        return;
    }
    let operator = lab.operator("one", None).await;
    lab.create_units(2).await;
    let held = [lab.held(0).await, lab.held(1).await];
    lab.set_instance(0, Some(lab.instance(0, 1))).await;
    lab.stop(Part::ApiServer).await.end().await;
    assert_eq!(lab.running(0, 1).await.node, held[0].node);
    lab.set_instance(1, Some(lab.instance(1, 1))).await;
    assert_eq!(lab.running(1, 1).await.node, held[1].node);
    lab.set_instance(0, None).await;
    assert_eq!(lab.held(0).await.node, held[0].node);
    lab.end(operator, 2).await;
}

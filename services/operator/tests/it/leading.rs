//! Several operators, a restart of the API server, and an operator with nothing to do.

use std::sync::atomic::Ordering;

use testkit::eventually;

use crate::lab::Lab;
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

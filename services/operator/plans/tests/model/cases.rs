//! Random scripts, and some that are not.

use std::collections::BTreeSet;

use atelier_operator_plans::observation::Role;
use jiff::SignedDuration;
use proptest::prelude::*;

use crate::events::{Behavior, Event};
use crate::state::{Model, node_name, unit_name};
use crate::{NODES, PLACES, UNITS};

fn events() -> impl Strategy<Value = Event> {
    let unit = 0..UNITS;
    let behavior = prop_oneof![6 => Just(Behavior::Fine), 1 => Just(Behavior::NoImage), 1 => Just(Behavior::Crashes), 1 => Just(Behavior::NeverReady)];
    prop_oneof![
        4 => (unit.clone(), behavior).prop_map(|(n, behavior)| Event::Start(n, behavior)),
        2 => unit.clone().prop_map(Event::Stop),
        2 => unit.clone().prop_map(Event::Restart),
        12 => (unit.clone(), 0..8_usize).prop_map(|(n, writes)| Event::Reconcile(n, writes)),
        12 => unit.clone().prop_map(|n| Event::Reconcile(n, usize::MAX)),
        10 => Just(Event::Schedule),
        6 => (unit.clone(), 0..8_usize).prop_map(|(n, writes)| Event::ScheduleAround(n, writes)),
        2 => Just(Event::LoseScheduler),
        3 => Just(Event::Relist),
        10 => Just(Event::Kubelet),
        2 => unit.clone().prop_map(Event::Crash),
        1 => unit.clone().prop_map(Event::Unready),
        1 => unit.clone().prop_map(Event::DeleteByHand),
        1 => unit.clone().prop_map(Event::DeleteByForce),
        1 => unit.clone().prop_map(Event::Resize),
        1 => (unit.clone(), prop::bool::weighted(0.2)).prop_map(|(n, force)| Event::DeleteClaim(n, force)),
        10 => Just(Event::Controller),
        1 => (0..NODES).prop_map(Event::NodeDown),
        2 => (0..NODES).prop_map(Event::NodeUp),
        1 => (0..NODES, any::<bool>()).prop_map(|(n, on)| Event::Cordon(n, on)),
        2 => Just(Event::AddThief),
        2 => Just(Event::ThiefLeaves),
        8 => (1..20_i64).prop_map(Event::Wait),
        1 => unit.prop_map(Event::RemoveUnit),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: testkit::budget(100, 2000), ..ProptestConfig::default() })]
    #[test]
    fn no_unit_is_lost_or_used_twice_and_all_settle(dra in any::<bool>(), script in prop::collection::vec(events(), 0..80)) {
        let mut model = Model::new(dra);
        for event in &script {
            model.event(event);
            model.check();
            (0..UNITS).for_each(|n| model.check_wakes(n));
        }
        model.settle();
        model.check_settled();
    }
}

#[test]
fn nothing_is_written_when_nothing_changed() {
    for dra in [false, true] {
        let mut model = Model::new(dra);
        model.event(&Event::Start(0, Behavior::Fine));
        model.settle();
        model.check_settled();
        model.now += SignedDuration::from_hours(10);
        for n in 0..UNITS {
            let plan = model.decide(n).unwrap();
            assert_eq!((plan.before_status, plan.after_status), (vec![], vec![]));
            assert_eq!(Some(plan.status), model.units[n].as_ref().unwrap().status);
        }
    }
}

impl Model {
    /// Uses all places except those of the units, and lets more thieves wait. Returns how many have a place.
    fn fill(&mut self) -> usize {
        self.thieves.extend([None, None, None]);
        self.schedule();
        let stolen = self.thieves.iter().flatten().count();
        assert_eq!(stolen, NODES * PLACES - UNITS);
        stolen
    }

    /// Lets the first unit come to rest while thieves wait.
    fn settle_around_thieves(&mut self) {
        self.event(&Event::Relist);
        for _ in 0..30 {
            self.reconcile(0, usize::MAX);
            self.controller();
            self.schedule();
            self.kubelet();
            self.now += SignedDuration::from_secs(1);
        }
    }
}

/// The operator is killed after it has made a guard for one node, and its unit starts on another one.
#[test]
fn a_guard_for_another_node_is_in_nobodys_way() {
    let mut model = Model::new(false);
    for event in [
        Event::Start(0, Behavior::Fine),
        Event::Reconcile(2, 2),
        Event::Schedule,
        Event::Cordon(0, true),
        Event::Reconcile(2, 1),
        Event::Schedule,
        Event::Start(2, Behavior::Fine),
        Event::Reconcile(2, 1),
    ] {
        model.event(&event);
    }
    assert!(model.pods.iter().any(|pod| pod.role == Role::Guard), "there is no guard");
    model.settle();
    model.check_settled();
}

/// An instance whose pod was deleted on a lost node starts elsewhere, before that pod has ended.
#[test]
fn an_instance_deleted_on_a_lost_node_starts_elsewhere() {
    let mut model = Model::new(false);
    model.event(&Event::Start(0, Behavior::Fine));
    model.settle();
    let at = model.pods.iter().find(|pod| pod.role == Role::Instance).unwrap().clone();
    let node = (0..NODES).find(|n| at.node == Some(node_name(*n))).unwrap();
    let elsewhere = |model: &Model| {
        model.pods.iter().any(|pod| pod.role == Role::Instance && pod.node.is_some() && pod.node != at.node)
    };
    model.event(&Event::NodeDown(node));
    model.event(&Event::DeleteByHand(0));
    for seconds in [1, 40] {
        assert!(!elsewhere(&model), "the node may come back with the pod");
        model.event(&Event::Wait(seconds));
        for _ in 0..3 {
            model.reconcile(0, usize::MAX);
            model.schedule();
            model.check();
        }
    }
    assert!(elsewhere(&model));
    model.event(&Event::NodeUp(node));
    model.check();
    model.kubelet();
    model.settle();
    model.check_settled();
    assert!(model.pods.iter().all(|pod| pod.uid != at.uid), "the deleted pod is gone");
}

/// The claim of a pod that waits for its place is deleted, and perhaps created again: the pod can never be bound with it. The
/// start goes on with another claim, and a stop gets the place back, also when the operator is killed on the way.
#[test]
fn a_start_and_a_stop_survive_the_deletion_of_the_claim_at_any_step() {
    for (first, then) in (0..7).flat_map(|first| (0..7).map(move |then| (first, then))) {
        for (by_force, stop) in [(false, false), (false, true), (true, false), (true, true)] {
            let mut model = Model::new(true);
            model.settle();
            model.event(&Event::Start(0, Behavior::Fine));
            if stop {
                model.settle();
                model.event(&Event::Stop(0));
            }
            model.reconcile(0, first);
            model.event(&Event::DeleteClaim(0, by_force));
            model.reconcile(0, then);
            model.settle();
            model.check_settled();
        }
    }
}

/// All pods disappear while the unit changes its node, with claims on both: the pod that is created next uses the devices of
/// its node.
#[test]
fn a_place_is_taken_back_with_the_devices_of_its_node() {
    let mut model = Model::new(true);
    for event in [
        Event::Reconcile(0, usize::MAX),
        Event::Start(0, Behavior::Fine),
        Event::Schedule,
        Event::Cordon(0, true),
        Event::ScheduleAround(0, 3),
        Event::Reconcile(0, 3),
    ] {
        model.event(&event);
    }
    let nodes: BTreeSet<_> = model.claims_of(0).map(|claim| claim.observed.node.clone()).collect();
    assert_eq!(nodes.len(), 2, "the unit has devices on both nodes");
    model.event(&Event::Reconcile(0, 1));
    model.event(&Event::Reconcile(0, 5));
    model.event(&Event::DeleteByForce(0));
    model.settle();
    model.check_settled();
}

/// A placeholder gets its place as soon as the instance has ended, also while no scheduler runs.
#[test]
fn a_free_place_is_taken_back_without_the_scheduler() {
    let mut model = Model::new(false);
    model.event(&Event::Start(0, Behavior::Fine));
    model.settle();
    model.event(&Event::Stop(0));
    model.reconcile(0, usize::MAX);
    // it is waited for at first
    model.event(&Event::Wait(15));
    model.reconcile(0, usize::MAX);
    let bound = |model: &Model| {
        model
            .pods
            .iter()
            .any(|pod| pod.role == Role::Placeholder && pod.node.is_some() && pod.unit == unit_name(0))
    };
    assert!(!bound(&model), "the instance still has it");
    model.kubelet();
    model.reconcile(0, usize::MAX);
    assert!(bound(&model));
}

/// The scheduler loses its watch before any write of a start or a stop, and lists again after any other.
#[test]
fn a_thief_gets_no_place_when_the_scheduler_lists_again_at_any_step() {
    for (lost, back, dra) in
        (0..14).flat_map(|lost| (0..14).flat_map(move |back| [(lost, back, false), (lost, back, true)]))
    {
        let mut model = Model::new(dra);
        model.settle();
        let stolen = model.fill();
        model.event(&Event::Start(0, Behavior::Fine));
        for turn in 0..28 {
            if turn == 14 {
                model.settle_around_thieves();
                model.event(&Event::Stop(0));
            }
            if turn % 14 == lost {
                model.event(&Event::LoseScheduler);
            }
            if turn % 14 == (lost + back) % 14 {
                model.event(&Event::Relist);
            }
            model.reconcile(0, 1);
            model.controller();
            model.schedule();
            model.kubelet();
            model.check();
            assert_eq!(
                model.thieves.iter().flatten().count(),
                stolen,
                "{lost}, {back}, turn {turn}, dra {dra}"
            );
        }
    }
}

/// The scheduler looks at the nodes before any number of writes, and reads the nominations after them.
#[test]
fn a_thief_gets_no_place_in_a_cycle_around_the_writes() {
    for (writes, dra) in (0..8).flat_map(|writes| [(writes, false), (writes, true)]) {
        let mut model = Model::new(dra);
        model.settle();
        let stolen = model.fill();
        model.event(&Event::Start(0, Behavior::Fine));
        for turn in 0..24 {
            if turn == 12 {
                model.settle_around_thieves();
                model.event(&Event::Stop(0));
            }
            for writes in [writes, 1] {
                model.event(&Event::ScheduleAround(0, writes));
                model.controller();
                model.check();
            }
            model.kubelet();
            model.now += SignedDuration::from_secs(1);
            assert_eq!(model.thieves.iter().flatten().count(), stolen, "{writes}, turn {turn}, dra {dra}");
        }
    }
}

/// A place that is handed over or taken back is never free for a pending pod of a class in between.
#[test]
fn a_thief_gets_no_place_at_any_step_of_a_start_or_a_stop() {
    for (step, dra) in (0..20).flat_map(|step| [(step, false), (step, true)]) {
        let mut model = Model::new(dra);
        model.settle();
        let stolen = model.fill();
        model.event(&Event::Start(0, Behavior::Fine));
        for turn in 0..12 {
            if turn == 6 {
                model.event(&Event::Stop(0));
            }
            // the scheduler runs after every single write
            for writes in [step % (turn + 2), 1] {
                model.reconcile(0, writes);
                model.controller();
                assert!(!dra || model.has_devices(0), "step {step}, turn {turn}: the devices were released");
                model.schedule();
            }
            model.kubelet();
            model.now += SignedDuration::from_secs(1);
            assert_eq!(model.thieves.iter().flatten().count(), stolen, "step {step}, turn {turn}, dra {dra}");
        }
    }
}

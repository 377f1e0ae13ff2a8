//! Random scripts for the model, and two that are not.

use atelier_operator::unit::action::Action;
use crds::names;
use jiff::SignedDuration;
use proptest::prelude::*;

use super::{Event, Fate, NODES, PLACES, UNITS, World};

fn events() -> impl Strategy<Value = Event> {
    let unit = 0..UNITS;
    let fate = prop_oneof![6 => Just(Fate::Fine), 1 => Just(Fate::NoImage), 1 => Just(Fate::Crashes), 1 => Just(Fate::NeverReady)];
    prop_oneof![
        4 => (unit.clone(), fate).prop_map(|(n, fate)| Event::Start(n, fate)),
        2 => unit.clone().prop_map(Event::Stop),
        2 => unit.clone().prop_map(Event::Restart),
        12 => (unit.clone(), 0..8_usize).prop_map(|(n, writes)| Event::Look(n, writes)),
        12 => unit.clone().prop_map(|n| Event::Look(n, usize::MAX)),
        10 => Just(Event::Schedule),
        10 => Just(Event::Kubelet),
        2 => unit.clone().prop_map(Event::Crash),
        1 => unit.clone().prop_map(Event::Unready),
        1 => unit.clone().prop_map(Event::DeleteByHand),
        1 => (unit.clone(), prop::bool::weighted(0.2)).prop_map(|(n, force)| Event::DeleteClaim(n, force)),
        10 => Just(Event::Controller),
        1 => (0..NODES).prop_map(Event::NodeDown),
        2 => (0..NODES).prop_map(Event::NodeUp),
        1 => (0..NODES, any::<bool>()).prop_map(|(n, on)| Event::Cordon(n, on)),
        2 => (0..NODES).prop_map(Event::Thief),
        2 => Just(Event::ThiefLeaves),
        8 => (1..20_i64).prop_map(Event::Wait),
        1 => unit.prop_map(Event::RemoveUnit),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]
    #[test]
    fn no_unit_is_lost_or_given_twice_and_all_come_to_rest(dra in any::<bool>(), script in prop::collection::vec(events(), 0..80)) {
        let mut world = World::new(dra);
        for event in &script {
            world.event(event);
            world.check();
        }
        world.settle();
        world.check_settled();
    }
}

#[test]
fn nothing_is_written_when_nothing_changed() {
    for dra in [false, true] {
        let mut world = World::new(dra);
        world.event(&Event::Start(0, Fate::Fine));
        world.settle();
        world.check_settled();
        world.now += SignedDuration::from_hours(10);
        for n in 0..UNITS {
            let plan = world.decide(n).unwrap();
            assert_eq!((plan.first, plan.then), (vec![], vec![]));
            assert_eq!(Some(plan.status), world.units[n].as_ref().unwrap().status);
        }
    }
}

/// What waits behind an instance is relieved some time after that has ended, however long it took, and not
/// in the very moment.
#[test]
fn a_placeholder_is_relieved_when_its_place_was_left_and_is_still_not_its_own() {
    let mut world = World::new(false);
    world.event(&Event::Start(0, Fate::Fine));
    world.settle();
    // the times that a cluster tells are whole seconds
    world.now += SignedDuration::from_millis(900);
    world.event(&Event::Stop(0));
    world.look(0, usize::MAX);
    world.now += SignedDuration::from_secs(20);
    world.kubelet();
    let made = |world: &World| {
        let plan = world.decide(0).unwrap();
        let made = plan.first.into_iter().chain(plan.then).filter_map(|action| match action {
            Action::CreatePod(pod) => pod.spec.unwrap().priority_class_name,
            _ => None,
        });
        made.collect::<Vec<_>>()
    };
    assert_eq!(made(&world), Vec::<String>::new());
    world.look(0, usize::MAX);
    world.now += SignedDuration::from_secs(1);
    assert_eq!(made(&world), [names::CLASS_INSTANCE]);
}

/// A place that is handed over or taken back is never free for a starving pod of a class between.
#[test]
fn a_starving_thief_gets_no_place_at_any_step_of_a_start_or_a_stop() {
    for (step, dra) in (0..20).flat_map(|step| [(step, false), (step, true)]) {
        let mut world = World::new(dra);
        world.settle();
        // all places are taken but those of the units; thieves starve
        for _ in 0..3 {
            world.thieves.push(None);
        }
        world.schedule();
        let stolen = world.thieves.iter().flatten().count();
        assert_eq!(stolen, NODES * PLACES - UNITS);
        world.event(&Event::Start(0, Fate::Fine));
        for turn in 0..12 {
            if turn == 6 {
                world.event(&Event::Stop(0));
            }
            // the scheduler gets its turn after each single write
            for writes in [step % (turn + 2), 1] {
                world.look(0, writes);
                world.controller();
                assert!(!dra || world.has_devices(0), "step {step}, turn {turn}: the devices were let go");
                world.schedule();
            }
            world.kubelet();
            world.now += SignedDuration::from_secs(1);
            assert_eq!(world.thieves.iter().flatten().count(), stolen, "step {step}, turn {turn}, dra {dra}");
        }
    }
}

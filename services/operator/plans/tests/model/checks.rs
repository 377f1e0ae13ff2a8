//! What must hold: after every step, and once the disturbance is over.

use atelier_operator_plans::observation::{ObservedPod, Role};
use atelier_operator_plans::unit::action::Plan;
use crds::{HeldReason, UnitState, names};
use jiff::SignedDuration;

use crate::events::Event;
use crate::state::{Model, unit_name};
use crate::{NODES, PLACES, UNITS};

impl Model {
    /// A plan that neither writes nor asks for another look decides the same at any later time.
    pub(crate) fn check_wakes(&self, n: usize) {
        let rests = |plan: &Plan| {
            let status = self.units[n].as_ref().and_then(|unit| unit.status.as_ref());
            plan.before_status.is_empty()
                && plan.after_status.is_empty()
                && plan.check_place.is_none()
                && Some(&plan.status) == status
        };
        let Some(plan) = self.decide(n).filter(|plan| rests(plan) && plan.requeue_after.is_none()) else {
            return;
        };
        for seconds in [10, 10_000] {
            let later = self.decide_at(n, self.now + SignedDuration::from_secs(seconds)).unwrap();
            assert!(rests(&later), "unit {n} waits without a wake: {plan:#?}, after {seconds} s {later:#?}");
        }
    }

    /// What must hold after every single step.
    pub(crate) fn check(&self) {
        for node in self.nodes.keys() {
            assert!(self.used(node) <= PLACES, "{node} is overfull");
            assert!(!self.dra || self.devices_used(node) <= PLACES, "{node}: a device is given twice");
        }
        for n in 0..UNITS {
            let running = self.pods.iter().filter(|pod| {
                pod.unit == unit_name(n)
                    && pod.role == Role::Instance
                    && pod.node.is_some()
                    && !pod.has_ended()
                    && !self.is_down(pod)
                    && !self.abandoned.contains(&pod.uid)
            });
            assert!(running.count() <= 1, "unit {n} runs twice");
            let mut last = i64::MIN;
            for (from, to) in &self.runs[n] {
                assert!(*from >= last, "unit {n}: overlapping runs {:?}", self.runs[n]);
                last = *to;
            }
        }
    }

    /// The trouble is over: everything must come to rest where its spec wants it.
    pub(crate) fn settle(&mut self) {
        self.event(&Event::Relist);
        self.thieves.clear();
        for n in 0..NODES {
            self.event(&Event::NodeUp(n));
            self.event(&Event::Cordon(n, false));
        }
        let mut quiet = 0;
        for _ in 0..400 {
            let mut wrote = false;
            for n in 0..UNITS {
                wrote |= self.reconcile(n, usize::MAX);
                self.check();
            }
            let before = format!("{:?}{:?}", self.pods, self.claims);
            self.schedule();
            self.kubelet();
            self.controller();
            self.now += SignedDuration::from_secs(1);
            quiet =
                if wrote || before != format!("{:?}{:?}", self.pods, self.claims) { 0 } else { quiet + 1 };
            if quiet > 70 {
                return;
            }
        }
        panic!("never at rest: {:#?}\n{:#?}\n{:#?}", self.pods, self.claims, self.units);
    }

    pub(crate) fn check_settled(&self) {
        for n in 0..UNITS {
            // the cluster deletes the guards of a unit that is gone
            let is_kept = |pod: &&ObservedPod| pod.role.uses_place() || self.units[n].is_some();
            let pods: Vec<_> =
                self.pods.iter().filter(|pod| pod.unit == unit_name(n)).filter(is_kept).collect();
            let Some(unit) = &self.units[n] else {
                assert!(pods.is_empty(), "left over: {pods:?}");
                assert!(self.claims_of(n).next().is_none(), "left over: {:?}", self.claims);
                continue;
            };
            assert!(unit.metadata.deletion_timestamp.is_none(), "unit {n} does not go");
            let status = unit.status.as_ref().unwrap();
            let wanted = unit.spec.instance.as_ref();
            let failed = wanted.is_some_and(|wanted| {
                status.last_failure.as_ref().is_some_and(|failure| failure.attempt == wanted.attempt)
            });
            let ([pod], true) = (&pods[..], status.is_held()) else {
                panic!("unit {n}: {pods:#?} {status:#?}")
            };
            assert_eq!(pod.node, status.node);
            self.check_claims_settled(n, pod);
            match wanted.filter(|_| !failed) {
                Some(wanted) => {
                    assert_eq!(status.state, UnitState::Running, "unit {n}: {status:#?} {pod:#?}");
                    let own = status.instance.as_ref().unwrap();
                    assert_eq!(
                        (own.attempt, own.restart, &own.pod_name),
                        (wanted.attempt, wanted.restart, &pod.name)
                    );
                    assert_eq!(pod.role, Role::Instance);
                }
                None => {
                    assert_eq!((status.state, pod.role), (UnitState::Init, Role::Placeholder), "unit {n}");
                    assert_eq!(status.instance, None);
                    assert_eq!(
                        status.condition(names::CONDITION_HELD).unwrap().reason,
                        HeldReason::Holding.as_str()
                    );
                }
            }
        }
    }
}

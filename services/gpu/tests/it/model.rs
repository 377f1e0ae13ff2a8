//! The state machine in a simulation: random commands, failures and crashes at any point. Nothing is given
//! twice, nothing is left over, every second is billed once, every instance ends in a legal state.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crds::{HeldReason, InstanceReason, LastFailure, Run, UnitState};
use gpu_core::{
    claim::{Claim, Place},
    instance::{
        Accepted, Action, AttachedStorage, Command, CurrentOperation, Effects, End, Event as Happened,
        Failure, Instance, OnNodeLoss, OperationKind, Order, SecretChange, SecretRef, State, Step, decide,
    },
    meter::{EndedHold, Meter, Metering, RunKey},
    reason::{Reason, ReasonCode},
    unit::{DesiredInstance, Observation, Unit, UnitRef},
};
use ids::{DatacenterId, InstanceId, OperationId, RegistryCredentialId, TenantId, UnitId};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use proptest::prelude::*;

use crate::model_events::{Cut, Event, at, condition, events, order, present};

mod operator;

/// Runs a unit's status remembers.
const RECENT: usize = 8;

/// The meter's table for one instance.
type Ledger = BTreeMap<RunKey, Option<Timestamp>>;

const CLUSTER: &str = "c";

struct Model {
    clock: i64,
    instances: Vec<Instance>,
    operations: BTreeMap<OperationId, Option<End>>,
    ledgers: Vec<Ledger>,
    /// The same for holds.
    holds: Vec<Ledger>,
    /// Stock's truth: unit → holder.
    claims: BTreeMap<usize, InstanceId>,
    attached: Vec<bool>,
    /// The cluster's Secrets, by name.
    secrets: BTreeSet<String>,
    units: Vec<Unit>,
    /// What was so one change earlier: a watch that lags.
    before: Vec<Unit>,
    /// How long each instance really ran.
    truth: BTreeMap<InstanceId, i64>,
    evidence_lost: bool,
}

fn number(unit: &UnitRef) -> usize {
    unit.name.trim_start_matches("unit-").parse().unwrap()
}

impl Model {
    fn new() -> Self {
        let unit = |n: usize| Unit {
            name: format!("unit-{n}"),
            own_namespace: None,
            resource_version: "1".into(),
            generation: 1,
            observed_generation: Some(1),
            desired: None,
            state: UnitState::Init,
            node: Some("node".into()),
            cpu_cores: Some(4.0),
            gpus: 1,
            datacenter: String::new(),
            instance: None,
            runs: vec![],
            failure: None,
            held: condition(true, HeldReason::Holding),
            ready: condition(false, InstanceReason::Idle),
            tenant_code: None,
        };
        let mut operations = BTreeMap::new();
        let instances: Vec<Instance> = (0..3)
            .map(|n| {
                let operation = OperationId::new();
                operations.insert(operation, None);
                Instance {
                    managed_by: None,
                    leave_by: None,
                    id: InstanceId::new(),
                    tenant: TenantId::new(),
                    name: format!("i{n}"),
                    order: Order {
                        on_node_loss: if n == 0 { OnNodeLoss::Stop } else { OnNodeLoss::Restart },
                        ..order()
                    },
                    idle_stop: None,
                    public_ports: vec![],
                    state: State::Pending { reason: None, wait: false, held: None, left: None },
                    attempt: 1,
                    restart: 0,
                    restored_attempt: None,
                    attached: BTreeMap::new(),
                    detaching: vec![],
                    secrets: match n {
                        0 => vec![],
                        _ => vec![SecretRef { name: "TOKEN".into(), updated_at: at(0) }],
                    },
                    secret_objects: vec![],
                    pull_credential: (n == 2).then(RegistryCredentialId::new),
                    meter: Meter::default(),
                    last_place: None,
                    operation: CurrentOperation { id: operation, kind: OperationKind::Create },
                    generation: 1,
                    created_at: at(0),
                    updated_at: at(0),
                }
            })
            .collect();
        Self {
            clock: 0,
            operations,
            ledgers: vec![Ledger::new(); instances.len()],
            holds: vec![Ledger::new(); instances.len()],
            attached: vec![false; instances.len()],
            secrets: BTreeSet::new(),
            instances,
            claims: BTreeMap::new(),
            units: vec![unit(0), unit(1)],
            before: vec![unit(0), unit(1)],
            truth: BTreeMap::new(),
            evidence_lost: false,
        }
    }

    fn effects(&mut self, i: usize, effects: Effects) {
        for operation in effects.ended {
            // an operation that has ended does not change
            let ended = self.operations.get_mut(&operation.id).unwrap();
            if ended.is_none() {
                *ended = Some(operation.end);
            }
        }
        for metering in effects.metering {
            match metering {
                Metering::Open(key) => {
                    self.ledgers[i].entry(key).or_insert(None);
                }
                Metering::Close(run) => {
                    let end = self.ledgers[i].entry(run.key).or_insert(None);
                    *end = Some(end.map_or(run.ended_at, |before| before.max(run.ended_at)));
                }
                Metering::CloseUnseen(key) => {
                    assert!(self.evidence_lost, "the end of a run was missed though the unit told it");
                    self.ledgers[i].entry(key).and_modify(|end| *end = end.or(Some(key.since)));
                }
                Metering::OpenHold(key) => {
                    assert_eq!(self.holds[i].insert(key, None), None, "a hold is metered twice");
                    assert!(!self.ledgers[i].contains_key(&key), "a hold has the key of a run");
                }
                Metering::CloseHold(EndedHold { key, ended_at, .. }) => {
                    assert!(ended_at >= key.since, "a hold ends before it begins");
                    assert_eq!(self.holds[i].insert(key, Some(ended_at)), Some(None), "a hold ends twice");
                }
            }
        }
    }

    fn observation(units: &[Unit], instance: &Instance) -> Observation {
        match instance.state.unit() {
            None => Observation::Unknown,
            Some(own) => units
                .iter()
                .find(|unit| unit.name == own.name)
                .map_or(Observation::Gone, |unit| Observation::Unit(Arc::new(unit.clone()))),
        }
    }

    /// One step of a replica, as `reconcile.rs` carries it out. Returns whether anything was to be done.
    fn step(&mut self, i: usize, cut: Cut, stale: bool) -> bool {
        let mut instance = self.instances[i].clone();
        let name = instance.id.k8s_name();
        let observed = if stale { &self.before } else { &self.units };
        let own = instance.state.unit().cloned();
        let unclaimed: Vec<UnitRef> = observed
            .iter()
            .filter(|unit| unit.desired.as_ref().is_some_and(|desired| desired.name == name))
            .map(|unit| UnitRef { cluster: CLUSTER.into(), name: unit.name.clone() })
            .filter(|unit| Some(unit) != own.as_ref())
            .collect();
        let mut step =
            decide(&instance, &Self::observation(observed, &instance), &unclaimed, false, at(self.clock));
        if step.needs_confirmation() {
            step = decide(&instance, &Self::observation(&self.units, &instance), &[], false, at(self.clock));
        }
        if cut == Cut::BeforeActing {
            return true;
        }
        let event = match step {
            Step::Wait(reason) => {
                instance.state.set_reason(reason);
                self.instances[i] = instance;
                return false;
            }
            Step::Record(event) => event,
            Step::Act(Action::Attach(storage)) => {
                self.attached[i] = true;
                let attached = AttachedStorage { object_name: "stor-1".into(), cluster: None };
                Happened::StorageAttached(storage, attached)
            }
            Step::Act(Action::DetachRemoved(_)) => unreachable!("no storage is removed in this model"),
            Step::Act(Action::Claim) => self.claim(instance.id),
            Step::Act(Action::WriteSecret(secret)) => {
                self.secrets.insert(secret.name.clone());
                Happened::Secret(SecretChange::Written(secret))
            }
            Step::Act(Action::DeleteSecret(secret)) => {
                self.secrets.remove(&secret.name);
                Happened::Secret(SecretChange::Deleted(secret))
            }
            Step::Act(Action::Apply) => return self.apply(&instance, number(&own.unwrap())),
            Step::Act(Action::Vacate(unit)) => {
                self.vacate(number(&unit), &name);
                return true;
            }
            Step::Act(Action::Release) => {
                self.release(instance.id);
                Happened::Released
            }
            Step::Act(Action::Detach) => {
                self.attached[i] = false;
                Happened::StoragesDetached
            }
            Step::Act(Action::ReleaseLeftovers) => unreachable!("no reconcile is due in this model"),
        };
        if cut == Cut::AfterActing {
            return true;
        }
        let effects = instance.on(event).expect("a step that was decided fits the state");
        instance.generation += 1;
        self.instances[i] = instance;
        self.effects(i, effects);
        true
    }

    /// Writes the instance into its unit. Returns whether the unit was free for it.
    fn apply(&mut self, instance: &Instance, u: usize) -> bool {
        let desired = DesiredInstance {
            name: instance.id.k8s_name(),
            attempt: instance.attempt,
            restart: instance.restart,
            pull_secret: instance.pull_secret_name(),
        };
        assert_eq!(self.claims.get(&u), Some(&instance.id), "written into a unit that is not the instance's");
        if self.units[u].desired.as_ref().is_some_and(|present| present.name != desired.name) {
            return false;
        }
        self.change(u, |unit| {
            if unit.desired.as_ref() != Some(&desired) {
                unit.desired = Some(desired);
                unit.generation += 1;
            }
        });
        true
    }

    fn release(&mut self, id: InstanceId) {
        let name = id.k8s_name();
        if let Some((&u, _)) = self.claims.iter().find(|(_, holder)| **holder == id) {
            let unit = &self.units[u];
            assert!(
                unit.instance.as_ref().is_none_or(|present| present.id != name)
                    && unit.desired.as_ref().is_none_or(|desired| desired.name != name),
                "released while in use: {unit:?}"
            );
            self.claims.remove(&u);
        }
    }

    fn vacate(&mut self, u: usize, name: &str) {
        self.change(u, |unit| {
            if unit.desired.as_ref().is_some_and(|desired| desired.name == name) {
                unit.desired = None;
                unit.generation += 1;
            }
        });
    }

    /// The stock service: returns the instance's unit, or a free one that holds its place.
    fn claim(&mut self, id: InstanceId) -> Happened {
        let mine = self.claims.iter().find(|(_, holder)| **holder == id).map(|(u, _)| *u);
        let free = (0..self.units.len())
            .find(|u| !self.claims.contains_key(u) && self.units[*u].held.as_ref().unwrap().met);
        let Some(u) = mine.or(free) else {
            return Happened::Failed(Failure::new(Reason::new(ReasonCode::StockExhausted, "none is free")));
        };
        self.claims.insert(u, id);
        Happened::Claimed(Claim {
            displaced: None,
            unit_id: UnitId::new(),
            unit: UnitRef { cluster: CLUSTER.into(), name: self.units[u].name.clone() },
            place: Place { datacenter_id: DatacenterId::new(), datacenter_name: "dc".into(), node: None },
            price_per_hour: "0.5".parse().unwrap(),
            currency: "EUR".into(),
            hold_price_fraction: Some("0.5".parse().unwrap()),
            claimed_at: at(self.clock),
        })
    }

    fn command(&mut self, i: usize, command: Command) {
        let operation = OperationId::new();
        let mut instance = self.instances[i].clone();
        if let Ok(Accepted::New(effects)) = instance.command(command, operation, at(self.clock)) {
            self.operations.insert(operation, None);
            instance.generation += 1;
            self.instances[i] = instance;
            self.effects(i, effects);
        }
    }

    fn happen(&mut self, event: &Event) {
        match *event {
            Event::Start(i) => self.command(i, Command::Start),
            Event::Stop(i) => self.command(i, Command::Stop),
            Event::StopAndHold(i, seconds) => {
                self.command(i, Command::StopAndHold(at(self.clock + i64::from(seconds))));
            }
            Event::ReleaseHold(i) => self.command(i, Command::ReleaseHold),
            Event::Restart(i) => self.command(i, Command::Restart),
            Event::Delete(i) => self.command(i, Command::Delete),
            Event::Step { instance, cut, stale } => {
                self.step(instance, cut, stale);
            }
            Event::Operate(u) => self.operate(u),
            Event::OperateLate(u) => self.operate_late(u),
            Event::Crash(u) => {
                if self.units[u].instance.is_some() {
                    self.end_run(u, "ContainerExited");
                    self.change(u, |unit| unit.state = UnitState::Ready);
                }
            }
            Event::FailStart(u) => {
                let (now, present) = (at(self.clock), self.units[u].instance.clone());
                if let Some(present) = present.filter(|present| present.running_since.is_none()) {
                    self.change(u, |unit| {
                        unit.instance = None;
                        unit.state = UnitState::Init;
                        unit.failure = Some(LastFailure {
                            instance_id: present.id,
                            attempt: present.attempt,
                            reason: "ContainerExited".into(),
                            message: "it ended".into(),
                            log_tail: "bye".into(),
                            at: Time(now),
                        });
                    });
                }
            }
            Event::NodeLost(u) => {
                self.end_run(u, "NodeLost");
                self.change(u, |unit| {
                    unit.instance = None;
                    unit.state = UnitState::Init;
                    unit.held = condition(false, HeldReason::NodeLost);
                });
            }
            Event::NodeBack(u) => {
                self.change(u, |unit| unit.held = condition(true, HeldReason::Holding));
            }
            Event::EmptiedByHand(u) => {
                self.change(u, |unit| {
                    if unit.desired.take().is_some() {
                        unit.generation += 1;
                    }
                });
            }
            Event::Time(seconds) => self.clock += i64::from(seconds),
        }
        self.check();
    }

    /// What holds at every moment.
    fn check(&self) {
        for (u, unit) in self.units.iter().enumerate() {
            if let Some(present) = &unit.instance {
                let holder = self.claims.get(&u).map(|id| id.k8s_name());
                assert_eq!(holder.as_ref(), Some(&present.id), "runs in a unit that it does not hold");
            }
            if let Some(desired) = &unit.desired {
                let id = InstanceId::from_k8s_name(&desired.name).unwrap();
                let instance = self.instances.iter().find(|instance| instance.id == id).unwrap();
                let secret = format!("{}-{}", desired.name, desired.attempt);
                let has_all = instance.secrets.is_empty() || self.secrets.contains(&secret);
                assert!(has_all, "the pod waits for {secret}: {:?}", instance.state);
            }
        }
        for (i, instance) in self.instances.iter().enumerate() {
            let held = self.claims.values().filter(|holder| **holder == instance.id).count();
            assert!(held <= 1, "two units for one instance");
            let keeps = instance.hold().is_some();
            let open = self.holds[i].values().filter(|end| end.is_none()).count();
            let unrecorded = instance.meter.ended_hold.is_some();
            assert_eq!(open, usize::from(keeps || unrecorded), "what is metered is not what is held");
            if let Some(hold) = instance.hold() {
                assert_eq!(self.claims.get(&number(&hold.claim.unit)), Some(&instance.id), "holds no unit");
            }
            if matches!(instance.state, State::Stopped { .. } | State::Deleted) {
                assert_eq!(held, usize::from(keeps), "a unit is left over");
                let name = instance.id.k8s_name();
                let left = self.secrets.iter().find(|secret| secret.starts_with(&name));
                assert_eq!(left, None, "a Secret is left over");
                assert!(self.ledgers[i].values().all(Option::is_some), "a run is left open");
            }
            if matches!(instance.state, State::Deleted) {
                assert!(!self.attached[i], "a storage is left attached");
            }
            // runs, in their order, do not overlap
            let mut until = None;
            let mut all = self.ledgers[i].clone();
            all.extend(&self.holds[i]);
            for (key, end) in &all {
                assert!(until.is_none_or(|until: Option<Timestamp>| until.is_some_and(|u| u <= key.since)));
                until = Some(*end);
            }
        }
    }

    /// Waits until nothing changes any more.
    fn settle(&mut self) {
        for u in 0..self.units.len() {
            self.happen(&Event::NodeBack(u));
        }
        for _ in 0..200 {
            let mut busy = false;
            for i in 0..self.instances.len() {
                busy |= self.step(i, Cut::No, false);
                self.check();
            }
            let before = self.units.clone();
            for u in 0..self.units.len() {
                self.operate(u);
                self.check();
            }
            if !busy && self.units == before {
                return;
            }
        }
        panic!("it does not come to rest: {:?}", self.instances.iter().map(|i| &i.state).collect::<Vec<_>>());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: testkit::budget(100, 2000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_given_twice_or_left_over(events in events()) {
        let mut model = Model::new();
        for event in &events {
            model.happen(event);
        }
        model.settle();
        for i in 0..model.instances.len() {
            let instance = &model.instances[i];
            prop_assert!(
                matches!(instance.state, State::Running { .. } | State::Stopped { .. } | State::Deleted),
                "not at rest: {:?}", instance.state
            );
            // every operation has ended
            prop_assert!(model.operations[&instance.operation.id].is_some());
        }
        prop_assert!(model.operations.values().all(Option::is_some), "an operation never ends");
        // all stop: every second that was run is billed, once
        model.clock += 7;
        for i in 0..model.instances.len() {
            model.command(i, Command::Stop);
            model.command(i, Command::ReleaseHold);
        }
        model.settle();
        prop_assert!(model.claims.is_empty());
        for (i, instance) in model.instances.iter().enumerate() {
            prop_assert!(matches!(instance.state, State::Stopped { .. } | State::Deleted), "not down");
            let billed: i64 = model.ledgers[i]
                .iter()
                .map(|(key, end)| end.unwrap().as_second() - key.since.as_second())
                .sum();
            let ran = model.truth.get(&instance.id).copied().unwrap_or_default();
            if model.evidence_lost {
                prop_assert!(billed <= ran, "billed {billed}, ran {ran}");
            } else {
                prop_assert_eq!(billed, ran);
            }
        }
    }
}

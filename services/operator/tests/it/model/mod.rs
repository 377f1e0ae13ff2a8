//! The unit state machine against a small model of a cluster: random commands, failures, thieves, lost
//! nodes and operators that die between any two writes. No place is given twice, no unit is lost, and once
//! the trouble is over every unit is where its spec wants it. All of it once more for units whose devices are
//! claimed: no device is given twice, and none is left behind.

use std::collections::{BTreeMap, BTreeSet};

use atelier_operator::settings::Settings;
use atelier_operator::unit::action::Action;
use atelier_operator::unit::plan::{Observed, Plan, plan};
use atelier_operator::view::{DeviceClaimView, Dra, Exit, NodeView, Phase, PodView, Role};
use crds::{GpuUnit, HeldReason, UnitState, names};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::json;

mod cases;
mod claims;

const UNITS: usize = 3;
const NODES: usize = 2;
/// Places on each node, and devices: one to spare in the whole cluster.
const PLACES: usize = 2;
const TENANT: &str = "ten-00000000000000000000000000000001";

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Fine,
    NoImage,
    Crashes,
    NeverReady,
}

#[derive(Clone, Debug)]
enum Event {
    Start(usize, Fate),
    Stop(usize),
    Restart(usize),
    /// Look at the unit and die after so many writes.
    Look(usize, usize),
    Schedule,
    Kubelet,
    Crash(usize),
    Unready(usize),
    DeleteByHand(usize),
    /// Somebody deletes a unit's claim, or even what keeps it in being.
    DeleteClaim(usize, bool),
    /// The controller of claims looks around.
    Controller,
    NodeDown(usize),
    NodeUp(usize),
    Cordon(usize, bool),
    Thief(usize),
    ThiefLeaves,
    Wait(i64),
    RemoveUnit(usize),
}

struct World {
    /// Devices are claimed, and thieves want them.
    dra: bool,
    claims: Vec<claims::Claim>,
    now: Timestamp,
    units: Vec<Option<GpuUnit>>,
    fates: Vec<Fate>,
    pods: Vec<PodView>,
    priority: BTreeMap<String, i32>,
    nodes: BTreeMap<String, NodeView>,
    /// Nodes of pods of a middle class that steal what is free.
    thieves: Vec<Option<String>>,
    settled: Vec<Timestamp>,
    uids: u64,
    settings: Settings,
    /// Closed runs that were seen, to find overlaps.
    runs: Vec<BTreeSet<(i64, i64)>>,
}

fn node_name(n: usize) -> String {
    format!("node-{}", n % NODES)
}

fn unit_name(n: usize) -> String {
    format!("unit-{n:032x}")
}

impl World {
    fn new(dra: bool) -> Self {
        let allocation = if dra {
            json!({"kind": "dra", "deviceClass": "gpus"})
        } else {
            json!({"kind": "device", "resource": "nvidia.com/gpu"})
        };
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let unit = |n: usize| {
            let mut unit: GpuUnit = serde_json::from_value(json!({
                "apiVersion": "atelier.dev/v1alpha1", "kind": "GpuUnit",
                "metadata": {"name": unit_name(n), "uid": format!("u{n}"), "generation": 1},
                "spec": {"gpuSpec": "small", "resources": {"cpu": "4", "memory": "16Gi"},
                    "gpu": {"model": "RTX 3080", "count": 1, "allocation": allocation}},
            }))
            .unwrap();
            unit.metadata.finalizers = None;
            Some(unit)
        };
        let node = NodeView { ready: true, since: Some(now), cordoned: false };
        Self {
            dra,
            claims: Vec::new(),
            now,
            units: (0..UNITS).map(unit).collect(),
            fates: vec![Fate::Fine; UNITS],
            pods: Vec::new(),
            priority: BTreeMap::new(),
            nodes: (0..NODES).map(|n| (node_name(n), node.clone())).collect(),
            thieves: Vec::new(),
            settled: vec![now; UNITS],
            uids: 0,
            settings: Settings::default(),
            runs: vec![BTreeSet::new(); UNITS],
        }
    }

    fn observe(&self, n: usize) -> Observed {
        Observed {
            now: self.now,
            settled_since: self.settled[n],
            preempted: false,
            pods: self.pods.iter().filter(|pod| pod.unit == unit_name(n)).cloned().collect(),
            nodes: self.nodes.clone(),
            storages: BTreeMap::new(),
            dra: Dra::Served,
            claims: self.claims_of(n).map(|claim| claim.view.clone()).collect(),
            mirrors: Vec::new(),
        }
    }

    fn decide(&self, n: usize) -> Option<Plan> {
        let unit = self.units[n].as_ref()?;
        Some(plan(unit, &self.observe(n), &self.settings))
    }

    /// One look, dying after `writes` of them; true when something was written.
    fn look(&mut self, n: usize, writes: usize) -> bool {
        let Some(plan) = self.decide(n) else { return false };
        let mut left = writes;
        let mut wrote = false;
        let mut spend = || {
            let go = left > 0;
            left = left.saturating_sub(1);
            go
        };
        for action in &plan.first {
            if !spend() {
                return wrote;
            }
            wrote = true;
            if !self.apply(n, action) {
                return wrote;
            }
        }
        let unit = self.units[n].as_mut().unwrap();
        if unit.status.as_ref() != Some(&plan.status) {
            if !spend() {
                return wrote;
            }
            wrote = true;
            unit.status = Some(plan.status.clone());
            if let Some(run) = &plan.status.last_run {
                assert!(run.ended_at.0 >= run.running_since.0);
                self.runs[n].insert((run.running_since.0.as_second(), run.ended_at.0.as_second()));
            }
        }
        for action in &plan.then {
            if !spend() {
                return wrote;
            }
            wrote = true;
            if !self.apply(n, action) {
                return wrote;
            }
        }
        wrote
    }

    /// Carries out one write as the API server would; false when it refuses.
    fn apply(&mut self, n: usize, action: &Action) -> bool {
        match action {
            Action::AddFinalizer => {
                self.units[n].as_mut().unwrap().metadata.finalizers =
                    Some(vec![names::FINALIZER_UNIT.to_owned()]);
            }
            Action::RemoveFinalizer => {
                let live = self
                    .pods
                    .iter()
                    .any(|pod| pod.unit == unit_name(n) && !pod.is_over() && !self.is_down(pod));
                assert!(!live, "the unit went before its pods");
                assert!(self.claims_of(n).all(|claim| claim.view.holder.is_none()), "a claim stays reserved");
                self.units[n] = None;
            }
            Action::EnsureTenant { .. } | Action::EnsureHome { .. } => {}
            Action::CreateClaim(claim) => {
                self.uids += 1;
                let uid = format!("c{}", self.uids);
                return self.create_claim(claim, uid);
            }
            Action::ReserveClaim(at) => return self.reserve_claim(at, n),
            Action::UnreserveClaim(at) => self.unreserve_claim(at),
            Action::DeleteClaim(at) => self.delete_claim(&at.uid, false),
            Action::MirrorVolume { .. } | Action::DropMirror(_) => panic!("no unit has a storage here"),
            Action::CreatePod(pod) => {
                let namespace = pod.metadata.namespace.clone();
                let name = pod.metadata.name.clone();
                if self.pods.iter().any(|known| {
                    Some(&known.name) == name.as_ref() && Some(&known.namespace) == namespace.as_ref()
                }) {
                    return false;
                }
                let mut pod = (**pod).clone();
                self.uids += 1;
                pod.metadata.uid = Some(format!("p{}", self.uids));
                pod.metadata.creation_timestamp =
                    Some(Time(Timestamp::from_second(self.now.as_second()).unwrap()));
                let class = pod.spec.as_ref().unwrap().priority_class_name.clone().unwrap();
                let priority = match class.as_str() {
                    names::CLASS_INSTANCE => 1_000_000,
                    names::CLASS_RETURNING => 999_000,
                    _ => -1000,
                };
                let view = PodView::of(&pod).unwrap();
                self.priority.insert(view.uid.clone(), priority);
                self.pods.push(view);
            }
            Action::Nominate { pod, node } => {
                let found = self
                    .pods
                    .iter_mut()
                    .find(|known| known.name == pod.name && known.namespace == pod.namespace);
                match found.filter(|found| pod.uid.as_ref().is_none_or(|uid| *uid == found.uid)) {
                    Some(found) if found.node.is_none() => found.nominated = Some(node.clone()),
                    Some(_) => {}
                    None => return false,
                }
            }
            Action::DeletePod { pod, grace } => {
                let now = self.now;
                let found = self.pods.iter().position(|known| Some(&known.uid) == pod.uid.as_ref());
                let Some(at) = found else { return true };
                let known = &mut self.pods[at];
                if *grace == Some(0) && !known.kept {
                    self.pods.remove(at);
                    self.settled[n] = now;
                } else {
                    known.deleting = true;
                    known.confirmed = *grace == Some(0);
                }
            }
            Action::ReleasePod(pod) => {
                let now = self.now;
                let Some(at) = self.pods.iter().position(|known| Some(&known.uid) == pod.uid.as_ref()) else {
                    return true;
                };
                self.pods[at].kept = false;
                assert!(self.pods[at].deleting);
                if self.pods[at].is_over() {
                    self.pods.remove(at);
                    self.settled[n] = now;
                }
            }
        }
        true
    }

    fn is_down(&self, pod: &PodView) -> bool {
        pod.node.as_ref().is_some_and(|node| !self.nodes[node].ready)
    }

    fn used(&self, node: &str) -> usize {
        let pods = self
            .pods
            .iter()
            .filter(|pod| pod.node.as_deref() == Some(node) && pod.phase != Phase::Ended && !pod.is_over());
        pods.count() + self.thieves.iter().filter(|at| at.as_deref() == Some(node)).count()
    }

    /// The scheduler: by priority, and a nominated pod counts on its node for all of its priority or less.
    fn schedule(&mut self) {
        let mut waiting: Vec<(i32, Option<usize>, usize)> = Vec::new();
        for (at, pod) in self.pods.iter().enumerate() {
            if pod.node.is_none() && !pod.deleting {
                waiting.push((self.priority[&pod.uid], Some(at), 0));
            }
        }
        for (at, thief) in self.thieves.iter().enumerate() {
            if thief.is_none() {
                waiting.push((0, None, at));
            }
        }
        waiting.sort_by_key(|(priority, ..)| -priority);
        for (priority, pod, thief) in waiting {
            let me = pod.map(|at| self.pods[at].uid.clone());
            let claim = pod.and_then(|at| self.pods[at].claim.clone());
            let fits = |node: &String| {
                let nominated = self.pods.iter().filter(|other| {
                    other.node.is_none()
                        && !other.deleting
                        && other.nominated.as_ref() == Some(node)
                        && Some(&other.uid) != me.as_ref()
                        && self.priority[&other.uid] >= priority
                });
                let view = &self.nodes[node];
                let devices = match (&claim, pod) {
                    (Some(name), _) => self.claim_allows(name, node),
                    (None, Some(_)) => true,
                    (None, None) => !self.dra || self.devices_used(node) < PLACES,
                };
                view.ready && !view.cordoned && devices && self.used(node) + nominated.count() < PLACES
            };
            let found = self.nodes.keys().find(|node| {
                let allowed = pod
                    .is_none_or(|at| self.pods[at].required_node.as_ref().is_none_or(|only| only == *node));
                allowed && fits(node)
            });
            let found = found.cloned();
            match (pod, found) {
                (Some(at), Some(node)) => {
                    self.bind_claim(at, &node);
                    self.pods[at].node = Some(node);
                    self.pods[at].unschedulable = None;
                }
                (Some(at), None) => {
                    self.pods[at].unschedulable = Some("0/2 nodes are available".to_owned());
                    self.release_claim(at);
                }
                (None, found) => self.thieves[thief] = found,
            }
        }
    }

    /// One step of every pod on a node that answers.
    fn kubelet(&mut self) {
        let now = Timestamp::from_second(self.now.as_second()).unwrap();
        let mut gone = Vec::new();
        for pod in &mut self.pods {
            let Some(node) = &pod.node else { continue };
            if !self.nodes[node].ready || pod.phase == Phase::Ended {
                continue;
            }
            let n = usize::from_str_radix(&pod.unit[5..], 16).unwrap();
            if pod.deleting {
                pod.ready = false;
                pod.container_running = false;
                pod.container_ended = true;
                pod.phase = Phase::Ended;
                pod.exit = Some(Exit { code: 0, reason: "Completed".to_owned(), at: Some(now) });
                if !pod.kept {
                    gone.push((pod.uid.clone(), n));
                }
                continue;
            }
            let fate = if pod.role == Role::Placeholder { Fate::Fine } else { self.fates[n] };
            match fate {
                Fate::NoImage => pod.waiting = Some(("ErrImagePull".to_owned(), "no such image".to_owned())),
                Fate::Crashes => {
                    pod.phase = Phase::Running;
                    pod.restarts += 1;
                    pod.waiting = Some(("CrashLoopBackOff".to_owned(), String::new()));
                    pod.exit = Some(Exit { code: 1, reason: "Error".to_owned(), at: Some(now) });
                }
                Fate::NeverReady | Fate::Fine if pod.phase == Phase::Pending => {
                    pod.phase = Phase::Running;
                    pod.container_running = true;
                }
                Fate::Fine if !pod.ready => {
                    pod.container_running = true;
                    pod.container_ended = false;
                    pod.ready = true;
                    pod.ready_since = Some(now);
                    pod.ip = Some("10.0.0.1".to_owned());
                }
                _ => {}
            }
        }
        for (uid, n) in gone {
            self.pods.retain(|pod| pod.uid != uid);
            self.settled[n] = self.now;
        }
    }

    fn wish(&mut self, n: usize, change: impl FnOnce(&mut GpuUnit)) {
        if let Some(unit) = self.units[n].as_mut().filter(|unit| unit.metadata.deletion_timestamp.is_none()) {
            change(unit);
            *unit.metadata.generation.as_mut().unwrap() += 1;
        }
    }

    fn event(&mut self, event: &Event) {
        let now = self.now;
        match event {
            Event::Start(n, fate) => {
                let idle = self.units[*n].as_ref().is_some_and(|unit| {
                    unit.spec.instance.is_none()
                        && unit.status.as_ref().is_none_or(|status| status.instance.is_none())
                });
                if idle {
                    self.fates[*n] = *fate;
                    let attempt = now.as_second();
                    let n = *n;
                    self.wish(n, |unit| {
                        unit.spec.instance = Some(
                            serde_json::from_value(
                                json!({"id": format!("inst-{n:032x}"), "attempt": attempt, "tenantId": TENANT,
                                "image": "atelier/webui:1.6", "startTimeoutSeconds": 60}),
                            )
                            .unwrap(),
                        );
                    });
                }
            }
            Event::Stop(n) => self.wish(*n, |unit| unit.spec.instance = None),
            Event::Restart(n) => self.wish(*n, |unit| {
                if let Some(instance) = &mut unit.spec.instance {
                    instance.restart += 1;
                }
            }),
            Event::Look(n, writes) => drop(self.look(*n, *writes)),
            Event::Schedule => self.schedule(),
            Event::Kubelet => self.kubelet(),
            Event::Crash(n) => {
                let mine = |pod: &&mut PodView| {
                    pod.unit == unit_name(*n) && pod.role == Role::Instance && pod.container_running
                };
                if let Some(pod) = self.pods.iter_mut().find(mine) {
                    pod.ready = false;
                    pod.ready_since = Some(Timestamp::from_second(now.as_second()).unwrap());
                    pod.container_running = false;
                    pod.restarts += 1;
                    pod.exit = Some(Exit { code: 137, reason: "OOMKilled".to_owned(), at: pod.ready_since });
                }
            }
            Event::Unready(n) => {
                let mine =
                    |pod: &&mut PodView| pod.unit == unit_name(*n) && pod.role == Role::Instance && pod.ready;
                if let Some(pod) = self.pods.iter_mut().find(mine) {
                    pod.ready = false;
                    pod.ready_since = Some(Timestamp::from_second(now.as_second()).unwrap());
                }
            }
            Event::DeleteByHand(n) => {
                let Some(at) = self.pods.iter().position(|pod| pod.unit == unit_name(*n)) else { return };
                if self.pods[at].kept || self.pods[at].role == Role::Instance {
                    self.pods[at].deleting = true;
                } else {
                    self.pods.remove(at);
                    self.settled[*n] = now;
                }
            }
            Event::DeleteClaim(n, by_force) => {
                let found = self.claims_of(*n).next().map(|claim| claim.view.uid.clone());
                if let Some(uid) = found {
                    self.delete_claim(&uid, *by_force);
                }
            }
            Event::Controller => self.controller(),
            Event::NodeDown(n) => {
                let node = self.nodes.get_mut(&node_name(*n)).unwrap();
                if node.ready {
                    *node = NodeView { ready: false, since: Some(now), ..node.clone() };
                    let at = Timestamp::from_second(now.as_second()).unwrap();
                    for pod in self.pods.iter_mut().filter(|pod| pod.node == Some(node_name(*n)) && pod.ready)
                    {
                        pod.ready = false;
                        pod.ready_since = Some(at);
                    }
                }
            }
            Event::NodeUp(n) => {
                let node = self.nodes.get_mut(&node_name(*n)).unwrap();
                *node = NodeView { ready: true, since: Some(now), ..node.clone() };
            }
            Event::Cordon(n, cordoned) => self.nodes.get_mut(&node_name(*n)).unwrap().cordoned = *cordoned,
            Event::Thief(n) if self.thieves.len() < 3 => {
                let _ = n;
                self.thieves.push(None);
            }
            Event::Thief(_) => {}
            Event::ThiefLeaves => drop(self.thieves.pop()),
            Event::Wait(seconds) => self.now = now + SignedDuration::from_secs(*seconds),
            Event::RemoveUnit(n) => {
                if let Some(unit) = &mut self.units[*n] {
                    unit.metadata.deletion_timestamp = Some(Time(now));
                    if unit.metadata.finalizers.is_none() {
                        self.units[*n] = None;
                        self.pods.retain(|pod| pod.unit != unit_name(*n));
                        self.claims.retain(|claim| claim.view.unit != unit_name(*n));
                    }
                }
            }
        }
    }

    /// What must hold after every single step.
    fn check(&self) {
        for node in self.nodes.keys() {
            assert!(self.used(node) <= PLACES, "{node} is overfull");
            assert!(!self.dra || self.devices_used(node) <= PLACES, "{node}: a device is given twice");
        }
        for n in 0..UNITS {
            let running = self.pods.iter().filter(|pod| {
                pod.unit == unit_name(n)
                    && pod.role == Role::Instance
                    && pod.node.is_some()
                    && !pod.is_over()
                    && !self.is_down(pod)
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
    fn settle(&mut self) {
        self.thieves.clear();
        for n in 0..NODES {
            self.event(&Event::NodeUp(n));
            self.event(&Event::Cordon(n, false));
        }
        let mut quiet = 0;
        for _ in 0..400 {
            let mut wrote = false;
            for n in 0..UNITS {
                wrote |= self.look(n, usize::MAX);
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

    fn check_settled(&self) {
        for n in 0..UNITS {
            let pods: Vec<_> = self.pods.iter().filter(|pod| pod.unit == unit_name(n)).collect();
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

//! The model's state, and a reconcile of one unit.

use std::collections::{BTreeMap, BTreeSet};

use atelier_operator_plans::observation::{DraSupport, ObservedNode, ObservedPod};
use atelier_operator_plans::settings::Settings;
use atelier_operator_plans::unit::action::Plan;
use atelier_operator_plans::unit::plan::plan;
use atelier_operator_plans::unit::resources::template_hash;
use atelier_operator_plans::unit::snapshot::{PlaceCheck, Snapshot};
use crds::GpuUnit;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::claims::Claim;
use crate::events::Behavior;
use crate::{NODES, PLACES, UNITS};

/// A cluster with one operator.
pub(crate) struct Model {
    /// Devices are claimed, and thieves compete for them.
    pub(crate) dra: bool,
    pub(crate) claims: Vec<Claim>,
    pub(crate) now: Timestamp,
    pub(crate) units: Vec<Option<GpuUnit>>,
    pub(crate) behaviors: Vec<Behavior>,
    pub(crate) pods: Vec<ObservedPod>,
    /// The pods as the scheduler knows them.
    pub(crate) seen_pods: Vec<ObservedPod>,
    /// When it last took in what had happened.
    pub(crate) seen_at: Timestamp,
    /// Since when the operator observes the cluster, if the scheduler has not listed it again since the last outage.
    pub(crate) scheduler_lost_at: Option<Timestamp>,
    pub(crate) priority: BTreeMap<String, i32>,
    pub(crate) nodes: BTreeMap<String, ObservedNode>,
    /// Nodes of competing pods, whose class is between placeholders and instances; `None` while pending.
    pub(crate) thieves: Vec<Option<String>>,
    /// UIDs of pods that were deleted while their node was lost. Their units no longer wait for them, and their containers
    /// end only when the node is back.
    pub(crate) abandoned: BTreeSet<String>,
    /// When a pod of each unit last disappeared.
    pub(crate) gone_at: Vec<Option<Timestamp>>,
    /// The answer to the last question of each unit's plan.
    pub(crate) place_checks: Vec<Option<PlaceCheck>>,
    pub(crate) uids: u64,
    /// The names of pods that have had a node. With a second one of the name, a scheduler may mistake one for the other.
    pub(crate) bound_names: BTreeSet<(String, String)>,
    /// Namespaces with their policies and quota.
    pub(crate) confined: BTreeSet<String>,
    pub(crate) settings: Settings,
    /// Closed runs, to find overlaps.
    pub(crate) runs: Vec<BTreeSet<(i64, i64)>>,
}

pub(crate) fn node_name(n: usize) -> String {
    format!("node-{}", n % NODES)
}

pub(crate) fn unit_name(n: usize) -> String {
    format!("unit-{n:032x}")
}

impl Model {
    pub(crate) fn new(dra: bool) -> Self {
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
        let node = ObservedNode { ready: true, since: Some(now), cordoned: false, ..ObservedNode::default() };
        Self {
            dra,
            claims: Vec::new(),
            now,
            units: (0..UNITS).map(unit).collect(),
            behaviors: vec![Behavior::Fine; UNITS],
            pods: Vec::new(),
            seen_pods: Vec::new(),
            seen_at: now,
            scheduler_lost_at: None,
            priority: BTreeMap::new(),
            nodes: (0..NODES).map(|n| (node_name(n), node.clone())).collect(),
            thieves: Vec::new(),
            abandoned: BTreeSet::new(),
            gone_at: vec![None; UNITS],
            place_checks: vec![None; UNITS],
            uids: 0,
            bound_names: BTreeSet::new(),
            confined: BTreeSet::new(),
            settings: Settings::default(),
            runs: vec![BTreeSet::new(); UNITS],
        }
    }

    pub(crate) fn snapshot(&self, n: usize) -> Snapshot {
        Snapshot {
            now: self.now,
            observed_since: self.scheduler_lost_at.unwrap_or_default(),
            scheduler_heard: self.scheduler_lost_at.is_none(),
            pod_gone_at: self.gone_at[n],
            preempted: false,
            outage: self.nodes.values().all(|node| !node.ready),
            place_check: self.place_checks[n].clone(),
            pods: self.pods_of(n, true),
            guards: self.pods_of(n, false),
            nodes: self.nodes.clone(),
            storages: BTreeMap::new(),
            dra: DraSupport::Served,
            claims: self.claims_of(n).map(|claim| claim.observed.clone()).collect(),
            mirrors: Vec::new(),
            ..Snapshot::default()
        }
    }

    /// The pods of a unit that use places, or the others.
    fn pods_of(&self, n: usize, use_places: bool) -> Vec<ObservedPod> {
        let of_unit = |pod: &&ObservedPod| pod.unit == unit_name(n) && pod.role.uses_place() == use_places;
        self.pods.iter().filter(of_unit).cloned().collect()
    }

    fn check_place(&mut self, n: usize, node: String) {
        let others = self.others_on(&node, n) + self.rivals_on(&node, n);
        let view = &self.nodes[&node];
        let fits = view.ready && !view.cordoned && others < PLACES;
        let refusal = (!fits).then(|| "others use it".to_owned());
        let template = template_hash(&self.units[n].as_ref().unwrap().spec, &self.settings);
        self.place_checks[n] = Some(PlaceCheck { node, template, at: self.now, refusal });
    }

    /// Removes a pod of the unit. No two disappear at the same time.
    pub(crate) fn remove_pod(&mut self, at: usize, n: usize) {
        if self.pods.remove(at).role.uses_place() {
            self.pod_is_gone(n);
        }
    }

    /// A pod of the unit has disappeared.
    pub(crate) fn pod_is_gone(&mut self, n: usize) {
        self.uids += 1;
        self.gone_at[n] = Some(self.now + SignedDuration::from_nanos(self.uids.cast_signed()));
    }

    pub(crate) fn decide(&self, n: usize) -> Option<Plan> {
        self.decide_at(n, self.now)
    }

    /// What would be decided if nothing happened until then.
    pub(crate) fn decide_at(&self, n: usize, now: Timestamp) -> Option<Plan> {
        let unit = self.units[n].as_ref()?;
        Some(plan(unit, &Snapshot { now, ..self.snapshot(n) }, &self.settings))
    }

    /// One reconcile by an operator that is killed after `writes` writes. Returns whether anything was written.
    pub(crate) fn reconcile(&mut self, n: usize, writes: usize) -> bool {
        let Some(mut plan) = self.decide(n) else { return false };
        if let Some(node) = plan.check_place {
            self.check_place(n, node);
            plan = self.decide(n).unwrap();
        }
        let mut left = writes;
        let mut wrote = false;
        let mut spend = || {
            let go = left > 0;
            left = left.saturating_sub(1);
            go
        };
        for action in &plan.before_status {
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
        for action in &plan.after_status {
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
}

//! A `GpuUnit` as this service sees it: the part of it that concerns instances.

use std::sync::Arc;

use crds::{GpuUnit, InstanceStatus, LastFailure, Run, UnitState, names};
use ids::InstanceId;

use crate::instance::Why;

/// What is known of a unit.
#[derive(Debug, Clone, PartialEq)]
pub enum Seen {
    /// Nothing: the cluster has not answered yet, or is not configured.
    Unknown,
    /// There is none of this name.
    Gone,
    /// This.
    Unit(Arc<Unit>),
}

/// What the unit's spec names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Name of the instance.
    pub id: String,
    /// Attempt.
    pub attempt: i64,
    /// Restart.
    pub restart: i64,
}

/// One unit at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Unit {
    /// Its name.
    pub name: String,
    /// Version of the object.
    pub resource_version: String,
    /// Version of its spec.
    pub generation: i64,
    /// The version of the spec that its status answers.
    pub observed_generation: Option<i64>,
    /// What should run in it.
    pub wants: Option<Wanted>,
    /// Its state.
    pub state: UnitState,
    /// Its node.
    pub node: Option<String>,
    /// What runs in it.
    pub instance: Option<InstanceStatus>,
    /// The runs that ended last, the oldest first.
    pub runs: Vec<Run>,
    /// The start that failed last.
    pub failure: Option<LastFailure>,
    /// The condition `Held`: whether it is so, and why.
    pub held: Option<(bool, Why)>,
    /// The condition `InstanceReady`: whether it is so, and why.
    pub ready: Option<(bool, Why)>,
}

impl From<GpuUnit> for Unit {
    fn from(unit: GpuUnit) -> Self {
        let status = unit.status.unwrap_or_default();
        let condition = |type_: &str| {
            status
                .condition(type_)
                .map(|c| (c.status == "True", Why::new(c.reason.clone(), c.message.clone())))
        };
        let (held, ready) = (condition(names::CONDITION_HELD), condition(names::CONDITION_INSTANCE_READY));
        let mut runs: Vec<Run> = status.recent_runs.into_iter().rev().collect();
        runs.extend(status.last_run.filter(|last| !runs.contains(last)));
        Self {
            name: unit.metadata.name.unwrap_or_default(),
            resource_version: unit.metadata.resource_version.unwrap_or_default(),
            generation: unit.metadata.generation.unwrap_or_default(),
            observed_generation: status.observed_generation,
            wants: unit.spec.instance.map(|i| Wanted { id: i.id, attempt: i.attempt, restart: i.restart }),
            state: status.state,
            node: status.node,
            instance: status.instance,
            runs,
            failure: status.last_failure,
            held,
            ready,
        }
    }
}

impl Unit {
    /// Whether this is a later version of the same object. Versions of one object of one server are
    /// numbers that grow (Kubernetes ≥ 1.35 promises it); where they are not, nothing is later.
    #[must_use]
    pub fn newer_than(&self, other: &Self) -> bool {
        match (self.resource_version.parse::<u64>(), other.resource_version.parse::<u64>()) {
            (Ok(mine), Ok(others)) => mine > others,
            _ => false,
        }
    }

    /// The instance that its spec names, if it is one of ours by its name.
    #[must_use]
    pub fn wanted_instance(&self) -> Option<InstanceId> {
        InstanceId::from_k8s_name(&self.wants.as_ref()?.id).ok()
    }

    /// The instance that runs in it.
    #[must_use]
    pub fn running_instance(&self) -> Option<InstanceId> {
        let instance = self.instance.as_ref().filter(|i| i.running_since.is_some())?;
        InstanceId::from_k8s_name(&instance.id).ok()
    }

    /// Every instance that it tells something about.
    pub fn instances(&self) -> impl Iterator<Item = InstanceId> + '_ {
        let wanted = self.wants.as_ref().map(|w| &w.id);
        let present = self.instance.as_ref().map(|i| &i.id);
        let failed = self.failure.as_ref().map(|f| &f.instance_id);
        let ran = self.runs.last().map(|r| &r.instance_id);
        wanted
            .into_iter()
            .chain(present)
            .chain(failed)
            .chain(ran)
            .filter_map(|name| InstanceId::from_k8s_name(name).ok())
    }
}

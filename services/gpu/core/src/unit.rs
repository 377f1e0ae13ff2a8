//! A `GpuUnit` as this service observes it: the part that concerns instances. `clusters` reads it.

use std::{fmt, sync::Arc};

use ids::InstanceId;
use serde::{Deserialize, Serialize};
use units::{
    HeldReason, InstanceReason, InstanceStatus, LastFailure, Run, RunEndReason, TenantCodeReason, UnitState,
};

/// The name of a unit and of the cluster that has it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct UnitRef {
    /// Configured name of the cluster.
    pub cluster: String,
    /// Name of the `GpuUnit`.
    #[serde(rename = "unit_name")]
    pub name: String,
}

impl fmt::Display for UnitRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.cluster, self.name)
    }
}

/// The pod of an instance.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PodRef {
    namespace: String,
    name: String,
}

impl PodRef {
    /// A pod by its namespace and name.
    #[must_use]
    pub fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.to_owned(), name: name.to_owned() }
    }

    /// Returns the pod that a unit reports, if there is one.
    #[must_use]
    pub fn of(present: &InstanceStatus) -> Option<Self> {
        (!present.pod_name.is_empty()).then(|| Self::new(&present.namespace, &present.pod_name))
    }

    /// Returns the namespace of the pod.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Returns the name of the pod.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// What a cluster reports about a unit.
#[derive(Debug, Clone, PartialEq)]
pub enum Observation {
    /// Nothing: the cluster is not configured, or has not answered since this process started.
    Unknown,
    /// The unit does not exist.
    Gone,
    /// The unit exists.
    Unit(Arc<Unit>),
}

/// The instance that a unit's spec names: the desired state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesiredInstance {
    /// Name of the instance.
    pub name: String,
    /// Number of the start.
    pub attempt: i64,
    /// Number of the restart.
    pub restart: i64,
    /// Secret with which its image is pulled.
    pub pull_secret: Option<String>,
}

/// A condition of the unit's status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition<R> {
    /// Whether the condition is true.
    pub met: bool,
    /// Why; none if this version does not know the operator's reason.
    pub reason: Option<R>,
    /// The reason in a sentence for a person.
    pub message: String,
}

/// A unit at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Unit {
    /// Name of the `GpuUnit`.
    pub name: String,
    /// Its own namespace, in which its instance's pod runs; if none, the pod runs in the tenant's.
    pub own_namespace: Option<String>,
    /// Version of the object.
    pub resource_version: String,
    /// Version of its spec.
    pub generation: i64,
    /// Version of the spec that the status reports on.
    pub observed_generation: Option<i64>,
    /// The instance that should run in it.
    pub desired: Option<DesiredInstance>,
    /// State.
    pub state: UnitState,
    /// Node of its place.
    pub node: Option<String>,
    /// CPU cores that it reserves; none if the operator would not accept the number.
    pub cpu_cores: Option<f64>,
    /// Number of GPUs that it reserves.
    pub gpus: i64,
    /// Name of its datacenter.
    pub datacenter: String,
    /// The instance that exists in it.
    pub instance: Option<InstanceStatus>,
    /// The latest runs that have ended, oldest first.
    pub runs: Vec<Run>,
    /// The latest failed start.
    pub failure: Option<LastFailure>,
    /// Whether it holds its place.
    pub held: Option<Condition<HeldReason>>,
    /// Whether the instance is ready.
    pub ready: Option<Condition<InstanceReason>>,
    /// Whether it runs code of tenants.
    pub tenant_code: Option<Condition<TenantCodeReason>>,
}

impl Unit {
    /// Returns whether this is a later version of the same object. Resource versions of one object grow as
    /// numbers (guaranteed by Kubernetes 1.35); if they are not numbers, no version counts as later.
    #[must_use]
    pub fn newer_than(&self, other: &Self) -> bool {
        match (self.resource_version.parse::<u64>(), other.resource_version.parse::<u64>()) {
            (Ok(own), Ok(others)) => own > others,
            _ => false,
        }
    }

    /// Returns the instance that the spec names, if the name is an instance's.
    #[must_use]
    pub fn desired_instance(&self) -> Option<InstanceId> {
        InstanceId::from_k8s_name(&self.desired.as_ref()?.name).ok()
    }

    /// Returns the instance that is ready in the unit.
    #[must_use]
    pub fn running_instance(&self) -> Option<InstanceId> {
        let instance = self.instance.as_ref().filter(|instance| instance.running_since.is_some())?;
        InstanceId::from_k8s_name(&instance.id).ok()
    }

    /// Returns all instances that the unit reports on.
    pub fn instances(&self) -> impl Iterator<Item = InstanceId> + '_ {
        let desired = self.desired.as_ref().map(|desired| &desired.name);
        let present = self.instance.as_ref().map(|instance| &instance.id);
        let failed = self.failure.as_ref().map(|failure| &failure.instance_id);
        let ended = self.runs.last().map(|run| &run.instance_id);
        [desired, present, failed, ended]
            .into_iter()
            .flatten()
            .filter_map(|name| InstanceId::from_k8s_name(name).ok())
    }

    /// Returns whether the operator has observed that the instance is not desired here, and nothing of it is
    /// left.
    #[must_use]
    pub fn vacated_by(&self, name: &str) -> bool {
        self.desired.as_ref().is_none_or(|desired| desired.name != name)
            && self.instance.as_ref().is_none_or(|instance| instance.id != name)
            && self.observed_generation.is_some_and(|observed| observed >= self.generation)
    }

    /// Returns why the unit does not run code of tenants, as a sentence; none if it does. An operator that
    /// reports nothing has no policy for it.
    #[must_use]
    pub fn refuses_tenant_code(&self) -> Option<&str> {
        match &self.tenant_code {
            Some(condition) if condition.met => None,
            Some(condition) => Some(&condition.message),
            None => Some("its operator does not report in which runtime code of tenants runs"),
        }
    }

    /// Returns whether the unit holds its place.
    #[must_use]
    pub fn holds_place(&self) -> bool {
        self.held.as_ref().is_some_and(|held| held.met)
    }

    /// Returns whether the unit's place, or its instance, was lost with the node.
    #[must_use]
    pub fn node_lost(&self) -> bool {
        let held = self.held.as_ref().filter(|held| !held.met);
        let ready = self.ready.as_ref().filter(|ready| !ready.met);
        held.is_some_and(|held| held.reason == Some(HeldReason::NodeLost))
            || ready.is_some_and(|ready| ready.reason == Some(InstanceReason::NodeLost))
    }

    /// Returns whether other pods have taken the place of this start, which waits for another place.
    #[must_use]
    pub fn lost_place(&self, name: &str, attempt: i64) -> bool {
        let is_this_start = |present: &&InstanceStatus| present.id == name && present.attempt == attempt;
        let waits = self
            .ready
            .as_ref()
            .is_some_and(|ready| !ready.met && ready.reason == Some(InstanceReason::WaitingForPlace));
        waits
            && self.instance.as_ref().filter(is_this_start).is_some()
            && self.held.as_ref().is_some_and(|held| !held.met)
    }

    /// Returns whether a run of this start was lost with its node, and the unit's place has since moved to
    /// another node than `node`: the operator may be faster than the readers of its reports.
    #[must_use]
    pub fn moved_from_lost(&self, node: Option<&str>, name: &str, attempt: i64) -> bool {
        let lost = RunEndReason::NodeLost.as_str();
        let has_lost_run = self
            .runs
            .iter()
            .any(|run| run.instance_id == name && run.attempt == attempt && run.reason == lost);
        has_lost_run && node.is_some() && self.node.is_some() && self.node.as_deref() != node
    }

    /// Returns whether this instance cannot keep the unit: its node is lost, or the unit is for another
    /// instance.
    #[must_use]
    pub fn is_lost_to(&self, name: &str) -> bool {
        self.node_lost() || self.desired.as_ref().is_some_and(|desired| desired.name != name)
    }
}

//! Pods of units.

use crds::names;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{
    ContainerStateWaiting, ContainerStatus, Pod, PodCondition, PodSpec, PodStatus,
};

use super::{ANNOTATION_GPUS, ANNOTATION_TEMPLATE, LABEL_ATTEMPT, LABEL_RESTART, only_node};

/// Annotation that HAMi sets on a pod: the devices it has allocated.
const ANNOTATION_HAMI: &str = "hami.io/vgpu-devices-allocated";

/// The role of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Holds the place of an idle unit.
    Placeholder,
    /// Runs an instance.
    Instance,
    /// Keeps a place by its nomination while the place is handed over.
    Guard,
    /// Shows that the scheduler has seen all writes before the creation of this pod.
    Barrier,
}

impl Role {
    /// Whether pods of this role use a place: the others are never bound.
    #[must_use]
    pub const fn uses_place(self) -> bool {
        matches!(self, Self::Placeholder | Self::Instance)
    }
}

/// The phase of a pod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Not all containers have been started.
    #[default]
    Pending,
    /// On a node, with started containers.
    Running,
    /// All containers have ended and none will be restarted.
    Ended,
}

/// A reason and a message, as Kubernetes reports them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatusReason {
    /// Machine-readable reason, for example `Evicted` or `ErrImagePull`.
    pub reason: String,
    /// Message, possibly empty.
    pub message: String,
}

impl std::fmt::Display for StatusReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.message.as_str() {
            "" => f.write_str(&self.reason),
            message => write!(f, "{}: {message}", self.reason),
        }
    }
}

/// How a container ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerExit {
    /// Exit code.
    pub code: i32,
    /// Reason of the container runtime (`Error`, `OOMKilled`, `Completed`).
    pub reason: String,
    /// Time of the end, if the container runtime observed it.
    pub at: Option<Timestamp>,
}

/// A pod of a unit.
#[derive(Clone, Debug, PartialEq)]
pub struct ObservedPod {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// UID.
    pub uid: String,
    /// Resource version.
    pub version: String,
    /// Name of the unit it belongs to.
    pub unit: String,
    /// Its role.
    pub role: Role,
    /// Name of the instance; empty for a placeholder.
    pub instance: String,
    /// Attempt of the instance.
    pub attempt: i64,
    /// Restart request of the instance.
    pub restart: i64,
    /// The node that its affinity requires, if it requires one by name.
    pub required_node: Option<String>,
    /// The node nominated for it.
    pub nominated: Option<String>,
    /// The node it is bound to.
    pub node: Option<String>,
    /// Priority class.
    pub class: String,
    /// Hash of the template it was created from (placeholders).
    pub template: String,
    /// Name of the `ResourceClaim` whose devices it uses.
    pub claim: Option<String>,
    /// Creation time.
    pub created_at: Timestamp,
    /// It has a deletion timestamp.
    pub deleting: bool,
    /// Its grace period is zero: the kubelet has confirmed its end, or it was deleted by force.
    pub termination_confirmed: bool,
    /// It has the finalizer [`names::FINALIZER_RUN`].
    pub has_run_finalizer: bool,
    /// Phase.
    pub phase: Phase,
    /// Reason of the pod's own status (`Evicted`, `OutOfcpu`).
    pub status_reason: Option<StatusReason>,
    /// The scheduler's message, if it found no node.
    pub unschedulable: Option<String>,
    /// Reason of its disruption (`PreemptionByScheduler`), if it was disrupted.
    pub disruption: Option<String>,
    /// Its `Ready` condition.
    pub ready: bool,
    /// Time of the last change of `ready`.
    pub ready_since: Option<Timestamp>,
    /// IP address.
    pub ip: Option<String>,
    /// Why the container waits.
    pub waiting: Option<StatusReason>,
    /// The container is running.
    pub container_running: bool,
    /// The container has ended and is not running.
    pub container_ended: bool,
    /// Number of restarts of the container.
    pub restarts: i64,
    /// The last end of the container.
    pub exit: Option<ContainerExit>,
    /// UUIDs of its GPUs, where the cluster reports them.
    pub gpu_uuids: Vec<String>,
}

impl ObservedPod {
    /// Reads a pod. `None` if it is not a pod of a unit.
    #[must_use]
    pub fn of(pod: &Pod) -> Option<Self> {
        let labels = pod.metadata.labels.as_ref()?;
        let unit = labels.get(names::LABEL_UNIT).or_else(|| labels.get(names::LABEL_GUARDS))?.clone();
        let role = match labels.get(names::LABEL_ROLE)?.as_str() {
            names::ROLE_PLACEHOLDER => Role::Placeholder,
            names::ROLE_INSTANCE => Role::Instance,
            names::ROLE_GUARD => Role::Guard,
            names::ROLE_BARRIER => Role::Barrier,
            _ => return None,
        };
        let number = |label: &str| labels.get(label).and_then(|value| value.parse().ok()).unwrap_or(0);
        let annotations = pod.metadata.annotations.as_ref();
        let annotation = |key: &str| annotations.and_then(|map| map.get(key)).cloned().unwrap_or_default();
        let spec = pod.spec.clone().unwrap_or_default();
        let status = pod.status.clone().unwrap_or_default();
        let ready = condition(&status, "Ready");
        let container = status.container_statuses.as_ref().and_then(|all| all.first());
        let state = container.and_then(|container| container.state.as_ref());
        let deleting = pod.metadata.deletion_timestamp.is_some();
        Some(Self {
            namespace: pod.metadata.namespace.clone()?,
            name: pod.metadata.name.clone()?,
            uid: pod.metadata.uid.clone().unwrap_or_default(),
            version: pod.metadata.resource_version.clone().unwrap_or_default(),
            unit,
            role,
            instance: labels.get(names::LABEL_INSTANCE).cloned().unwrap_or_default(),
            attempt: number(LABEL_ATTEMPT),
            restart: number(LABEL_RESTART),
            required_node: required_node(&spec),
            claim: spec
                .resource_claims
                .as_ref()
                .and_then(|claims| claims.first()?.resource_claim_name.clone()),
            nominated: status.nominated_node_name.clone().filter(|name| !name.is_empty()),
            node: spec.node_name.filter(|name| !name.is_empty()),
            class: spec.priority_class_name.unwrap_or_default(),
            template: annotation(ANNOTATION_TEMPLATE),
            created_at: pod.metadata.creation_timestamp.as_ref().map(|time| time.0).unwrap_or_default(),
            deleting,
            termination_confirmed: deleting && pod.metadata.deletion_grace_period_seconds == Some(0),
            has_run_finalizer: pod
                .metadata
                .finalizers
                .iter()
                .flatten()
                .any(|name| name == names::FINALIZER_RUN),
            phase: phase(&status),
            status_reason: status_reason(&status),
            unschedulable: unschedulable(&status),
            disruption: condition(&status, "DisruptionTarget")
                .filter(|target| target.status == "True")
                .and_then(|target| target.reason.clone()),
            ready: ready.is_some_and(|ready| ready.status == "True"),
            ready_since: ready.and_then(|ready| ready.last_transition_time.as_ref()).map(|time| time.0),
            ip: status.pod_ip.clone().filter(|ip| !ip.is_empty()),
            waiting: state.and_then(|state| state.waiting.as_ref()).map(waiting),
            container_running: state.is_some_and(|state| state.running.is_some()),
            container_ended: state.is_some_and(|state| state.terminated.is_some()),
            restarts: container.map_or(0, |container| i64::from(container.restart_count)),
            exit: container.and_then(exit),
            gpu_uuids: gpu_uuids(&annotation(ANNOTATION_GPUS), &annotation(ANNOTATION_HAMI)),
        })
    }

    /// Whether it has ended and will not run again: its place is free.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.phase == Phase::Ended
            || (self.deleting && (self.node.is_none() || self.container_ended || self.termination_confirmed))
    }

    /// Whether the scheduler has tried to schedule it. Then it has seen everything that was written before the pod was
    /// created.
    #[must_use]
    pub const fn is_tried(&self) -> bool {
        self.unschedulable.is_some()
    }

    /// Whether it waits until the operator binds it to a place.
    #[must_use]
    pub const fn awaits_place(&self) -> bool {
        self.role.uses_place() && self.node.is_none() && self.required_node.is_some() && !self.deleting
    }

    /// A reference to exactly this pod.
    #[must_use]
    pub fn reference(&self) -> PodRef {
        let (namespace, name) = (self.namespace.clone(), self.name.clone());
        PodRef { namespace, name, uid: Some(self.uid.clone()), version: None }
    }

    /// A reference to exactly this pod, in the observed version.
    #[must_use]
    pub fn reference_as_observed(&self) -> PodRef {
        PodRef { version: Some(self.version.clone()), ..self.reference() }
    }
}

/// A reference to a pod. With `uid`, to exactly this pod and not to a later one of the same name; with
/// `version`, only to that version of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodRef {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// UID, if it must be exactly this pod.
    pub uid: Option<String>,
    /// Resource version, if the pod must not have changed since.
    pub version: Option<String>,
}

fn condition<'a>(status: &'a PodStatus, type_: &str) -> Option<&'a PodCondition> {
    status.conditions.iter().flatten().find(|condition| condition.type_ == type_)
}

fn phase(status: &PodStatus) -> Phase {
    match status.phase.as_deref() {
        Some("Running") => Phase::Running,
        Some("Succeeded" | "Failed") => Phase::Ended,
        _ => Phase::Pending,
    }
}

pub(super) fn status_reason(status: &PodStatus) -> Option<StatusReason> {
    let reason = status.reason.clone().filter(|reason| !reason.is_empty())?;
    Some(StatusReason { reason, message: status.message.clone().unwrap_or_default() })
}

pub(super) fn unschedulable(status: &PodStatus) -> Option<String> {
    let scheduled = condition(status, "PodScheduled")?;
    let is_unschedulable =
        scheduled.status == "False" && scheduled.reason.as_deref() == Some("Unschedulable");
    is_unschedulable.then(|| scheduled.message.clone().unwrap_or_default())
}

pub(super) fn waiting(waiting: &ContainerStateWaiting) -> StatusReason {
    StatusReason {
        reason: waiting.reason.clone().unwrap_or_default(),
        message: waiting.message.clone().unwrap_or_default(),
    }
}

fn exit(container: &ContainerStatus) -> Option<ContainerExit> {
    let current = container.state.as_ref().and_then(|state| state.terminated.as_ref());
    let last = container.last_state.as_ref().and_then(|state| state.terminated.as_ref());
    current.or(last).map(|ended| {
        let reason = ended.reason.clone().unwrap_or_default();
        // the kubelet and the runtime have lost track of the container: the time is that of their detection
        let lost = matches!(reason.as_str(), "ContainerStatusUnknown" | "Unknown");
        let at = ended.finished_at.as_ref().map(|time| time.0).filter(|_| !lost);
        ContainerExit { code: ended.exit_code, reason, at }
    })
}

fn required_node(spec: &PodSpec) -> Option<String> {
    let affinity = spec.affinity.as_ref()?.node_affinity.as_ref()?;
    only_node(affinity.required_during_scheduling_ignored_during_execution.as_ref()?)
}

/// HAMi writes `UUID,type,memory,cores:…;…` for each container.
fn gpu_uuids(agent: &str, hami: &str) -> Vec<String> {
    let agent = agent.split(',');
    let hami = hami.split([';', ':']).filter_map(|device| device.split(',').next());
    agent.chain(hami).map(str::trim).filter(|uuid| !uuid.is_empty()).map(str::to_owned).collect()
}

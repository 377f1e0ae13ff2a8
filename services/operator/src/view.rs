//! What the operator remembers of the cluster: small values read out of the objects, nothing else.
//!
//! A view keeps what a decision needs and drops the rest, so that thousands of units fit in little
//! memory and tests can write an observation down in a few lines.

use std::collections::BTreeMap;

use crds::names;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{
    ContainerStatus, Node, NodeSelector, PersistentVolume, PersistentVolumeClaim, Pod,
};
use k8s_openapi::api::resource::v1::ResourceClaim;
use kube::ResourceExt as _;

/// Annotation on a placeholder and on a unit's claim: hash of the template it was made from.
pub const ANNOTATION_TEMPLATE: &str = "atelier.dev/template";
/// Annotation that a node agent may set on a pod: comma-separated UUIDs of its GPUs.
pub const ANNOTATION_GPUS: &str = "atelier.dev/gpu-uuids";
/// Annotation that HAMi sets on a pod: the devices it gave.
const ANNOTATION_HAMI: &str = "hami.io/vgpu-devices-allocated";
/// Label on instance pods: the attempt.
pub const LABEL_ATTEMPT: &str = "atelier.dev/attempt";
/// Label on instance pods: the restart request.
pub const LABEL_RESTART: &str = "atelier.dev/restart";

/// Annotation on a mirror: name of the volume it was copied from.
pub const ANNOTATION_MIRRORS: &str = "atelier.dev/mirrors";
/// What a claim's reservation calls the units.
pub const UNITS: &str = "gpuunits";

/// What a pod is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Holds the place of an idle unit.
    Placeholder,
    /// Runs an instance.
    Instance,
}

/// Where a pod stands in its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Not all containers have been started.
    #[default]
    Pending,
    /// On a node, containers started.
    Running,
    /// Over: all containers ended and none comes back.
    Ended,
}

/// How a container ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Exit code.
    pub code: i32,
    /// The runtime's word (`Error`, `OOMKilled`, `Completed`).
    pub reason: String,
    /// When.
    pub at: Option<Timestamp>,
}

/// A pod of a unit.
#[derive(Clone, Debug, PartialEq)]
pub struct PodView {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Identity among pods of the same name.
    pub uid: String,
    /// The unit it belongs to.
    pub unit: String,
    /// What it is for.
    pub role: Role,
    /// The instance's name; empty for a placeholder.
    pub instance: String,
    /// The instance's attempt.
    pub attempt: i64,
    /// The instance's restart request.
    pub restart: i64,
    /// The one node its affinity allows, if it names one.
    pub required_node: Option<String>,
    /// The node nominated for it.
    pub nominated: Option<String>,
    /// The node it is bound to.
    pub node: Option<String>,
    /// Its priority class.
    pub class: String,
    /// Hash of the template it was made from (placeholders).
    pub template: String,
    /// The `ResourceClaim` whose devices it uses.
    pub claim: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Somebody deleted it.
    pub deleting: bool,
    /// Its grace is over: the kubelet has confirmed its end, or somebody declared it by force.
    pub confirmed: bool,
    /// It bears [`names::FINALIZER_RUN`].
    pub kept: bool,
    /// Where it stands.
    pub phase: Phase,
    /// Reason and message of the pod's own status (`Evicted`, `OutOfcpu`).
    pub refusal: Option<(String, String)>,
    /// The scheduler's words, when it found no room.
    pub unschedulable: Option<String>,
    /// Why it was chosen to be ended (`PreemptionByScheduler`), if it was.
    pub disruption: Option<String>,
    /// Its readiness.
    pub ready: bool,
    /// Since when `ready` is what it is.
    pub ready_since: Option<Timestamp>,
    /// Its address.
    pub ip: Option<String>,
    /// Why the container waits: reason and message.
    pub waiting: Option<(String, String)>,
    /// The container runs now.
    pub container_running: bool,
    /// The container has ended and is not running now.
    pub container_ended: bool,
    /// How often the container was started again.
    pub restarts: i64,
    /// How the container ended last.
    pub exit: Option<Exit>,
    /// UUIDs of its GPUs, where the cluster tells them.
    pub gpu_uuids: Vec<String>,
}

impl PodView {
    /// Reads a pod; `None` for one that is not ours.
    #[must_use]
    pub fn of(pod: &Pod) -> Option<Self> {
        let labels = pod.metadata.labels.as_ref()?;
        let unit = labels.get(names::LABEL_UNIT)?.clone();
        let role = match labels.get(names::LABEL_ROLE)?.as_str() {
            names::ROLE_PLACEHOLDER => Role::Placeholder,
            names::ROLE_INSTANCE => Role::Instance,
            _ => return None,
        };
        let number = |label: &str| labels.get(label).and_then(|value| value.parse().ok()).unwrap_or(0);
        let annotations = pod.metadata.annotations.as_ref();
        let annotation = |key: &str| annotations.and_then(|map| map.get(key)).cloned().unwrap_or_default();
        let spec = pod.spec.clone().unwrap_or_default();
        let status = pod.status.clone().unwrap_or_default();
        let conditions = status.conditions.unwrap_or_default();
        let condition = |kind: &str| conditions.iter().find(|condition| condition.type_ == kind);
        let ready = condition("Ready");
        let container = status.container_statuses.as_ref().and_then(|all| all.first());
        let phase = match status.phase.as_deref() {
            Some("Running") => Phase::Running,
            Some("Succeeded" | "Failed") => Phase::Ended,
            _ => Phase::Pending,
        };
        Some(Self {
            namespace: pod.metadata.namespace.clone()?,
            name: pod.metadata.name.clone()?,
            uid: pod.metadata.uid.clone().unwrap_or_default(),
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
            nominated: status.nominated_node_name.filter(|name| !name.is_empty()),
            node: spec.node_name.filter(|name| !name.is_empty()),
            class: spec.priority_class_name.unwrap_or_default(),
            template: annotation(ANNOTATION_TEMPLATE),
            created_at: pod.metadata.creation_timestamp.as_ref().map(|time| time.0).unwrap_or_default(),
            deleting: pod.metadata.deletion_timestamp.is_some(),
            confirmed: pod.metadata.deletion_timestamp.is_some()
                && pod.metadata.deletion_grace_period_seconds == Some(0),
            kept: pod.metadata.finalizers.iter().flatten().any(|name| name == names::FINALIZER_RUN),
            phase,
            refusal: status
                .reason
                .filter(|reason| !reason.is_empty())
                .map(|reason| (reason, status.message.unwrap_or_default())),
            unschedulable: condition("PodScheduled")
                .filter(|scheduled| {
                    scheduled.status == "False" && scheduled.reason.as_deref() == Some("Unschedulable")
                })
                .map(|scheduled| scheduled.message.clone().unwrap_or_default()),
            disruption: condition("DisruptionTarget")
                .filter(|target| target.status == "True")
                .and_then(|target| target.reason.clone()),
            ready: ready.is_some_and(|ready| ready.status == "True"),
            ready_since: ready.and_then(|ready| ready.last_transition_time.as_ref()).map(|time| time.0),
            ip: status.pod_ip.filter(|ip| !ip.is_empty()),
            waiting: container.and_then(|container| container.state.as_ref()?.waiting.as_ref()).map(
                |waiting| {
                    (waiting.reason.clone().unwrap_or_default(), waiting.message.clone().unwrap_or_default())
                },
            ),
            container_running: container.is_some_and(|container| {
                container.state.as_ref().is_some_and(|state| state.running.is_some())
            }),
            container_ended: container.is_some_and(|container| {
                container.state.as_ref().is_some_and(|state| state.terminated.is_some())
            }),
            restarts: container.map_or(0, |container| i64::from(container.restart_count)),
            exit: container.and_then(exit),
            gpu_uuids: gpu_uuids(&annotation(ANNOTATION_GPUS), &annotation(ANNOTATION_HAMI)),
        })
    }

    /// Nothing of it runs and nothing will: its place is free.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.phase == Phase::Ended
            || (self.deleting && (self.node.is_none() || self.container_ended || self.confirmed))
    }

    /// Its coordinates.
    #[must_use]
    pub fn at(&self) -> PodRef {
        PodRef { namespace: self.namespace.clone(), name: self.name.clone(), uid: Some(self.uid.clone()) }
    }
}

/// Where to find a pod; with `uid`, that very pod and no successor of the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodRef {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Identity, when it must be that very pod.
    pub uid: Option<String>,
}

fn exit(container: &ContainerStatus) -> Option<Exit> {
    let now = container.state.as_ref().and_then(|state| state.terminated.as_ref());
    let last = container.last_state.as_ref().and_then(|state| state.terminated.as_ref());
    now.or(last).map(|ended| Exit {
        code: ended.exit_code,
        reason: ended.reason.clone().unwrap_or_default(),
        at: ended.finished_at.as_ref().map(|time| time.0),
    })
}

fn required_node(spec: &k8s_openapi::api::core::v1::PodSpec) -> Option<String> {
    let affinity = spec.affinity.as_ref()?.node_affinity.as_ref()?;
    one_node(affinity.required_during_scheduling_ignored_during_execution.as_ref()?)
}

/// The one node that a selector allows by name.
fn one_node(selector: &NodeSelector) -> Option<String> {
    let fields = selector.node_selector_terms.first()?.match_fields.as_ref()?;
    let field = fields.iter().find(|field| field.key == "metadata.name")?;
    field.values.as_ref()?.first().cloned()
}

/// HAMi writes `UUID,type,memory,cores:…;…` per container.
fn gpu_uuids(told: &str, hami: &str) -> Vec<String> {
    let told = told.split(',');
    let hami = hami.split([';', ':']).filter_map(|device| device.split(',').next());
    told.chain(hami).map(str::trim).filter(|uuid| !uuid.is_empty()).map(str::to_owned).collect()
}

/// A node that units sit on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeView {
    /// It answers.
    pub ready: bool,
    /// Since when `ready` is what it is.
    pub since: Option<Timestamp>,
    /// It takes no new pods.
    pub cordoned: bool,
}

impl NodeView {
    /// Reads a node.
    #[must_use]
    pub fn of(node: &Node) -> Self {
        let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
        let ready = conditions.and_then(|all| all.iter().find(|condition| condition.type_ == "Ready"));
        Self {
            ready: ready.is_some_and(|ready| ready.status == "True"),
            since: ready.and_then(|ready| ready.last_transition_time.as_ref()).map(|time| time.0),
            cordoned: node.spec.as_ref().and_then(|spec| spec.unschedulable).unwrap_or(false),
        }
    }
}

/// A volume claim of a storage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimView {
    /// Namespace.
    pub namespace: String,
    /// `Pending`, `Bound` or `Lost`.
    pub phase: String,
    /// Name of its volume.
    pub volume: Option<String>,
    /// Bytes it really has.
    pub capacity: Option<u64>,
    /// Bytes asked for.
    pub requested: Option<u64>,
    /// Somebody deleted it.
    pub deleting: bool,
}

impl ClaimView {
    /// Reads a claim: the storage's name and what there is; `None` for one that is not ours.
    #[must_use]
    pub fn of(claim: &PersistentVolumeClaim) -> Option<(String, Self)> {
        let storage = claim.metadata.labels.as_ref()?.get(names::LABEL_STORAGE)?.clone();
        let status = claim.status.as_ref();
        let bytes = |map: Option<
            &BTreeMap<String, k8s_openapi::apimachinery::pkg::api::resource::Quantity>,
        >| {
            map.and_then(|map| map.get("storage")).and_then(|quantity| crate::quantity::bytes(&quantity.0))
        };
        Some((
            storage,
            Self {
                namespace: claim.metadata.namespace.clone().unwrap_or_default(),
                phase: status.and_then(|status| status.phase.clone()).unwrap_or_else(|| "Pending".to_owned()),
                volume: claim.spec.as_ref().and_then(|spec| spec.volume_name.clone()),
                capacity: bytes(status.and_then(|status| status.capacity.as_ref())),
                requested: bytes(
                    claim.spec.as_ref().and_then(|spec| spec.resources.as_ref()?.requests.as_ref()),
                ),
                deleting: claim.metadata.deletion_timestamp.is_some(),
            },
        ))
    }
}

/// A storage as a starting instance sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StorageView {
    /// The tenant it belongs to.
    pub tenant: String,
    /// Its claim exists in the tenant's namespace and is not going away.
    pub mountable: bool,
    /// The volume that its claim is bound to.
    pub volume: Option<String>,
}

/// Whether devices can be claimed in this cluster, the worst first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dra {
    /// The cluster is older than 1.34.
    #[default]
    NotServed,
    /// The operator may not read the claims, or the volumes.
    Forbidden,
    /// They can.
    Served,
}

/// A claim of a unit on devices (`ResourceClaim`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceClaimView {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Identity among claims of the same name.
    pub uid: String,
    /// Name of the unit.
    pub unit: String,
    /// Hash of what it asks for.
    pub template: String,
    /// Somebody deleted it.
    pub deleting: bool,
    /// It has devices.
    pub allocated: bool,
    /// They, as `driver/pool/device`.
    pub devices: Vec<String>,
    /// The one node they are on.
    pub node: Option<String>,
    /// UID of the unit that it is reserved for.
    pub holder: Option<String>,
}

impl DeviceClaimView {
    /// Reads a claim; `None` for one that is not of a unit.
    #[must_use]
    pub fn of(claim: &ResourceClaim) -> Option<Self> {
        let status = claim.status.as_ref();
        let allocation = status.and_then(|status| status.allocation.as_ref());
        let results = allocation.and_then(|allocation| allocation.devices.as_ref()?.results.as_ref());
        let reserved = status.and_then(|status| status.reserved_for.as_ref()).into_iter().flatten();
        Some(Self {
            namespace: claim.namespace()?,
            name: claim.name_any(),
            uid: claim.uid().unwrap_or_default(),
            unit: claim.labels().get(names::LABEL_UNIT)?.clone(),
            template: claim.annotations().get(ANNOTATION_TEMPLATE).cloned().unwrap_or_default(),
            deleting: claim.metadata.deletion_timestamp.is_some(),
            allocated: allocation.is_some(),
            devices: results
                .into_iter()
                .flatten()
                .map(|given| format!("{}/{}/{}", given.driver, given.pool, given.device))
                .collect(),
            node: allocation.and_then(|allocation| one_node(allocation.node_selector.as_ref()?)),
            holder: reserved
                .filter(|user| user.api_group.as_deref() == Some(names::GROUP) && user.resource == UNITS)
                .map(|user| user.uid.clone())
                .next(),
        })
    }

    /// Its coordinates.
    #[must_use]
    pub fn at(&self) -> ClaimRef {
        ClaimRef { namespace: self.namespace.clone(), name: self.name.clone(), uid: self.uid.clone() }
    }
}

/// Where to find a claim on devices, that very one and no successor of the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimRef {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Identity.
    pub uid: String,
}

/// A copy of a storage's volume for the claim in a unit's own namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MirrorView {
    /// Name of the copy.
    pub name: String,
    /// Namespace of its claim.
    pub namespace: String,
    /// Name of the unit.
    pub unit: String,
    /// Name of the storage, and of the claim.
    pub storage: String,
    /// Name of the volume it was copied from.
    pub source: String,
    /// `Pending`, `Available`, `Bound`, `Released` or `Failed`.
    pub phase: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// Somebody deleted it.
    pub deleting: bool,
}

impl MirrorView {
    /// Reads a volume; `None` for one that is not a mirror.
    #[must_use]
    pub fn of(volume: &PersistentVolume) -> Option<Self> {
        let claim = volume.spec.as_ref()?.claim_ref.as_ref()?;
        Some(Self {
            name: volume.name_any(),
            namespace: claim.namespace.clone()?,
            unit: volume.labels().get(names::LABEL_UNIT)?.clone(),
            storage: claim.name.clone()?,
            source: volume.annotations().get(ANNOTATION_MIRRORS)?.clone(),
            phase: volume.status.as_ref().and_then(|status| status.phase.clone()).unwrap_or_default(),
            created_at: volume.metadata.creation_timestamp.as_ref().map(|time| time.0).unwrap_or_default(),
            deleting: volume.metadata.deletion_timestamp.is_some(),
        })
    }
}

//! `GpuUnit`: one unit of stock with its desired and its actual instance.

#![expect(unreachable_pub, reason = "the schema derive repeats the struct inside a function")]

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{InstanceStatus, LastFailure, Protocol, Run, Trust, UnitState};

/// Desired state of a unit: its size, written by the stock service, and its instance, written by the gpu service.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[kube(
    group = "atelier.dev",
    version = "v1alpha1",
    kind = "GpuUnit",
    plural = "gpuunits",
    shortname = "gu",
    category = "atelier",
    status = "GpuUnitStatus",
    derive = "PartialEq",
    doc = "One unit of GPU stock. It reserves its resources on a node for an instance.",
    validation = Rule::new("size(self.metadata.name) <= 59").message("the name must fit a label: at most 59 characters"),
    printcolumn(name = "Spec", type_ = "string", json_path = ".spec.gpuSpec"),
    printcolumn(name = "State", type_ = "string", json_path = ".status.state"),
    printcolumn(name = "Held", type_ = "string", json_path = ".status.conditions[?(@.type==\"Held\")].status"),
    printcolumn(name = "Reason", type_ = "string", json_path = ".status.conditions[?(@.type==\"Held\")].reason"),
    printcolumn(name = "Node", type_ = "string", json_path = ".status.node"),
    printcolumn(name = "Instance", type_ = "string", json_path = ".status.instance.id"),
    printcolumn(name = "TenantCode", type_ = "string", json_path = ".status.conditions[?(@.type==\"TenantCode\")].reason", priority = "1"),
    printcolumn(name = "Datacenter", type_ = "string", json_path = ".spec.datacenter", priority = "1"),
    printcolumn(name = "IP", type_ = "string", json_path = ".status.instance.podIp", priority = "1"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("!has(self.instance) || !has(oldSelf.instance) || self.instance.id == oldSelf.instance.id").message("one instance must be removed before another takes the unit"))]
#[x_kube(validation = Rule::new("!has(self.instance) || !has(oldSelf.instance) || (self.instance.attempt >= oldSelf.instance.attempt && (self.instance.attempt > oldSelf.instance.attempt || self.instance.restart >= oldSelf.instance.restart))").message("attempt and restart only grow"))]
#[x_kube(validation = Rule::new("!has(self.instance) || !has(oldSelf.instance) || self.instance.tenantId == oldSelf.instance.tenantId").message("an instance keeps its tenant"))]
#[x_kube(validation = Rule::new("!has(self.instance) || !has(oldSelf.instance) || (self.resources == oldSelf.resources && self.gpu == oldSelf.gpu)").message("resources and gpu cannot change while an instance uses the unit"))]
pub struct GpuUnitSpec {
    /// Name of the GPU specification.
    #[schemars(length(min = 1, max = 63))]
    pub gpu_spec: String,
    /// Resources that the unit reserves besides its GPUs.
    pub resources: Resources,
    /// GPUs that the unit reserves.
    pub gpu: Gpu,
    /// Labels that its node must have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 16))]
    pub node_selector: BTreeMap<String, String>,
    /// Name of the datacenter, for information.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 63))]
    pub datacenter: String,
    /// Desired instance; absent for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<Instance>,
}

impl GpuUnitSpec {
    /// Returns whether its GPUs are allocated by claim. The unit has a namespace of its own then, named after the unit.
    #[must_use]
    pub fn claims_devices(&self) -> bool {
        self.gpu.count > 0 && matches!(self.gpu.allocation, Allocation::Dra { .. })
    }
}

/// CPU, memory and disk as Kubernetes quantities.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Resources {
    /// CPU, for example `4` or `4000m`.
    #[schemars(regex(pattern = r"^[0-9]+(\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$"), length(max = 32))]
    pub cpu: String,
    /// Memory, for example `16Gi`.
    #[schemars(regex(pattern = r"^[0-9]+(\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$"), length(max = 32))]
    pub memory: String,
    /// Temporary disk, for example `50Gi`; not reserved when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^[0-9]+(\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$"), length(max = 32))]
    pub ephemeral_storage: Option<String>,
}

/// The GPUs of a unit.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Gpu {
    /// Model, for information (`RTX 3080`).
    #[schemars(length(max = 63))]
    pub model: String,
    /// Number of GPUs.
    #[schemars(range(min = 0, max = 64))]
    pub count: i64,
    /// How the cluster allocates them.
    pub allocation: Allocation,
}

/// How the cluster allocates GPUs to a pod.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Allocation {
    /// Whole GPUs by a device plugin's resource name (`nvidia.com/gpu`).
    Device {
        /// Name of the extended resource.
        resource: String,
    },
    /// A MIG profile by its resource name (`nvidia.com/mig-1g.10gb`).
    Mig {
        /// Name of the extended resource.
        resource: String,
    },
    /// A time slice by its resource name (`nvidia.com/gpu.shared`).
    TimeSlice {
        /// Name of the extended resource.
        resource: String,
    },
    /// A part of a GPU by HAMi.
    Hami {
        /// Memory per GPU in MiB.
        memory_mib: i64,
        /// Share of each GPU's cores in percent.
        cores: i64,
    },
    /// Devices of a class by dynamic resource allocation.
    Dra {
        /// Name of the `DeviceClass`.
        device_class: String,
        /// CEL selectors that each device must meet.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        selectors: Vec<String>,
    },
}

/// One flat object, since structural schemas have no variants. Rules require the fields of each kind.
impl JsonSchema for Allocation {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Allocation".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "object",
            "description": "How the cluster allocates GPUs to a pod.",
            "required": ["kind"],
            "properties": {
                "kind": { "type": "string", "enum": ["device", "mig", "time_slice", "hami", "dra"],
                    "description": "device: whole GPUs by a device plugin; mig: a MIG profile; time_slice: a time slice; hami: a part of a GPU by HAMi; dra: devices of a DeviceClass." },
                "resource": { "type": "string", "minLength": 1, "maxLength": 253,
                    "description": "Name of the extended resource (device, mig, time_slice)." },
                "memoryMib": { "type": "integer", "format": "int64", "minimum": 1,
                    "description": "Memory per GPU in MiB (hami)." },
                "cores": { "type": "integer", "format": "int64", "minimum": 0, "maximum": 100,
                    "description": "Share of each GPU's cores in percent (hami)." },
                "deviceClass": { "type": "string", "minLength": 1, "maxLength": 253,
                    "description": "Name of the DeviceClass (dra)." },
                "selectors": { "type": "array", "maxItems": 8, "items": { "type": "string", "minLength": 1, "maxLength": 1024 },
                    "description": "CEL selectors that each device must meet (dra)." }
            },
            "x-kubernetes-validations": [
                { "rule": "!(self.kind in ['device', 'mig', 'time_slice']) || has(self.resource)", "message": "device, mig and time_slice need resource" },
                { "rule": "self.kind != 'hami' || (has(self.memoryMib) && has(self.cores))", "message": "hami needs memoryMib and cores" },
                { "rule": "self.kind != 'dra' || has(self.deviceClass)", "message": "dra needs deviceClass" }
            ]
        })
    }
}

/// Desired instance of a unit.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Instance {
    /// Name of the instance (`inst-<32 hex>`).
    #[schemars(regex(pattern = r"^inst-[0-9a-f]{32}$"), length(max = 37))]
    pub id: String,
    /// Grows with each start. A failed attempt is not retried.
    #[schemars(range(min = 0))]
    pub attempt: i64,
    /// Grows with each requested restart.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub restart: i64,
    /// Name of the tenant (`ten-<32 hex>`); also its namespace.
    #[schemars(regex(pattern = r"^ten-[0-9a-f]{32}$"), length(max = 36))]
    pub tenant_id: String,
    /// Display name of the tenant.
    #[serde(default)]
    #[schemars(length(max = 253))]
    pub tenant_name: String,
    /// Container image.
    #[schemars(length(min = 1, max = 1024))]
    pub image: String,
    /// Entry point; the image's when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(max = 32768)))]
    pub command: Vec<String>,
    /// Arguments; the image's when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256), inner(length(max = 32768)))]
    pub args: Vec<String>,
    /// Working directory; the image's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 4096))]
    pub working_dir: Option<String>,
    /// Environment variables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256))]
    pub env: Vec<EnvVar>,
    /// Ports the service listens on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub ports: Vec<Port>,
    /// Storages to mount.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub volumes: Vec<Volume>,
    /// Seconds between SIGTERM and SIGKILL when the container terminates.
    #[serde(default = "default_grace")]
    #[schemars(range(min = 0, max = 3600))]
    pub termination_grace_period_seconds: i64,
    /// Size of `/dev/shm` in MiB, counted as memory; the runtime's default (64 MiB) when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 16_777_216))]
    pub shm_size_mib: Option<i64>,
    /// Whether the registry is asked at each start, so that an image that is on the node already runs only for those who may
    /// pull it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub always_pull: bool,
    /// Secret of the type `kubernetes.io/dockerconfigjson` with which the image is pulled, in the namespace of the instance's
    /// pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub pull_secret_name: Option<String>,
    /// Whose code runs. The cluster has a policy for each.
    #[serde(default, skip_serializing_if = "Trust::is_platform")]
    pub trust: Trust,
    /// RuntimeClass; by the cluster's policy when absent, and for code of a tenant for which the policy names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub runtime_class_name: Option<String>,
    /// Whether the container runs as root, in a separate user namespace; otherwise as an ordinary user.
    #[serde(default)]
    pub root_inside: bool,
    /// Whether its pod and the pods of other instances of its tenant that have this, too, can open connections to each
    /// other. Other instances are closed to one another.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reaches_peers: bool,
    /// Secret whose keys become environment variables, in the namespace of the instance's pod
    /// (`status.instance.namespace`): the tenant's, or the unit's if its devices are claimed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub secret_name: Option<String>,
    /// Seconds after which a start fails if its probe has not passed.
    #[serde(default = "default_start_timeout")]
    #[schemars(range(min = 1, max = 86400))]
    pub start_timeout_seconds: i64,
}

fn default_grace() -> i64 {
    30
}

fn default_start_timeout() -> i64 {
    600
}

/// One environment variable. For secrets, use `secretName`.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq)]
pub struct EnvVar {
    /// Name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Value, passed unchanged.
    #[serde(default)]
    #[schemars(length(max = 32768))]
    pub value: String,
}

/// One port of the service.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Port {
    /// Number.
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,
    /// Protocol.
    #[serde(default)]
    pub protocol: Protocol,
    /// Whether users can reach it through the gateway.
    #[serde(default)]
    pub is_public: bool,
    /// Whether the startup and readiness probes use it.
    #[serde(default)]
    pub is_probe: bool,
    /// Path under which the service answers; with `isProbe`, the path of the probe. Empty: TCP only.
    #[serde(default)]
    #[schemars(length(max = 1024))]
    pub base_url: String,
}

/// One mounted storage.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Volume {
    /// Name within the pod.
    #[schemars(regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"), length(max = 61))]
    pub name: String,
    /// Absolute path inside the container.
    #[schemars(regex(pattern = r"^/"), length(max = 4096))]
    pub mount_path: String,
    /// Whether it is mounted read-only.
    #[serde(default)]
    pub read_only: bool,
    /// Name of the `GpuStorage`; a temporary directory on the instance's disk when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub storage: Option<String>,
}

/// Actual state of a unit, reported by the operator.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct GpuUnitStatus {
    /// State of the unit.
    #[serde(default)]
    pub state: UnitState,
    /// The conditions `Held`, `InstanceReady` and `TenantCode`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Node of the unit's place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// UUIDs of its GPUs, if the cluster reports them; `driver/pool/device` for claimed devices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpu_uuids: Vec<String>,
    /// The instance, while its pod exists or is being created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<InstanceStatus>,
    /// The last run that ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_run: Option<Run>,
    /// The last eight runs that ended, newest first, so that a reader that missed some can catch up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recent_runs: Vec<Run>,
    /// The last start that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<LastFailure>,
    /// Generation of the spec that the operator reconciled last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

impl GpuUnitStatus {
    /// Returns the condition of this type, if it is set.
    #[must_use]
    pub fn condition(&self, type_: &str) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.type_ == type_)
    }

    /// Returns whether the unit holds its resources.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.condition(crate::names::CONDITION_HELD).is_some_and(|held| held.status == "True")
    }
}

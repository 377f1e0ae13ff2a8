//! The JSON of instances, and its translation to the custom resource.

use api::{Checks, Invalid};
use crds::{EnvVar, GpuUnit, Instance, Port, Protocol, UnitState, Volume, names};
use kube::ResourceExt as _;
use plans::object_names::name_of;
use plans::unit::attempt::Attempt;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use super::error::Error;
use crate::text::require_text;

/// An instance to start.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewInstance {
    /// Instance id: `inst_…`, or any text.
    #[serde(rename = "instanceID")]
    pub(super) instance_id: String,
    /// Tenant id: `ten_…`, or any text.
    #[serde(rename = "tenantID")]
    tenant_id: String,
    /// Tenant name.
    #[serde(rename = "tenantName")]
    tenant_name: String,
    /// Container image.
    image: String,
    /// Id of the storage that the template's volumes mount; empty for temporary volumes.
    #[serde(rename = "storageID", default)]
    storage_id: String,
    /// Name of the GPU specification.
    #[serde(rename = "specName")]
    pub(super) spec_name: String,
    /// The container.
    template: Template,
}

/// The container of an instance.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Template {
    /// Ports that the container listens on.
    #[serde(default)]
    ports: Vec<TemplatePort>,
    /// Environment variables.
    #[serde(default)]
    envs: Vec<TemplateEnv>,
    /// Shell command; the image's own if empty.
    #[serde(default)]
    cmd: String,
    /// Mount points of the storage.
    #[serde(default)]
    volumes: Vec<TemplateVolume>,
}

/// A port of the container.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct TemplatePort {
    /// Port number.
    #[schema(minimum = 1, maximum = 65535)]
    port: u16,
    /// Transport protocol.
    #[serde(default)]
    protocol: TemplateProtocol,
    /// Users can reach the port.
    #[serde(default, rename = "isPublic")]
    is_public: bool,
    /// The readiness probe uses the port.
    #[serde(default, rename = "isProbe")]
    is_probe: bool,
    /// Path of the probe's GET request; empty for a TCP probe.
    #[serde(default, rename = "baseUrl")]
    base_url: String,
}

/// Transport protocol of a port.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
enum TemplateProtocol {
    /// TCP. An empty text means the same.
    #[default]
    #[serde(alias = "")]
    Tcp,
    /// UDP.
    Udp,
    /// SCTP.
    Sctp,
}

/// An environment variable.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct TemplateEnv {
    /// Name of the variable.
    name: String,
    /// Value of the variable.
    #[serde(default)]
    value: String,
}

/// A mount point of the storage.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct TemplateVolume {
    /// Name of the volume.
    name: String,
    /// Absolute path.
    #[serde(rename = "mountPath")]
    mount_path: String,
    /// Mounted read-only.
    #[serde(default, rename = "readOnly")]
    read_only: bool,
}

/// The state of an instance.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Instance)]
pub(super) struct InstanceView {
    /// State of the instance.
    state: InstanceState,
    /// Instance id.
    #[serde(rename = "instanceID")]
    instance_id: String,
    /// Machine-readable reason why it is not running; empty while it runs.
    reason: String,
    /// The reason, for people.
    message: String,
    /// Name of its unit.
    unit: String,
    /// Its node.
    node: Option<String>,
    /// IP address of its pod.
    #[serde(rename = "podIP")]
    pod_ip: Option<String>,
    /// Start of the current run (RFC 3339).
    #[serde(rename = "runningSince")]
    running_since: Option<String>,
    /// Last log lines of a failed start; empty otherwise.
    #[serde(rename = "logTail")]
    log_tail: String,
}

/// State of an instance.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum InstanceState {
    /// Not started yet.
    Init,
    /// Starting; the readiness probe has not passed yet.
    Ready,
    /// The readiness probe passes.
    Running,
}

impl From<UnitState> for InstanceState {
    fn from(state: UnitState) -> Self {
        match state {
            UnitState::Init => Self::Init,
            UnitState::Ready => Self::Ready,
            UnitState::Running => Self::Running,
        }
    }
}

impl NewInstance {
    /// The instance of the custom resource, with attempt 0.
    pub(super) fn instance(&self) -> Result<Instance, Error> {
        self.check()?;
        let storage = (!self.storage_id.is_empty()).then(|| name_of("stor", &self.storage_id));
        let mut instance: Instance = serde_json::from_value(json!({
            "id": name_of("inst", &self.instance_id),
            "attempt": 0,
            "tenantId": name_of("ten", &self.tenant_id),
            "tenantName": self.tenant_name,
            "image": self.image,
        }))?;
        let template = &self.template;
        instance.ports = template.ports.iter().map(TemplatePort::port).collect();
        instance.env = template
            .envs
            .iter()
            .map(|env| EnvVar { name: env.name.clone(), value: env.value.clone() })
            .collect();
        if !template.cmd.is_empty() {
            instance.command = vec!["/bin/sh".to_owned(), "-c".to_owned(), template.cmd.clone()];
        }
        instance.volumes = template
            .volumes
            .iter()
            .map(|volume| Volume {
                name: volume.name.clone(),
                mount_path: volume.mount_path.clone(),
                read_only: volume.read_only,
                storage: storage.clone(),
            })
            .collect();
        Ok(instance)
    }

    fn check(&self) -> Result<(), Invalid> {
        let mut checks = Checks::default();
        require_text(&mut checks, "/instanceID", &self.instance_id, 253);
        require_text(&mut checks, "/tenantID", &self.tenant_id, 253);
        require_text(&mut checks, "/tenantName", &self.tenant_name, 253);
        require_text(&mut checks, "/image", &self.image, 1024);
        require_text(&mut checks, "/specName", &self.spec_name, 63);
        self.template.check(&mut checks);
        checks.finish()
    }
}

impl Template {
    fn check(&self, checks: &mut Checks) {
        for (n, port) in self.ports.iter().enumerate() {
            let at = format!("/template/ports/{n}");
            checks.require(port.port != 0, format!("{at}/port"), "must be 1 to 65535");
        }
        for (n, volume) in self.volumes.iter().enumerate() {
            let at = format!("/template/volumes/{n}");
            let is_absolute = volume.mount_path.starts_with('/');
            checks.require(is_absolute, format!("{at}/mountPath"), "must be an absolute path");
            let is_unique = self.volumes.iter().take(n).all(|other| other.name != volume.name);
            checks.require(is_unique, format!("{at}/name"), "must be unique among the volumes");
        }
        for (n, env) in self.envs.iter().enumerate() {
            let is_valid = !env.name.is_empty() && !env.name.contains('=');
            checks.require(is_valid, format!("/template/envs/{n}/name"), "must not be empty or contain '='");
        }
    }
}

impl TemplatePort {
    fn port(&self) -> Port {
        let protocol = match self.protocol {
            TemplateProtocol::Tcp => Protocol::Tcp,
            TemplateProtocol::Udp => Protocol::Udp,
            TemplateProtocol::Sctp => Protocol::Sctp,
        };
        Port {
            port: i32::from(self.port),
            protocol,
            is_public: self.is_public,
            is_probe: self.is_probe,
            base_url: self.base_url.clone(),
        }
    }
}

impl InstanceView {
    /// The state of the instance with this id in its unit.
    pub(super) fn of(unit: &GpuUnit, id: &str) -> Self {
        let name = name_of("inst", id);
        let status = unit.status.clone().unwrap_or_default();
        let instance = status.instance.as_ref().filter(|instance| instance.id == name);
        let ready = status.condition(names::CONDITION_INSTANCE_READY);
        let not_ready = ready.filter(|ready| ready.status != "True");
        let wanted = unit.spec.instance.as_ref().filter(|instance| instance.id == name);
        let failure = status.last_failure.as_ref();
        let failure = failure.filter(|failure| wanted.map(Attempt::from) == Some(Attempt::from(*failure)));
        let state = if instance.is_some() { status.state } else { UnitState::Init };
        let (reason, message) = match failure {
            Some(failure) => (failure.reason.clone(), failure.message.clone()),
            None => not_ready.map(|ready| (ready.reason.clone(), ready.message.clone())).unwrap_or_default(),
        };
        Self {
            state: state.into(),
            instance_id: id.to_owned(),
            reason,
            message,
            unit: unit.name_any(),
            node: status.node.clone(),
            pod_ip: instance.and_then(|instance| instance.pod_ip.clone()),
            running_since: instance
                .and_then(|instance| instance.running_since.as_ref())
                .map(|since| since.0.to_string()),
            log_tail: failure.map(|failure| failure.log_tail.clone()).unwrap_or_default(),
        }
    }
}

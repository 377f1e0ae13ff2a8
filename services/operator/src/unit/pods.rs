//! The pods of a unit as values: the placeholder that holds its place and the instance that takes it.
//!
//! Both ask for exactly the same resources, so that what one gives up is what the other needs; where the
//! devices are claimed, both use the same claim.

use std::collections::BTreeMap;

use crds::{Allocation, GpuUnit, GpuUnitSpec, Instance, names};
use k8s_openapi::api::core::v1::{
    Affinity, Capabilities, Container, ContainerPort, EmptyDirVolumeSource, EnvFromSource, EnvVar,
    HTTPGetAction, NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm,
    PersistentVolumeClaimVolumeSource, Pod, PodResourceClaim, PodSecurityContext, PodSpec, Probe,
    ResourceClaim, ResourceRequirements, SeccompProfile, SecretEnvSource, SecurityContext, TCPSocketAction,
    Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::Resource as _;
use kube::ResourceExt as _;
use sha2::{Digest as _, Sha256};

use super::devices;
use crate::quantity;
use crate::settings::Settings;
use crate::view::{ANNOTATION_TEMPLATE, LABEL_ATTEMPT, LABEL_RESTART};

/// Seconds between two readiness probes, and between two startup probes.
const PROBE_PERIOD: i32 = 1;

/// Name of the pod of an instance's attempt and restart: the same for the same wish, so that it is
/// never made twice.
#[must_use]
pub fn instance_pod_name(instance: &Instance) -> String {
    match instance.restart {
        0 => format!("{}-{}", instance.id, instance.attempt),
        restart => format!("{}-{}-{restart}", instance.id, instance.attempt),
    }
}

/// What a placeholder does to the others on its way to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold<'a> {
    /// Takes any free place on a node that suits.
    Anywhere,
    /// Waits for the place on this node that a pod will leave when it has ended. Its class is above that of
    /// any starving pod, so that none can take the place in the moment it becomes free, and below that of
    /// instances, so that it keeps no neighbour from handing over a place of its own meanwhile.
    Behind(&'a str),
    /// Takes the place on this node that has been left, with the class of instances.
    Into(&'a str),
}

/// Checks what the schema cannot.
///
/// # Errors
/// What is wrong, for people: no pod can hold what the spec asks for.
pub fn check(unit: &GpuUnit) -> Result<(), String> {
    let spec = &unit.spec;
    let named = [
        ("cpu", Some(&spec.resources.cpu)),
        ("memory", Some(&spec.resources.memory)),
        ("ephemeralStorage", spec.resources.ephemeral_storage.as_ref()),
    ];
    for (name, value) in named {
        if let Some(value) = value.filter(|value| quantity::milli(value).is_none()) {
            return Err(format!("resources.{name}: \"{value}\" is not a quantity"));
        }
    }
    match &spec.gpu.allocation {
        Allocation::Device { resource }
        | Allocation::Mig { resource }
        | Allocation::TimeSlice { resource }
            if spec.gpu.count > 0 && !resource.contains('/') =>
        {
            Err(format!(
                "gpu.allocation.resource: \"{resource}\" is not the name of an extended resource (vendor/name)"
            ))
        }
        Allocation::Dra { .. } => devices::check(unit),
        _ => Ok(()),
    }
}

/// The namespace of the placeholder.
#[must_use]
pub fn placeholder_namespace(unit: &GpuUnit) -> String {
    devices::home(unit).unwrap_or_else(|| names::SYSTEM_NAMESPACE.to_owned())
}

/// The namespace of the instance's pod.
#[must_use]
pub fn instance_namespace(unit: &GpuUnit, instance: &Instance) -> String {
    devices::home(unit).unwrap_or_else(|| instance.tenant_id.clone())
}

/// Requests and limits of a unit, the same for both of its pods.
fn resources(spec: &GpuUnitSpec) -> ResourceRequirements {
    let mut all = BTreeMap::from([
        ("cpu".to_owned(), Quantity(spec.resources.cpu.clone())),
        ("memory".to_owned(), Quantity(spec.resources.memory.clone())),
    ]);
    if let Some(disk) = &spec.resources.ephemeral_storage {
        all.insert("ephemeral-storage".to_owned(), Quantity(disk.clone()));
    }
    let count = Quantity(spec.gpu.count.to_string());
    if spec.gpu.count > 0 {
        match &spec.gpu.allocation {
            Allocation::Device { resource }
            | Allocation::Mig { resource }
            | Allocation::TimeSlice { resource } => {
                all.insert(resource.clone(), count);
            }
            Allocation::Hami { memory_mib, cores } => {
                all.insert("nvidia.com/gpu".to_owned(), count);
                all.insert("nvidia.com/gpumem".to_owned(), Quantity(memory_mib.to_string()));
                all.insert("nvidia.com/gpucores".to_owned(), Quantity(cores.to_string()));
            }
            Allocation::Dra { .. } => {}
        }
    }
    ResourceRequirements { requests: Some(all.clone()), limits: Some(all), claims: None }
}

/// The same, with the devices of the claim.
fn resources_with(spec: &GpuUnitSpec, claim: Option<&str>) -> ResourceRequirements {
    let claims = claim.map(|_| vec![ResourceClaim { name: devices::REQUEST.to_owned(), request: None }]);
    ResourceRequirements { claims, ..resources(spec) }
}

/// Hash of what a placeholder holds: another hash means that the unit's size was changed.
#[must_use]
pub fn template_hash(spec: &GpuUnitSpec, settings: &Settings) -> String {
    let mut held = vec![
        serde_json::json!(resources(spec)),
        serde_json::json!(spec.node_selector),
        serde_json::json!(settings.scheduler),
        serde_json::json!(settings.tolerated_taints),
    ];
    held.extend(devices::template_hash(spec).map(serde_json::Value::from));
    let held = serde_json::Value::from(held);
    short_hash(held.to_string().as_bytes())
}

/// Sixteen hex digits of SHA-256.
#[must_use]
pub fn short_hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The placeholder of a unit under one of its two names, with the devices of a claim.
#[must_use]
pub fn placeholder(
    unit: &GpuUnit,
    name: &str,
    hold: Hold<'_>,
    claim: Option<&str>,
    settings: &Settings,
) -> Pod {
    let mut metadata = metadata(unit, name, &placeholder_namespace(unit), names::ROLE_PLACEHOLDER);
    metadata.annotations =
        Some(BTreeMap::from([(ANNOTATION_TEMPLATE.to_owned(), template_hash(&unit.spec, settings))]));
    let (class, node) = match hold {
        Hold::Anywhere => (names::CLASS_PLACEHOLDER, None),
        Hold::Behind(node) => (names::CLASS_RETURNING, Some(node)),
        Hold::Into(node) => (names::CLASS_INSTANCE, Some(node)),
    };
    let container = Container {
        name: names::CONTAINER.to_owned(),
        image: Some(settings.pause_image.clone()),
        image_pull_policy: Some("IfNotPresent".to_owned()),
        resources: Some(resources_with(&unit.spec, claim)),
        security_context: Some(confined(false)),
        ..Container::default()
    };
    let spec = PodSpec {
        termination_grace_period_seconds: Some(0),
        security_context: Some(pod_security(65535, false)),
        ..pod_spec(unit, class, node, claim, container, settings)
    };
    Pod { metadata, spec: Some(spec), status: None }
}

/// The pod of an instance for the place on `node`, with the devices of a claim.
#[must_use]
pub fn instance(
    unit: &GpuUnit,
    instance: &Instance,
    node: &str,
    claim: Option<&str>,
    settings: &Settings,
) -> Pod {
    let namespace = instance_namespace(unit, instance);
    let mut metadata = metadata(unit, &instance_pod_name(instance), &namespace, names::ROLE_INSTANCE);
    let labels = metadata.labels.get_or_insert_default();
    labels.insert(names::LABEL_INSTANCE.to_owned(), instance.id.clone());
    labels.insert(names::LABEL_TENANT.to_owned(), instance.tenant_id.clone());
    labels.insert(LABEL_ATTEMPT.to_owned(), instance.attempt.to_string());
    labels.insert(LABEL_RESTART.to_owned(), instance.restart.to_string());
    metadata.finalizers = Some(vec![names::FINALIZER_RUN.to_owned()]);

    let (volumes, volume_mounts) = volumes(instance);
    let probe = probe(instance);
    let container = Container {
        name: names::CONTAINER.to_owned(),
        image: Some(instance.image.clone()),
        command: (!instance.command.is_empty()).then(|| instance.command.clone()),
        args: (!instance.args.is_empty()).then(|| instance.args.clone()),
        working_dir: instance.working_dir.clone(),
        env: (!instance.env.is_empty()).then(|| {
            instance
                .env
                .iter()
                .map(|var| EnvVar {
                    name: var.name.clone(),
                    value: Some(literal(&var.value)),
                    value_from: None,
                })
                .collect()
        }),
        env_from: instance.secret_name.as_ref().map(|name| {
            vec![EnvFromSource {
                secret_ref: Some(SecretEnvSource { name: name.clone(), optional: Some(false) }),
                ..EnvFromSource::default()
            }]
        }),
        ports: (!instance.ports.is_empty()).then(|| {
            instance
                .ports
                .iter()
                .map(|port| ContainerPort {
                    container_port: port.port,
                    protocol: Some(port.protocol.as_str().to_owned()),
                    ..ContainerPort::default()
                })
                .collect()
        }),
        readiness_probe: probe.clone().map(|probe| Probe { failure_threshold: Some(3), ..probe }),
        startup_probe: probe.map(|probe| Probe {
            failure_threshold: Some(
                i32::try_from(instance.start_timeout_seconds).unwrap_or(i32::MAX).saturating_add(30),
            ),
            ..probe
        }),
        resources: Some(resources_with(&unit.spec, claim)),
        security_context: Some(confined(instance.root_inside)),
        volume_mounts: (!volume_mounts.is_empty()).then_some(volume_mounts),
        ..Container::default()
    };
    let spec = PodSpec {
        // none at all would mean that a deleted pod counts as gone before its container is
        termination_grace_period_seconds: Some(instance.termination_grace_period_seconds.max(1)),
        security_context: Some(pod_security(settings.run_as, instance.root_inside)),
        host_users: instance.root_inside.then_some(false),
        runtime_class_name: instance.runtime_class_name.clone(),
        volumes: (!volumes.is_empty()).then_some(volumes),
        hostname: Some(instance.id.clone()),
        ..pod_spec(unit, names::CLASS_INSTANCE, Some(node), claim, container, settings)
    };
    Pod { metadata, spec: Some(spec), status: None }
}

fn metadata(unit: &GpuUnit, name: &str, namespace: &str, role: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: Some(namespace.to_owned()),
        labels: Some(BTreeMap::from([
            ("app.kubernetes.io/managed-by".to_owned(), names::MANAGER_OPERATOR.to_owned()),
            (names::LABEL_UNIT.to_owned(), unit.name_any()),
            (names::LABEL_ROLE.to_owned(), role.to_owned()),
        ])),
        // removed with its unit even if somebody strips the unit's finalizer
        owner_references: Some(vec![owned_by(unit)]),
        ..ObjectMeta::default()
    }
}

/// The reference of what goes with its unit.
#[must_use]
pub fn owned_by(unit: &GpuUnit) -> OwnerReference {
    OwnerReference {
        api_version: GpuUnit::api_version(&()).into_owned(),
        kind: GpuUnit::kind(&()).into_owned(),
        name: unit.name_any(),
        uid: unit.uid().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: None,
    }
}

fn pod_spec(
    unit: &GpuUnit,
    class: &str,
    node: Option<&str>,
    claim: Option<&str>,
    container: Container,
    settings: &Settings,
) -> PodSpec {
    PodSpec {
        containers: vec![container],
        resource_claims: claim.map(|claim| {
            vec![PodResourceClaim {
                name: devices::REQUEST.to_owned(),
                resource_claim_name: Some(claim.to_owned()),
                resource_claim_template_name: None,
            }]
        }),
        priority_class_name: Some(class.to_owned()),
        preemption_policy: Some("Never".to_owned()),
        node_selector: (!unit.spec.node_selector.is_empty()).then(|| unit.spec.node_selector.clone()),
        affinity: node.map(only),
        tolerations: settings.tolerations(),
        scheduler_name: settings.scheduler.clone(),
        automount_service_account_token: Some(false),
        enable_service_links: Some(false),
        restart_policy: Some("Always".to_owned()),
        ..PodSpec::default()
    }
}

/// That one node and no other, by name and not by a label that could be missing or doubled.
fn only(node: &str) -> Affinity {
    Affinity {
        node_affinity: Some(NodeAffinity {
            required_during_scheduling_ignored_during_execution: Some(NodeSelector {
                node_selector_terms: vec![NodeSelectorTerm {
                    match_fields: Some(vec![NodeSelectorRequirement {
                        key: "metadata.name".to_owned(),
                        operator: "In".to_owned(),
                        values: Some(vec![node.to_owned()]),
                    }]),
                    match_expressions: None,
                }],
            }),
            preferred_during_scheduling_ignored_during_execution: None,
        }),
        ..Affinity::default()
    }
}

/// Pod Security `restricted`, or `baseline` in a user namespace of its own.
fn pod_security(user: i64, root_inside: bool) -> PodSecurityContext {
    let ordinary = (!root_inside).then_some(user);
    PodSecurityContext {
        run_as_non_root: Some(!root_inside),
        run_as_user: ordinary,
        run_as_group: ordinary,
        fs_group: ordinary,
        fs_group_change_policy: ordinary.map(|_| "OnRootMismatch".to_owned()),
        seccomp_profile: Some(SeccompProfile { type_: "RuntimeDefault".to_owned(), localhost_profile: None }),
        ..PodSecurityContext::default()
    }
}

fn confined(root_inside: bool) -> SecurityContext {
    // what a package manager or a service that drops its own rights needs, inside its user namespace
    let add = root_inside
        .then(|| ["CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"].map(str::to_owned).to_vec());
    SecurityContext {
        allow_privilege_escalation: Some(false),
        capabilities: Some(Capabilities { drop: Some(vec!["ALL".to_owned()]), add }),
        ..SecurityContext::default()
    }
}

/// The probe of the port that is meant for it; none when no port is.
fn probe(instance: &Instance) -> Option<Probe> {
    let port = instance.ports.iter().find(|port| port.is_probe)?;
    let number = IntOrString::Int(port.port);
    let path = port.base_url.trim();
    let mut probe =
        Probe { period_seconds: Some(PROBE_PERIOD), timeout_seconds: Some(3), ..Probe::default() };
    if path.is_empty() {
        probe.tcp_socket = Some(TCPSocketAction { port: number, host: None });
    } else {
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        probe.http_get = Some(HTTPGetAction { path: Some(path), port: number, ..HTTPGetAction::default() });
    }
    Some(probe)
}

/// `$(NAME)` in a user's value is text and not a reference.
fn literal(value: &str) -> String {
    if value.contains("$(") || value.contains("$$") { value.replace('$', "$$") } else { value.to_owned() }
}

fn volumes(instance: &Instance) -> (Vec<Volume>, Vec<VolumeMount>) {
    let mut volumes = Vec::new();
    let mut mounts = Vec::new();
    for volume in &instance.volumes {
        let name = format!("v-{}", volume.name);
        volumes.push(Volume {
            name: name.clone(),
            persistent_volume_claim: volume.storage.as_ref().map(|claim| PersistentVolumeClaimVolumeSource {
                claim_name: claim.clone(),
                read_only: volume.read_only.then_some(true),
            }),
            empty_dir: volume.storage.is_none().then(EmptyDirVolumeSource::default),
            ..Volume::default()
        });
        mounts.push(VolumeMount {
            name,
            mount_path: volume.mount_path.clone(),
            read_only: volume.read_only.then_some(true),
            ..VolumeMount::default()
        });
    }
    if let Some(size) = instance.shm_size_mib {
        volumes.push(Volume {
            name: "shm".to_owned(),
            empty_dir: Some(EmptyDirVolumeSource {
                medium: Some("Memory".to_owned()),
                size_limit: Some(Quantity(format!("{size}Mi"))),
            }),
            ..Volume::default()
        });
        mounts.push(VolumeMount {
            name: "shm".to_owned(),
            mount_path: "/dev/shm".to_owned(),
            ..VolumeMount::default()
        });
    }
    (volumes, mounts)
}

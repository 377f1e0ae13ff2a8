//! The pods of a unit as values: the placeholder that holds its place, and the instance pod that takes it over.
//!
//! Both request exactly the same resources, so that one frees what the other needs. Where the devices are claimed, both
//! use the same claim.

use std::collections::BTreeMap;

use crds::{Allocation, GpuUnit, Instance, names};
use k8s_openapi::api::core::v1::{
    Affinity, Capabilities, Container, ContainerPort, EmptyDirVolumeSource, EnvFromSource, EnvVar,
    HTTPGetAction, LocalObjectReference, NodeAffinity, NodeSelector, NodeSelectorRequirement,
    NodeSelectorTerm, PersistentVolumeClaimVolumeSource, Pod, PodResourceClaim, PodSecurityContext, PodSpec,
    Probe, SeccompProfile, SecretEnvSource, SecurityContext, TCPSocketAction, Toleration,
    TopologySpreadConstraint, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::ResourceExt as _;

use super::devices;
use super::isolation::Isolation;
use super::meta::{labels, owner_reference, short_hash};
use super::resources::{requirements_with, template_hash, without_overhead};
use crate::object_names::SERVICE_ACCOUNT;
use crate::observation::{ANNOTATION_TEMPLATE, LABEL_ATTEMPT, LABEL_RESTART, NOT_READY};
use crate::settings::Settings;

/// Seconds between two readiness probes, and between two startup probes.
const PROBE_PERIOD: i32 = 1;

/// Name of the pod of an instance's attempt and restart that takes over the place of the placeholder with this uid. A
/// placeholder hands its place over once, so that no earlier pod with a node had the name; and two replicas that see
/// the same placeholder find the same name, so that the pod is not created twice.
#[must_use]
pub fn instance_pod_name(instance: &Instance, placeholder: &str) -> String {
    let suffix: String = short_hash(placeholder.as_bytes()).chars().take(8).collect();
    match instance.restart {
        0 => format!("{}-{}-{suffix}", instance.id, instance.attempt),
        restart => format!("{}-{}-{restart}-{suffix}", instance.id, instance.attempt),
    }
}

/// Which place a placeholder takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement<'a> {
    /// Any free place on a suitable node.
    Anywhere,
    /// Any free place, before pods of lower classes: another pod has taken the unit's own.
    Elsewhere,
    /// The unit's own place on this node, after the pod that has it now or had it before. The operator binds the pod.
    Own(&'a str),
}

impl<'a> Placement<'a> {
    /// The required node.
    #[must_use]
    pub const fn node(self) -> Option<&'a str> {
        match self {
            Self::Anywhere | Self::Elsewhere => None,
            Self::Own(node) => Some(node),
        }
    }
}

/// Checks constraints that the schema cannot express.
///
/// # Errors
/// Why no pod can hold what the spec requests, for people.
pub fn check(unit: &GpuUnit) -> Result<(), String> {
    let spec = &unit.spec;
    let named = [
        ("cpu", Some(&spec.resources.cpu)),
        ("memory", Some(&spec.resources.memory)),
        ("ephemeralStorage", spec.resources.ephemeral_storage.as_ref()),
    ];
    for (name, value) in named {
        if let Some(value) = value.filter(|value| !is_quantity(value)) {
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

fn is_quantity(text: &str) -> bool {
    text.parse::<crds::Quantity>().is_ok_and(|quantity| quantity.milli() >= 0)
}

/// The namespace of the placeholder.
#[must_use]
pub fn placeholder_namespace(unit: &GpuUnit) -> String {
    devices::namespace(unit).unwrap_or_else(|| names::SYSTEM_NAMESPACE.to_owned())
}

/// The namespace of the instance's pod.
#[must_use]
pub fn instance_namespace(unit: &GpuUnit, instance: &Instance) -> String {
    devices::namespace(unit).unwrap_or_else(|| instance.tenant_id.clone())
}

/// A placeholder of a unit.
#[must_use]
pub fn placeholder(
    unit: &GpuUnit,
    name: &str,
    placement: Placement<'_>,
    claim: Option<&str>,
    settings: &Settings,
) -> Pod {
    let mut metadata = metadata(unit, name, &placeholder_namespace(unit), names::ROLE_PLACEHOLDER);
    metadata.annotations =
        Some(BTreeMap::from([(ANNOTATION_TEMPLATE.to_owned(), template_hash(&unit.spec, settings))]));
    let container = Container {
        name: names::CONTAINER.to_owned(),
        image: Some(settings.pause_image.clone()),
        image_pull_policy: Some("IfNotPresent".to_owned()),
        resources: Some(requirements_with(&unit.spec, claim)),
        security_context: Some(confined(false)),
        ..Container::default()
    };
    // on a node that is not ready, its place is not lost
    let stays = NOT_READY.map(|taint| Toleration {
        key: Some(taint.to_owned()),
        operator: Some("Exists".to_owned()),
        effect: Some("NoExecute".to_owned()),
        ..Toleration::default()
    });
    let spec = PodSpec {
        termination_grace_period_seconds: Some(0),
        service_account_name: devices::namespace(unit).map(|_| SERVICE_ACCOUNT.to_owned()),
        tolerations: Some(settings.tolerations().into_iter().flatten().chain(stays).collect()),
        security_context: Some(pod_security(65535, false)),
        ..pod_spec(unit, placement, claim, container, settings)
    };
    Pod { metadata, spec: Some(spec), status: None }
}

/// A guard of the place on `node`: a pod of the unit's size that no scheduler places. Its nomination keeps the place.
#[must_use]
pub fn guard(unit: &GpuUnit, name: &str, node: &str, settings: &Settings) -> Pod {
    let mut pod = placeholder(unit, name, Placement::Own(node), None, settings);
    let labels = BTreeMap::from([
        ("app.kubernetes.io/managed-by".to_owned(), names::MANAGER_OPERATOR.to_owned()),
        (names::LABEL_GUARDS.to_owned(), unit.name_any()),
        (names::LABEL_ROLE.to_owned(), names::ROLE_GUARD.to_owned()),
    ]);
    pod.metadata.labels = Some(labels);
    pod.metadata.namespace = Some(names::SYSTEM_NAMESPACE.to_owned());
    pod.spec.get_or_insert_default().service_account_name = None;
    pod
}

/// A barrier: a pod that needs nothing and that no scheduler places. Its message shows that the scheduler has seen the
/// binding of the pod with the uid `after`.
#[must_use]
pub fn barrier(unit: &GpuUnit, after: &str, node: &str, settings: &Settings) -> Pod {
    let mut pod = guard(unit, &barrier_name(unit, after), node, settings);
    let labels = pod.metadata.labels.get_or_insert_default();
    labels.insert(names::LABEL_ROLE.to_owned(), names::ROLE_BARRIER.to_owned());
    for container in &mut pod.spec.get_or_insert_default().containers {
        container.resources = None;
    }
    pod
}

/// The name of the barrier after the binding of the pod with this uid.
#[must_use]
pub fn barrier_name(unit: &GpuUnit, after: &str) -> String {
    format!("{}-barrier-{}", unit.name_any(), short_hash(after.as_bytes()))
}

/// The node and the devices of an instance pod.
#[derive(Clone, Copy, Debug)]
pub struct InstancePlace<'a> {
    /// Node.
    pub node: &'a str,
    /// Claim on its devices, if the unit has one.
    pub claim: Option<&'a str>,
}

/// The pod of an instance for its place.
///
/// # Errors
/// Why the unit's resources do not suffice for the runtime.
pub fn instance(
    unit: &GpuUnit,
    instance: &Instance,
    name: &str,
    InstancePlace { node, claim }: InstancePlace<'_>,
    isolation: &Isolation,
    settings: &Settings,
) -> Result<Pod, String> {
    let namespace = instance_namespace(unit, instance);
    let mut metadata = metadata(unit, name, &namespace, names::ROLE_INSTANCE);
    let labels = metadata.labels.get_or_insert_default();
    labels.insert(names::LABEL_INSTANCE.to_owned(), instance.id.clone());
    labels.insert(names::LABEL_TENANT.to_owned(), instance.tenant_id.clone());
    labels.insert(LABEL_ATTEMPT.to_owned(), instance.attempt.to_string());
    labels.insert(LABEL_RESTART.to_owned(), instance.restart.to_string());
    if instance.reaches_peers {
        labels.insert(names::LABEL_PEERS.to_owned(), "true".to_owned());
    }
    metadata.finalizers = Some(vec![names::FINALIZER_RUN.to_owned()]);

    let (volumes, volume_mounts) = volumes(instance);
    let probe = probe(instance);
    let container = Container {
        name: names::CONTAINER.to_owned(),
        image: Some(instance.image.clone()),
        image_pull_policy: instance.always_pull.then(|| "Always".to_owned()),
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
        resources: Some(without_overhead(requirements_with(&unit.spec, claim), &isolation.overhead)?),
        security_context: Some(confined(instance.root_inside)),
        volume_mounts: (!volume_mounts.is_empty()).then_some(volume_mounts),
        ..Container::default()
    };
    let spec = PodSpec {
        // with zero, a deleted pod would disappear before its container has ended
        termination_grace_period_seconds: Some(instance.termination_grace_period_seconds.max(1)),
        security_context: Some(pod_security(settings.run_as, instance.root_inside)),
        host_users: isolation.user_namespace.then_some(false),
        service_account_name: Some(SERVICE_ACCOUNT.to_owned()),
        runtime_class_name: isolation.runtime_class.clone(),
        image_pull_secrets: instance
            .pull_secret_name
            .as_ref()
            .map(|name| vec![LocalObjectReference { name: name.clone() }]),
        volumes: (!volumes.is_empty()).then_some(volumes),
        hostname: Some(instance.id.clone()),
        ..pod_spec(unit, Placement::Own(node), claim, container, settings)
    };
    Ok(Pod { metadata, spec: Some(spec), status: None })
}

fn metadata(unit: &GpuUnit, name: &str, namespace: &str, role: &str) -> ObjectMeta {
    let mut labels = labels(unit);
    labels.insert(names::LABEL_ROLE.to_owned(), role.to_owned());
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: Some(namespace.to_owned()),
        labels: Some(labels),
        owner_references: Some(vec![owner_reference(unit)]),
        ..ObjectMeta::default()
    }
}

fn pod_spec(
    unit: &GpuUnit,
    placement: Placement<'_>,
    claim: Option<&str>,
    container: Container,
    settings: &Settings,
) -> PodSpec {
    let class = match placement {
        Placement::Anywhere => names::CLASS_PLACEHOLDER,
        Placement::Own(_) | Placement::Elsewhere => names::CLASS_INSTANCE,
    };
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
        affinity: placement.node().map(only),
        topology_spread_constraints: placement.node().map(|_| vec![bound_by_operator()]),
        tolerations: settings.tolerations(),
        scheduler_name: settings.scheduler.clone(),
        automount_service_account_token: Some(false),
        enable_service_links: Some(false),
        restart_policy: Some("Always".to_owned()),
        ..PodSpec::default()
    }
}

/// Keeps schedulers from binding the pod: no node has the topology key, and a pod that cannot be scheduled keeps its
/// nomination. A scheduling gate would do the same, but would have to be removed before the binding.
fn bound_by_operator() -> TopologySpreadConstraint {
    TopologySpreadConstraint {
        max_skew: 1,
        topology_key: names::TOPOLOGY_BOUND.to_owned(),
        when_unsatisfiable: "DoNotSchedule".to_owned(),
        ..TopologySpreadConstraint::default()
    }
}

/// Requires one node, by name and not by a label that could be missing or ambiguous.
pub(crate) fn only(node: &str) -> Affinity {
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

/// Conforms to Pod Security level `restricted`, or to `baseline` in a user namespace.
pub(crate) fn pod_security(user: i64, root_inside: bool) -> PodSecurityContext {
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

pub(crate) fn confined(root_inside: bool) -> SecurityContext {
    // needed inside the user namespace by package managers and by services that drop their own privileges
    let add = root_inside
        .then(|| ["CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"].map(str::to_owned).to_vec());
    SecurityContext {
        allow_privilege_escalation: Some(false),
        capabilities: Some(Capabilities { drop: Some(vec!["ALL".to_owned()]), add }),
        ..SecurityContext::default()
    }
}

/// The probe of the first port with `isProbe`.
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

/// Escapes `$`, so that `$(NAME)` in a user's value is not expanded.
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

//! The plan of a unit, case by case. Random scripts are in `tests/model`.

mod guard;
mod idle;
mod isolation;
mod progress;
mod runs;
mod starting;

use std::time::Duration;

use crds::{
    FailureReason, GpuUnit, GpuUnitStatus, HeldReason, InstanceReason, Run, TenantCodeReason, Trust,
    UnitState, names,
};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::PodSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde_json::json;

use super::action::{Action, Plan};
use super::plan::{plan, rejected};
use super::snapshot::{PlaceCheck, Snapshot};
use super::{devices, pods, resources};
use crate::observation::{
    ContainerExit, DraSupport, ObservedDeviceClaim, ObservedNode, ObservedPod, ObservedRuntimeClass,
    ObservedStorage, Phase, PodRef, Role, StatusReason,
};
use crate::settings::{Settings, TenantCode};

const UNIT: &str = "unit-1";
const NODE: &str = "node-1";
const INSTANCE: &str = "inst-1";
const TENANT: &str = "ten-1";

fn start() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

fn after(seconds: i64) -> Timestamp {
    start() + SignedDuration::from_secs(seconds)
}

/// A unit with its finalizer, and with attempt 1 of an instance if `wanted`.
fn unit(wanted: bool) -> GpuUnit {
    let mut unit: GpuUnit = serde_json::from_value(json!({
        "apiVersion": "atelier.dev/v1alpha1", "kind": "GpuUnit",
        "metadata": {"name": UNIT, "uid": "u", "generation": 1, "finalizers": [names::FINALIZER_UNIT]},
        "spec": {"gpuSpec": "small", "resources": {"cpu": "4", "memory": "16Gi"},
            "gpu": {"model": "RTX 3080", "count": 1, "allocation": {"kind": "device", "resource": "nvidia.com/gpu"}}},
    }))
    .unwrap();
    if wanted {
        let instance = json!({
            "id": INSTANCE, "attempt": 1, "tenantId": TENANT, "image": "webui", "startTimeoutSeconds": 60,
        });
        unit.spec.instance = Some(serde_json::from_value(instance).unwrap());
    }
    unit
}

fn pod(role: Role) -> ObservedPod {
    ObservedPod {
        namespace: names::SYSTEM_NAMESPACE.to_owned(),
        name: UNIT.to_owned(),
        uid: "placeholder".to_owned(),
        version: "1".to_owned(),
        unit: UNIT.to_owned(),
        role,
        instance: String::new(),
        attempt: 0,
        restart: 0,
        required_node: None,
        nominated: None,
        node: Some(NODE.to_owned()),
        class: names::CLASS_PLACEHOLDER.to_owned(),
        template: resources::template_hash(&unit(false).spec, &Settings::default()),
        claim: None,
        created_at: start(),
        deleting: false,
        termination_confirmed: false,
        has_run_finalizer: false,
        phase: Phase::Running,
        status_reason: None,
        unschedulable: None,
        disruption: None,
        ready: false,
        ready_since: None,
        ip: None,
        waiting: None,
        container_running: true,
        container_ended: false,
        restarts: 0,
        exit: None,
        gpu_uuids: Vec::new(),
    }
}

/// A placeholder that is bound to the node.
fn placeholder() -> ObservedPod {
    pod(Role::Placeholder)
}

/// A placeholder that waits for a node; with `returns_to`, for the place on that node.
fn pending(returns_to: Option<&str>) -> ObservedPod {
    ObservedPod {
        node: None,
        phase: Phase::Pending,
        required_node: returns_to.map(str::to_owned),
        nominated: returns_to.map(str::to_owned),
        class: returns_to.map_or(names::CLASS_PLACEHOLDER, |_| names::CLASS_INSTANCE).to_owned(),
        ..placeholder()
    }
}

/// The guard of the place, which the scheduler has tried.
fn guard() -> ObservedPod {
    ObservedPod {
        name: format!("{UNIT}-guard"),
        uid: "guard".to_owned(),
        role: Role::Guard,
        unschedulable: Some("not by the scheduler".to_owned()),
        ..pending(Some(NODE))
    }
}

/// The pod as one that the scheduler has tried.
fn tried(pod: ObservedPod) -> ObservedPod {
    ObservedPod { unschedulable: Some("not by the scheduler".to_owned()), ..pod }
}

/// The instance pod, running on the node and not ready yet.
fn instance_pod() -> ObservedPod {
    ObservedPod {
        namespace: TENANT.to_owned(),
        name: format!("{INSTANCE}-1"),
        uid: "instance".to_owned(),
        instance: INSTANCE.to_owned(),
        attempt: 1,
        required_node: Some(NODE.to_owned()),
        class: names::CLASS_INSTANCE.to_owned(),
        has_run_finalizer: true,
        ..pod(Role::Instance)
    }
}

fn ready_pod() -> ObservedPod {
    ObservedPod {
        ready: true,
        ready_since: Some(after(10)),
        ip: Some("10.0.0.1".to_owned()),
        ..instance_pod()
    }
}

/// A unit whose GPUs are allocated by claim.
fn claimed_unit() -> GpuUnit {
    let mut unit = unit(false);
    unit.spec.gpu.allocation =
        serde_json::from_value(json!({"kind": "dra", "deviceClass": "gpu.example"})).unwrap();
    unit
}

/// The claim of that unit: allocated on the node and reserved.
fn device_claim() -> ObservedDeviceClaim {
    ObservedDeviceClaim {
        namespace: UNIT.to_owned(),
        name: format!("{UNIT}-1"),
        unit: UNIT.to_owned(),
        template: devices::template_hash(&claimed_unit().spec).unwrap(),
        allocated: true,
        devices: vec!["gpu.example/node-1/0".to_owned()],
        node: Some(NODE.to_owned()),
        reserved_for: Some("u".to_owned()),
        ..ObservedDeviceClaim::default()
    }
}

/// The pod as one that uses that claim.
fn claimed(pod: ObservedPod) -> ObservedPod {
    ObservedPod {
        namespace: UNIT.to_owned(),
        template: resources::template_hash(&claimed_unit().spec, &Settings::default()),
        claim: Some(device_claim().name),
        ..pod
    }
}

/// The answer 20 s after the start, for the unit's size.
fn checked(refusal: Option<&str>) -> PlaceCheck {
    let template = placeholder().template;
    PlaceCheck { node: NODE.to_owned(), template, at: after(20), refusal: refusal.map(str::to_owned) }
}

fn killed(pod: &ObservedPod) -> Action {
    Action::DeletePod { pod: pod.reference_as_observed(), grace: Some(0) }
}

fn node() -> ObservedNode {
    ObservedNode { ready: true, since: Some(start()), cordoned: false, ..ObservedNode::default() }
}

fn snapshot(pods: Vec<ObservedPod>) -> Snapshot {
    Snapshot {
        now: after(20),
        observed_since: start(),
        scheduler_heard: true,
        pods,
        nodes: [(NODE.to_owned(), node())].into(),
        ..Snapshot::default()
    }
}

/// With the guard of the place.
fn guarded(pods: Vec<ObservedPod>) -> Snapshot {
    Snapshot { guards: vec![guard()], ..snapshot(pods) }
}

fn planned(unit: &GpuUnit, snapshot: &Snapshot) -> Plan {
    plan(unit, snapshot, &Settings::default())
}

fn condition<'a>(plan: &'a Plan, type_: &str) -> &'a Condition {
    plan.status.condition(type_).unwrap()
}

/// Status and reason of the `Held` condition.
fn held(plan: &Plan) -> (&str, HeldReason) {
    let held = condition(plan, names::CONDITION_HELD);
    (&held.status, held.reason.parse().unwrap())
}

fn ready(plan: &Plan) -> InstanceReason {
    condition(plan, names::CONDITION_INSTANCE_READY).reason.parse().unwrap()
}

fn failure(plan: &Plan) -> Option<FailureReason> {
    plan.status.last_failure.as_ref().map(|failure| failure.reason.parse().unwrap())
}

/// The names of the actions, in order.
fn words(actions: &[Action]) -> Vec<&'static str> {
    let word = |action: &Action| match action {
        Action::AddFinalizer => "add finalizer",
        Action::RemoveFinalizer => "remove finalizer",
        Action::CreateTenantNamespace { .. } => "create tenant",
        Action::EnsureTenantNamespace { .. } => "ensure tenant",
        Action::EnsureUnitNamespace { .. } => "ensure unit",
        Action::CreatePod(pod) => match pod.spec.as_ref().unwrap().priority_class_name.as_deref() {
            Some(names::CLASS_PLACEHOLDER) => "create fresh",
            _ => match pod.metadata.labels.as_ref().unwrap()[names::LABEL_ROLE].as_str() {
                names::ROLE_PLACEHOLDER if pod.spec.as_ref().unwrap().affinity.is_none() => "create again",
                names::ROLE_PLACEHOLDER => "create own",
                names::ROLE_GUARD => "create guard",
                names::ROLE_BARRIER => "create barrier",
                _ => "create instance",
            },
        },
        Action::Nominate { .. } => "nominate",
        Action::Bind { .. } => "bind",
        Action::DeletePod { grace: Some(0), .. } => "kill",
        Action::DeletePod { .. } => "delete",
        Action::ReleasePod(_) => "release",
        _ => "device",
    };
    actions.iter().map(word).collect()
}

/// A status in which the ready pod's run is open.
fn running_status() -> GpuUnitStatus {
    planned(&unit(true), &snapshot(vec![ready_pod()])).status
}

fn with_status(mut unit: GpuUnit, status: GpuUnitStatus) -> GpuUnit {
    unit.status = Some(status);
    unit
}

#[test]
fn the_name_of_an_instance_pod_names_attempt_restart_and_the_placeholder_before_it() {
    let mut instance = unit(true).spec.instance.unwrap();
    let name = pods::instance_pod_name(&instance, "a");
    assert!(name.starts_with("inst-1-1-"), "{name}");
    assert_ne!(pods::instance_pod_name(&instance, "b"), name);
    instance.restart = 2;
    assert!(pods::instance_pod_name(&instance, "a").starts_with("inst-1-1-2-"));
}

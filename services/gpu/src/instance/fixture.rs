//! Values for the unit tests of the pure parts.

use std::collections::BTreeMap;

use crds::{HeldReason, InstanceReason, InstanceStatus, Run, UnitState};
use ids::{DatacenterId, GpuSpecId, ImageId, InstanceId, OperationId, TenantId, UnitId};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::{
    Claim, CurrentOperation, Failure, Instance, OnNodeLoss, OperationKind, Order, Place, Pod, Reason,
    ReasonCode, State,
};
use crate::{
    catalogue::{Template, TemplatePort},
    cluster::{Condition, DesiredInstance, PodRef, Unit, UnitRef},
    usage::Meter,
};

/// A second of the tests' time.
pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + second).unwrap()
}

pub(crate) fn claim() -> Claim {
    Claim {
        unit_id: UnitId::new(),
        unit: UnitRef { cluster: "uk-1".into(), name: "unit-1".into() },
        place: Place { datacenter_id: DatacenterId::new(), datacenter_name: "uk-1".into(), node: None },
        price_per_hour: "0.5".parse().unwrap(),
        currency: "EUR".into(),
        hold_price_fraction: Some("0.5".parse().unwrap()),
        claimed_at: None,
        displaced: None,
    }
}

/// A pod that is ready since second 100.
pub(crate) fn pod() -> Pod {
    let object = Some(PodRef::new("ten", "pod"));
    Pod { ip: "10.0.0.1".into(), node: Some("node-1".into()), since: at(100), object }
}

pub(crate) fn failure() -> Failure {
    Failure::new(Reason::new(ReasonCode::ContainerExited, "The container exited."))
}

/// An instance, at its second attempt and third restart, in a state.
pub(crate) fn instance(state: State) -> Instance {
    Instance {
        id: InstanceId::new(),
        tenant: TenantId::new(),
        managed_by: None,
        name: "test".into(),
        order: Order {
            gpu_spec_id: GpuSpecId::new(),
            gpu_spec_name: "small".into(),
            gpu: None,
            service: "shell".into(),
            version: "1".into(),
            image_id: ImageId::new(),
            template: Template {
                image: "shell:1".into(),
                ports: vec![TemplatePort {
                    port: 80,
                    protocol: crds::Protocol::Tcp,
                    title: None,
                    is_public: true,
                    is_probe: true,
                    base_url: String::new(),
                }],
                env: vec![],
                command: vec![],
                args: vec![],
                working_dir: None,
                storage_mount_path: None,
                root_inside: false,
                shm_size_mib: None,
                runtime_class_name: None,
                termination_grace_period_seconds: 1,
                start_timeout_seconds: 60,
            },
            env: vec![],
            storage_id: None,
            storages: vec![],
            datacenter_id: None,
            on_node_loss: OnNodeLoss::Restart,
            interruptible: false,
            reaches_peers: false,
            runs_tenant_code: false,
            pull: None,
            datacenter_name: None,
            price_per_hour: "0.5".parse().unwrap(),
            currency: "EUR".into(),
        },
        idle_stop: None,
        public_ports: vec![],
        state,
        attempt: 2,
        restart: 3,
        restored_attempt: None,
        leave_by: None,
        attached: BTreeMap::new(),
        detaching: vec![],
        secrets: vec![],
        secret_objects: vec![],
        pull_credential: None,
        meter: Meter::default(),
        last_place: None,
        operation: CurrentOperation { id: OperationId::new(), kind: OperationKind::Start },
        generation: 7,
        created_at: at(0),
        updated_at: at(0),
    }
}

pub(crate) fn condition<R>(met: bool, reason: R) -> Option<Condition<R>> {
    Some(Condition { met, reason: Some(reason), message: "told by the operator".into() })
}

/// The unit of [`claim`], without an instance.
pub(crate) fn idle_unit() -> Unit {
    Unit {
        name: "unit-1".into(),
        own_namespace: None,
        resource_version: "1".into(),
        generation: 5,
        observed_generation: Some(5),
        desired: None,
        state: UnitState::Init,
        node: Some("node-1".into()),
        cpu_cores: Some(4.0),
        gpus: 1,
        datacenter: "uk-1".into(),
        instance: None,
        runs: vec![],
        failure: None,
        held: condition(true, HeldReason::Holding),
        ready: condition(false, InstanceReason::Idle),
        tenant_code: condition(true, crds::TenantCodeReason::Isolated),
    }
}

pub(crate) fn desired(instance: &Instance) -> DesiredInstance {
    DesiredInstance {
        name: instance.id.k8s_name(),
        attempt: instance.attempt,
        restart: instance.restart,
        pull_secret: instance.pull_secret_name(),
    }
}

/// What the operator reports of the instance's pod, ready since `since`.
pub(crate) fn status(instance: &Instance, since: Option<i64>) -> InstanceStatus {
    InstanceStatus {
        id: instance.id.k8s_name(),
        attempt: instance.attempt,
        restart: instance.restart,
        namespace: "ten".into(),
        pod_name: "pod".into(),
        pod_ip: Some(pod().ip),
        started_at: Time(at(0)),
        running_since: since.map(|since| Time(at(since))),
        restarts: 0,
        image_pull_failed_at: None,
    }
}

/// The unit of [`claim`], in which the instance is ready as [`pod`].
pub(crate) fn unit_with(instance: &Instance) -> Unit {
    Unit {
        desired: Some(desired(instance)),
        state: UnitState::Running,
        instance: Some(status(instance, Some(100))),
        held: condition(true, HeldReason::Claimed),
        ready: condition(true, InstanceReason::Running),
        ..idle_unit()
    }
}

pub(crate) fn run(instance: &Instance, attempt: i64, since: i64, until: i64) -> Run {
    Run {
        instance_id: instance.id.k8s_name(),
        attempt,
        running_since: Time(at(since)),
        ended_at: Time(at(until)),
        end_unseen: false,
        reason: "Stopped".into(),
    }
}

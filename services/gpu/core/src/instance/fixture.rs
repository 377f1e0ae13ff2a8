//! Values for the unit tests of the pure parts, here and in the crates that depend on this one.

use std::collections::BTreeMap;

use ids::{DatacenterId, GpuSpecId, ImageId, InstanceId, OperationId, TenantId, UnitId};
use jiff::Timestamp;
use rust_decimal::Decimal;
use units::{HeldReason, InstanceReason, InstanceStatus, Protocol, Run, TenantCodeReason, Time, UnitState};

use super::{CurrentOperation, Failure, Instance, OnNodeLoss, OperationKind, Order, OrderedGpu, Pod, State};
use crate::{
    catalogue::{Template, TemplatePort},
    claim::{Claim, Place},
    meter::Meter,
    reason::{Reason, ReasonCode},
    unit::{Condition, DesiredInstance, PodRef, Unit, UnitRef},
};

/// A second of the tests' time.
pub fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + second).expect("a time of a test")
}

/// A unit that was claimed, at a price per hour of 0.5 EUR.
pub fn claim() -> Claim {
    Claim {
        unit_id: UnitId::new(),
        unit: UnitRef { cluster: "uk-1".into(), name: "unit-1".into() },
        place: Place { datacenter_id: DatacenterId::new(), datacenter_name: "uk-1".into(), node: None },
        price_per_hour: Decimal::new(5, 1),
        currency: "EUR".into(),
        hold_price_fraction: Some(Decimal::new(5, 1)),
        claimed_at: at(0),
        displaced: None,
    }
}

/// A pod that is ready since second 100.
pub fn pod() -> Pod {
    let object = Some(PodRef::new("ten", "pod"));
    Pod { ip: "10.0.0.1".into(), node: Some("node-1".into()), since: at(100), object }
}

/// The failure of a container that exited.
pub fn failure() -> Failure {
    Failure::new(Reason::new(ReasonCode::ContainerExited, "The container exited."))
}

/// An instance, at its second attempt and third restart, in a state.
pub fn instance(state: State) -> Instance {
    Instance {
        id: InstanceId::new(),
        tenant: TenantId::new(),
        managed_by: None,
        name: "test".into(),
        order: Order {
            gpu_spec_id: GpuSpecId::new(),
            gpu_spec_name: "small".into(),
            gpu: OrderedGpu { model: "RTX 3080".into(), count: 1 },
            service: "shell".into(),
            version: "1".into(),
            image_id: ImageId::new(),
            template: Template {
                image: "shell:1".into(),
                ports: vec![TemplatePort {
                    port: 80,
                    protocol: Protocol::Tcp,
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
            storages: vec![],
            datacenter_id: None,
            on_node_loss: OnNodeLoss::Restart,
            interruptible: false,
            reaches_peers: false,
            runs_tenant_code: false,
            pull: None,
            datacenter_name: None,
            price_per_hour: Decimal::new(5, 1),
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

/// A condition that the operator reports.
pub fn condition<R>(met: bool, reason: R) -> Option<Condition<R>> {
    Some(Condition { met, reason: Some(reason), message: "told by the operator".into() })
}

/// The unit of [`claim`], without an instance.
pub fn idle_unit() -> Unit {
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
        tenant_code: condition(true, TenantCodeReason::Isolated),
    }
}

/// The desired state of the unit of an instance.
pub fn desired(instance: &Instance) -> DesiredInstance {
    DesiredInstance {
        name: instance.id.k8s_name(),
        attempt: instance.attempt,
        restart: instance.restart,
        pull_secret: instance.pull_secret_name(),
    }
}

/// What the operator reports of the instance's pod, ready since `since`.
pub fn status(instance: &Instance, since: Option<i64>) -> InstanceStatus {
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
pub fn unit_with(instance: &Instance) -> Unit {
    Unit {
        desired: Some(desired(instance)),
        state: UnitState::Running,
        instance: Some(status(instance, Some(100))),
        held: condition(true, HeldReason::Claimed),
        ready: condition(true, InstanceReason::Running),
        ..idle_unit()
    }
}

/// A run that the operator reports, from and to these seconds of [`at`].
pub fn run(instance: &Instance, attempt: i64, since: i64, until: i64) -> Run {
    Run {
        instance_id: instance.id.k8s_name(),
        attempt,
        running_since: Time(at(since)),
        ended_at: Time(at(until)),
        end_unseen: false,
        reason: "Stopped".into(),
    }
}

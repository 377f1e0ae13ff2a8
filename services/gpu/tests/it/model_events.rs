//! What may happen in the simulation of `model.rs`, and what its instances are ordered as.

use atelier_gpu::{Template, TemplatePort};
use crds::InstanceStatus;
use gpu_core::{
    instance::{Mount, OnNodeLoss, Order, OrderedGpu},
    unit::{Condition, DesiredInstance},
};
use ids::{GpuSpecId, ImageId, StorageId};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use proptest::prelude::*;

/// What may happen.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    Start(usize),
    Stop(usize),
    StopAndHold(usize, u8),
    ReleaseHold(usize),
    Restart(usize),
    Delete(usize),
    /// A replica takes one step; it may be cut off before or after it acts, and may have heard less.
    Step {
        instance: usize,
        cut: Cut,
        stale: bool,
    },
    /// The operator does what is next in a unit.
    Operate(usize),
    /// The operator acts on a spec that it read a moment ago, and that has changed since.
    OperateLate(usize),
    /// The container in a unit ends by itself and is started again.
    Crash(usize),
    /// The start in a unit fails.
    FailStart(usize),
    NodeLost(usize),
    NodeBack(usize),
    /// Somebody empties the unit's spec by hand.
    EmptiedByHand(usize),
    Time(u8),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cut {
    No,
    BeforeActing,
    AfterActing,
}

pub(crate) fn events() -> impl Strategy<Value = Vec<Event>> {
    let i = 0..3usize;
    let u = 0..2usize;
    let cut = prop_oneof![4 => Just(Cut::No), 1 => Just(Cut::BeforeActing), 2 => Just(Cut::AfterActing)];
    let step = (i.clone(), cut, any::<bool>()).prop_map(|(instance, cut, stale)| Event::Step {
        instance,
        cut,
        stale,
    });
    let event = prop_oneof![
        2 => i.clone().prop_map(Event::Start),
        2 => i.clone().prop_map(Event::Stop),
        3 => (i.clone(), 1..20u8).prop_map(|(i, seconds)| Event::StopAndHold(i, seconds)),
        1 => i.clone().prop_map(Event::ReleaseHold),
        1 => i.clone().prop_map(Event::Restart),
        1 => i.prop_map(Event::Delete),
        24 => step,
        12 => u.clone().prop_map(Event::Operate),
        4 => u.clone().prop_map(Event::OperateLate),
        2 => u.clone().prop_map(Event::Crash),
        1 => u.clone().prop_map(Event::FailStart),
        1 => u.clone().prop_map(Event::NodeLost),
        1 => u.clone().prop_map(Event::NodeBack),
        1 => u.prop_map(Event::EmptiedByHand),
        6 => (0..5u8).prop_map(Event::Time),
    ];
    prop::collection::vec(event, 1..160)
}

pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + second).unwrap()
}

pub(crate) fn order() -> Order {
    Order {
        interruptible: false,
        reaches_peers: false,
        runs_tenant_code: false,
        pull: None,
        datacenter_name: None,
        gpu_spec_id: GpuSpecId::new(),
        gpu_spec_name: "small".into(),
        gpu: OrderedGpu { model: "RTX 3080".into(), count: 1 },
        service: "webui".into(),
        version: "1".into(),
        image_id: ImageId::new(),
        template: Template {
            image: "webui:1".into(),
            ports: vec![TemplatePort {
                title: None,
                port: 80,
                protocol: crds::Protocol::Tcp,
                is_public: true,
                is_probe: true,
                base_url: String::new(),
            }],
            env: vec![],
            command: vec![],
            args: vec![],
            working_dir: None,
            storage_mount_path: Some("/data".into()),
            root_inside: false,
            shm_size_mib: None,
            runtime_class_name: None,
            termination_grace_period_seconds: 1,
            start_timeout_seconds: 60,
        },
        env: vec![],
        storages: vec![Mount { storage_id: StorageId::new(), mount_path: "/data".into(), read_only: false }],
        datacenter_id: None,
        on_node_loss: OnNodeLoss::Restart,
        price_per_hour: "0.5".parse().unwrap(),
        currency: "EUR".into(),
    }
}

pub(crate) fn condition<R>(met: bool, reason: R) -> Option<Condition<R>> {
    Some(Condition { met, reason: Some(reason), message: String::new() })
}

/// A pod that is being made.
pub(crate) fn present(desired: &DesiredInstance, now: Timestamp) -> InstanceStatus {
    InstanceStatus {
        id: desired.name.clone(),
        attempt: desired.attempt,
        restart: desired.restart,
        namespace: "ten".into(),
        pod_name: "pod".into(),
        pod_ip: None,
        started_at: Time(now),
        running_since: None,
        restarts: 0,
        image_pull_failed_at: None,
    }
}

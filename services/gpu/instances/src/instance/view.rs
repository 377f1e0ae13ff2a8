//! An instance as its tenant sees it.

mod idle_stop;
mod port;

use api::Fields;
use gpu_core::{
    instance::{
        Failure, Instance, InstanceState, OnNodeLoss, State, mount::Mount, own_image::OwnImage,
        secret::SecretRef,
    },
    reason::ReasonCode,
};
use ids::{DatacenterId, GpuSpecId, InstanceId, OperationId, StorageId};
use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use stock_api::{Alternative, Estimate, QueueEntry};
use utoipa::ToSchema;

use super::config::Apps;
use idle_stop::IdleStopView;
use port::PortView;

/// Id and name of a GPU specification.
#[derive(Debug, Serialize, ToSchema)]
pub struct GpuSpecRef {
    /// GPU specification id.
    pub id: GpuSpecId,
    /// Name.
    pub name: String,
}

/// What an instance waits for.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WaitingFor {
    /// GPU specification of the unit.
    gpu_spec: GpuSpecRef,
    /// Id of the required datacenter; null if any will do.
    datacenter_id: Option<DatacenterId>,
}

/// A place in the queue.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct QueueView {
    /// False if the stock service does not answer; its fields are then null.
    is_known: bool,
    /// What the instance waits for.
    waiting_for: WaitingFor,
    /// Its place; 1 is next. Tenants take turns.
    position: Option<i64>,
    /// Instances that wait for this GPU specification.
    length: Option<i64>,
    /// Time since which it waits.
    since: Option<Timestamp>,
    /// When it is expected to start; null if too few units were released recently, or the datacenter is draining.
    estimate: Option<Estimate>,
}

/// A unit that a stopped instance keeps.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = InstanceHold)]
pub(crate) struct HoldView {
    /// Time since which it is billed; null until the instance has stopped.
    since: Option<Timestamp>,
    /// When it ends, unless it is given up before.
    until: Timestamp,
    /// Price per hour of the hold.
    #[schema(value_type = String)]
    price_per_hour: Decimal,
    /// Currency (ISO 4217).
    currency: String,
}

impl HoldView {
    fn of(instance: &Instance) -> Option<Self> {
        let (until, claim) = (instance.held_until()?, instance.state.claim()?);
        Some(Self {
            since: instance.hold().map(|hold| hold.since),
            until,
            price_per_hour: claim.hold_price_per_hour()?,
            currency: claim.currency.clone(),
        })
    }
}

/// A storage of an instance.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = InstanceStorage)]
pub(crate) struct MountView {
    /// Storage id.
    storage_id: StorageId,
    /// Path in the container.
    mount_path: String,
    /// Whether the container may only read.
    read_only: bool,
}

impl From<Mount> for MountView {
    fn from(mount: Mount) -> Self {
        Self { storage_id: mount.storage_id, mount_path: mount.mount_path, read_only: mount.read_only }
    }
}

/// A tenant's machine.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Instance)]
pub struct InstanceView {
    /// Instance id.
    id: InstanceId,
    /// Name for people.
    name: String,
    /// The service of the platform that manages the instance, such as `jobs`: its users cannot change, start, stop or
    /// delete it. Null if they do.
    managed_by: Option<String>,
    /// Current state.
    state: InstanceState,
    /// Machine-readable reason of the state, or null.
    reason: Option<ReasonCode>,
    /// The reason in a sentence for a person, or null.
    message: Option<String>,
    /// Its place in the queue while it waits for a unit, or null.
    queue: Option<QueueView>,
    /// What could be started instead: now, while it waits; at the time of the start, if the start found no free unit.
    /// Otherwise null.
    alternatives: Option<Vec<Alternative>>,
    /// The unit that it keeps while it is stopped, or null.
    hold: Option<HoldView>,
    /// Last lines of the log after a failed start, or null.
    log_tail: Option<String>,
    /// GPU specification.
    gpu_spec: GpuSpecRef,
    /// Service of the catalogue; null if it runs an image of the tenant's own.
    service: Option<String>,
    /// Version of the service; null if it runs an image of the tenant's own.
    version: Option<String>,
    /// The image of the tenant's own that it runs, or null.
    image: Option<OwnImage>,
    /// Id of the storage at the mount path of the service, or null.
    storage_id: Option<StorageId>,
    /// What happens when its node is lost.
    on_node_loss: OnNodeLoss,
    /// When it is stopped because it is idle; null if it is not.
    idle_stop: Option<IdleStopView>,
    /// All storages with their mount paths.
    storages: Vec<MountView>,
    /// Its secrets by name, without values.
    secrets: Vec<SecretRef>,
    /// URL of the instance. Stays the same as long as the instance exists.
    url: String,
    /// What people open at the URL, for example `WebUI`, or null.
    url_title: Option<String>,
    /// Its ports with host names of their own.
    ports: Vec<PortView>,
    /// Node of the instance; null if it has no unit.
    node: Option<String>,
    /// Name of the datacenter of the current or last unit, or null.
    datacenter: Option<String>,
    /// Id of the newest operation on the instance.
    operation_id: OperationId,
    /// Price per hour of the unit, or of the specification at the time of the order.
    #[schema(value_type = String)]
    price_per_hour: Decimal,
    /// Currency (ISO 4217).
    currency: String,
    /// Time of the order.
    created_at: Timestamp,
    /// Time of the last change.
    updated_at: Timestamp,
    /// Time at which it became ready; null unless it is running.
    started_at: Option<Timestamp>,
}

impl InstanceView {
    /// Returns the instance as its tenant sees it.
    pub fn of(instance: &Instance, apps: &Apps) -> Self {
        let Instance { order, state, .. } = instance;
        let (reason, claim) = (state.reason(), state.claim());
        let (price_per_hour, currency) = match claim {
            Some(claim) => (claim.price_per_hour, &claim.currency),
            None => (order.price_per_hour, &order.currency),
        };
        let (node, started_at) = match state {
            State::Running { pod, .. } => (pod.node.clone(), Some(pod.since)),
            _ => (claim.and_then(|claim| claim.place.node.clone()), None),
        };
        let queue = instance.is_queued().then(|| QueueView {
            is_known: false,
            waiting_for: WaitingFor {
                gpu_spec: GpuSpecRef { id: order.gpu_spec_id, name: order.gpu_spec_name.clone() },
                datacenter_id: order.datacenter_id,
            },
            position: None,
            length: None,
            since: None,
            estimate: None,
        });
        let image = order.own_image();
        Self {
            queue,
            hold: HoldView::of(instance),
            alternatives: state.failure().and_then(alternatives),
            id: instance.id,
            name: instance.name.clone(),
            managed_by: instance.managed_by.clone(),
            state: state.into(),
            reason: reason.map(|reason| reason.code),
            message: reason.map(|reason| reason.message.clone()),
            log_tail: state.failure().and_then(|failure| failure.log_tail.clone()),
            gpu_spec: GpuSpecRef { id: order.gpu_spec_id, name: order.gpu_spec_name.clone() },
            service: image.is_none().then(|| order.service.clone()),
            version: image.is_none().then(|| order.version.clone()),
            image,
            storage_id: order.default_storage(),
            on_node_loss: order.on_node_loss,
            idle_stop: IdleStopView::of(instance),
            storages: order.storages.iter().cloned().map(MountView::from).collect(),
            secrets: instance.secrets.clone(),
            url: apps.url(instance.id, None),
            url_title: order.template.public_port().and_then(|port| port.title.clone()),
            ports: PortView::all(instance, apps),
            node,
            datacenter: instance.last_place.as_ref().map(|place| place.datacenter_name.clone()),
            operation_id: instance.operation.id,
            price_per_hour,
            currency: currency.clone(),
            created_at: instance.created_at,
            updated_at: instance.updated_at,
            started_at,
        }
    }

    /// Whether these fields include one that the stock service knows.
    pub fn has_place(fields: &Fields) -> bool {
        fields.has("queue") || fields.has("alternatives")
    }

    /// Id of the instance, if it waits in the queue.
    pub fn queued(&self) -> Option<InstanceId> {
        self.queue.as_ref().map(|_| self.id)
    }

    /// Adds what the stock service knows of its place in the queue; none if it is no longer in the queue.
    pub fn set_place(&mut self, entry: Option<QueueEntry>) {
        let Some(queue) = &mut self.queue else { return };
        queue.is_known = true;
        if let Some(entry) = entry {
            queue.position = Some(entry.position);
            queue.length = Some(entry.length);
            queue.since = Some(entry.since);
            queue.estimate = entry.estimate;
            self.alternatives = Some(entry.alternatives);
        } else {
            // it has a unit, and is about to start
            self.queue = None;
        }
    }
}

/// Alternatives that could have been started instead, if no unit was free.
fn alternatives(failure: &Failure) -> Option<Vec<Alternative>> {
    let alternatives = failure.problem.as_ref()?.extra.get("alternatives")?;
    Vec::<Alternative>::deserialize(alternatives).ok()
}

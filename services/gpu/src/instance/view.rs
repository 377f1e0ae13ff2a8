//! An instance as its tenant sees it.

use ids::{GpuSpecId, InstanceId, OperationId, StorageId};
use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::Serialize;
use utoipa::ToSchema;

use super::model::{Instance, State};
use crate::config::Apps;

/// A GPU specification, by name.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct GpuSpecRef {
    /// Its id.
    id: GpuSpecId,
    /// Its name.
    name: String,
}

/// Where an instance stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, serde::Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum InstanceState {
    /// A start was asked for; it has no unit yet.
    Pending,
    /// It has a unit; what runs in it is not ready yet.
    Starting,
    /// It is ready, and billed.
    Running,
    /// It is ending.
    Stopping,
    /// Nothing of it runs.
    Stopped,
    /// It is being deleted.
    Deleting,
}

impl InstanceState {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Stopping => "stopping",
            Self::Stopped => "stopped",
            Self::Deleting => "deleting",
        }
    }
}

impl From<&State> for InstanceState {
    fn from(state: &State) -> Self {
        match state {
            State::Pending { .. } => Self::Pending,
            State::Starting { .. } => Self::Starting,
            State::Running { .. } => Self::Running,
            State::Stopping { .. } => Self::Stopping,
            State::Stopped { .. } => Self::Stopped,
            // a deleted instance is shown once more, to the request that deleted it
            State::Deleting { .. } | State::Deleted => Self::Deleting,
        }
    }
}

/// A tenant's machine.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Instance)]
pub(crate) struct InstanceView {
    /// Its id.
    id: InstanceId,
    /// Its name.
    name: String,
    /// Where it stands.
    state: InstanceState,
    /// Why it stands there, as a code; null when there is nothing to say.
    reason: Option<String>,
    /// The same as a sentence.
    message: Option<String>,
    /// The last lines of its log, after a start that failed.
    log_tail: Option<String>,
    /// Its GPU specification.
    gpu_spec: GpuSpecRef,
    /// Service of the catalogue.
    service: String,
    /// Its version.
    version: String,
    /// The mounted storage.
    storage_id: Option<StorageId>,
    /// Where it answers, for as long as it exists.
    url: String,
    /// The node it is on; null unless it has a unit.
    node: Option<String>,
    /// Name of the datacenter it is in, or was last.
    datacenter: Option<String>,
    /// The newest operation on it.
    operation_id: OperationId,
    /// Price of an hour: of its unit, or of its specification when it was ordered.
    #[schema(value_type = String)]
    price_per_hour: Decimal,
    /// ISO 4217.
    currency: String,
    /// When it was ordered.
    created_at: Timestamp,
    /// When it last changed.
    updated_at: Timestamp,
    /// Since when it has been ready; null unless it runs.
    started_at: Option<Timestamp>,
}

impl InstanceView {
    pub(crate) fn of(instance: &Instance, apps: &Apps) -> Self {
        let Instance { order, state, .. } = instance;
        let (why, claim) = (state.why(), state.claim());
        let (price_per_hour, currency) = match claim {
            Some(claim) => (claim.price_per_hour, claim.currency.clone()),
            None => (order.price_per_hour, order.currency.clone()),
        };
        let (node, started_at) = match state {
            State::Running { pod, .. } => (pod.node.clone(), Some(pod.since)),
            _ => (claim.and_then(|claim| claim.place.node.clone()), None),
        };
        Self {
            id: instance.id,
            name: instance.name.clone(),
            state: state.into(),
            reason: why.map(|why| why.reason.clone()),
            message: why.map(|why| why.message.clone()),
            log_tail: state.failure().and_then(|failure| failure.log_tail.clone()),
            gpu_spec: GpuSpecRef { id: order.gpu_spec_id, name: order.gpu_spec_name.clone() },
            service: order.service.clone(),
            version: order.version.clone(),
            storage_id: order.storage_id,
            url: apps.url(instance.id),
            node,
            datacenter: instance.last_place.as_ref().map(|place| place.datacenter_name.clone()),
            operation_id: instance.operation.0,
            price_per_hour,
            currency,
            created_at: instance.created_at,
            updated_at: instance.updated_at,
            started_at,
        }
    }
}

//! The parts of an instance: order, claim, storage, pod, failure, operation. Values only.

use api::{Problem, ProblemDetails, ProblemType};
use clients::stock;
use ids::{
    DatacenterId, GpuSpecId, ImageId, InstanceId, OperationId, RegistryCredentialId, StorageId, UnitId,
};
use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{mount::Mount, reason::Reason};
use crate::{
    catalogue::{EnvVar, Template},
    cluster::{PodRef, UnitRef},
};

/// What a user ordered, with the catalogue's and the stock's values at that time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// GPU specification.
    pub gpu_spec_id: GpuSpecId,
    /// Name of the GPU specification.
    pub gpu_spec_name: String,
    /// Its GPUs. None in rows of early versions.
    #[serde(default)]
    pub gpu: Option<OrderedGpu>,
    /// Service.
    pub service: String,
    /// Version of the service.
    pub version: String,
    /// Catalogue entry of the service and version.
    pub image_id: ImageId,
    /// How the service is run.
    pub template: Template,
    /// The user's environment variables.
    pub env: Vec<EnvVar>,
    /// The storage at the template's mount path, read-write: the only one that replicas of early versions mount.
    pub storage_id: Option<StorageId>,
    /// All storages to mount; empty in rows of early versions ([`Order::mounts`]).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub storages: Vec<Mount>,
    /// Required datacenter.
    pub datacenter_id: Option<DatacenterId>,
    /// What happens when its node is lost.
    #[serde(default)]
    pub on_node_loss: OnNodeLoss,
    /// Whether an instance that finds no free unit may take the one of this instance.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interruptible: bool,
    /// Whether it and other instances of its tenant that have this, too, can open connections to each other.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reaches_peers: bool,
    /// Whether programs of the tenant run in an image of the catalogue.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub runs_tenant_code: bool,
    /// From where an image of the tenant's own is pulled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull: Option<Pull>,
    /// Name of the required datacenter. None in rows of early versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datacenter_name: Option<String>,
    /// Price at the time of the order. Each claim sets its own.
    pub price_per_hour: Decimal,
    /// ISO 4217.
    pub currency: String,
}

/// From where an image of the tenant's own is pulled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pull {
    /// Registry: host with port.
    pub registry: String,
    /// Credential of the tenant that the user has chosen; the newest one for the registry if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<RegistryCredentialId>,
}

/// What happens to an instance when its node is lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnNodeLoss {
    /// The instance is started in another unit, and is queued while none is free.
    #[default]
    Restart,
    /// The instance stops.
    Stop,
}

/// GPUs of an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderedGpu {
    /// Model.
    pub model: String,
    /// Number.
    pub count: i64,
}

/// A unit that the instance has claimed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// Unit.
    pub unit_id: UnitId,
    /// The unit's `GpuUnit`.
    #[serde(flatten)]
    pub unit: UnitRef,
    /// Where the unit is.
    pub place: Place,
    /// Price from this claim on.
    pub price_per_hour: Decimal,
    /// ISO 4217.
    pub currency: String,
    /// Part of that price while the unit is held; none if it cannot be held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold_price_fraction: Option<Decimal>,
    /// Time of the claim, set by the stock service. None in rows of early versions.
    #[serde(default)]
    pub claimed_at: Option<Timestamp>,
    /// The instance whose unit this is, until the claim is stored.
    #[serde(skip)]
    pub displaced: Option<Displaced>,
}

/// An interruptible instance that has lost its unit to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Displaced {
    /// The instance.
    pub instance: InstanceId,
    /// Until when it leaves.
    pub leave_by: Timestamp,
}

impl From<stock::Claim> for Claim {
    fn from(claim: stock::Claim) -> Self {
        Self {
            unit_id: claim.unit_id,
            unit: UnitRef { cluster: claim.cluster, name: claim.unit_name },
            place: Place {
                datacenter_id: claim.datacenter_id,
                datacenter_name: claim.datacenter_name,
                node: claim.node,
            },
            price_per_hour: claim.price_per_hour,
            currency: claim.currency,
            hold_price_fraction: claim.hold_price_fraction,
            claimed_at: Some(claim.claimed_at),
            displaced: claim
                .recall
                .map(|recall| Displaced { instance: recall.instance_id, leave_by: recall.leave_by }),
        }
    }
}

/// What an instance that is stopping may still have claimed.
#[expect(clippy::large_enum_variant, reason = "it is stored once in each instance, and mostly holds a claim")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum ClaimStatus {
    /// Nothing.
    None,
    /// Possibly a unit: a claim was sent, and its answer was not recorded.
    Unknown,
    /// This unit.
    Held(Claim),
}

/// Where an instance is or was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Datacenter.
    pub datacenter_id: DatacenterId,
    /// Name of the datacenter.
    pub datacenter_name: String,
    /// Node, if known.
    pub node: Option<String>,
}

/// An attached storage in the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachedStorage {
    /// Name of the `GpuStorage`.
    pub object_name: String,
    /// Configured name of the cluster that has it.
    pub cluster: Option<String>,
}

/// The pod of a running instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pod {
    /// IP address.
    pub ip: String,
    /// Node.
    pub node: Option<String>,
    /// When it became ready, in whole seconds.
    pub since: Timestamp,
    /// Its namespace and name. None in rows of early versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<PodRef>,
}

/// Why an instance failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// Code and message.
    #[serde(flatten)]
    pub reason: Reason,
    /// The last lines of its log, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_tail: Option<String>,
    /// The problem that another service answered, if that is the cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Box<ProblemDetails>>,
}

impl Failure {
    /// A failure without log and problem.
    #[must_use]
    pub fn new(reason: Reason) -> Self {
        Self { reason, log_tail: None, problem: None }
    }

    /// Returns what could have been started instead, if no unit was free.
    #[must_use]
    pub fn alternatives(&self) -> Option<Vec<stock::Alternative>> {
        let alternatives = self.problem.as_ref()?.extra.get("alternatives")?;
        Vec::<stock::Alternative>::deserialize(alternatives).ok()
    }

    /// Returns the problem of the failed operation: the one that another service answered, or `instance-failed`.
    #[must_use]
    pub fn to_problem(&self) -> Box<ProblemDetails> {
        self.problem.clone().unwrap_or_else(|| {
            let problem = Problem::new(ProblemType::InstanceFailed, &self.reason.message)
                .with("reason", self.reason.code);
            let problem = match &self.log_tail {
                Some(tail) => problem.with("log_tail", tail),
                None => problem,
            };
            Box::new(problem.into())
        })
    }
}

/// The newest operation on an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CurrentOperation {
    /// Id.
    pub id: OperationId,
    /// Action.
    pub kind: super::OperationKind,
}

//! The parts of an instance: order, claim, storage, pod, failure, operation. Values only.

mod mounts;

use ids::{DatacenterId, GpuSpecId, ImageId, OperationId, RegistryCredentialId};
use jiff::Timestamp;
use problem::{ProblemDetails, ProblemType};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::mount::Mount;
use crate::{
    catalogue::{EnvVar, Template},
    claim::Claim,
    reason::Reason,
    unit::PodRef,
};

/// The order of a user, with the values of catalogue and stock at that time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// GPU specification.
    pub gpu_spec_id: GpuSpecId,
    /// Name of the GPU specification.
    pub gpu_spec_name: String,
    /// Its GPUs.
    pub gpu: OrderedGpu,
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
    /// Storages to mount.
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
    /// Registry and credential of an image of the tenant's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull: Option<Pull>,
    /// Name of the required datacenter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datacenter_name: Option<String>,
    /// Price at the time of the order. Each claim sets its own.
    pub price_per_hour: Decimal,
    /// ISO 4217.
    pub currency: String,
}

/// Registry and credential of an image of the tenant's own.
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

/// The claim that a stopping instance may have.
#[expect(clippy::large_enum_variant, reason = "it is stored once in each instance, and mostly holds a claim")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum ClaimStatus {
    /// No claim.
    None,
    /// Possibly a unit: a claim was sent, and its answer was not recorded.
    Unknown,
    /// This unit.
    Held(Claim),
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
    /// Its namespace and name, if the cluster reports them.
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

    /// Returns the problem of the failed operation: the one that another service answered, or `instance-failed`.
    #[must_use]
    pub fn to_problem(&self) -> Box<ProblemDetails> {
        self.problem.clone().unwrap_or_else(|| {
            let mut problem = ProblemDetails::new(ProblemType::InstanceFailed, &self.reason.message);
            problem.extra.insert("reason".to_owned(), self.reason.code.to_wire().into());
            if let Some(tail) = &self.log_tail {
                problem.extra.insert("log_tail".to_owned(), tail.as_str().into());
            }
            Box::new(problem)
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

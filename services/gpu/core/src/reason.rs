//! Why an instance is in its state: a documented code for programs, a sentence for people.

use serde::{Deserialize, Serialize};
use units::{FailureReason, HeldReason, InstanceReason};
use utoipa::ToSchema;

/// Machine-readable reason of an instance's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReasonCode {
    /// The allowance of the tenant has expired. Try again later.
    AllowanceExpired,
    /// The tenant has spent its budget, or what is left does not pay for the instance.
    BudgetExhausted,
    /// The stock service rejects the claim.
    #[serde(alias = "stock_refused")]
    ClaimRejected,
    /// The cluster of its datacenter does not answer. The platform retries.
    ClusterUnreachable,
    /// The container or pod is terminating.
    #[serde(alias = "ending")]
    Terminating,
    /// The instance was idle for as long as is set in `idle_stop`.
    IdleStopped,
    /// Internal error. Report the instance's id to an administrator.
    Internal,
    /// The node does not answer or was removed.
    NodeLost,
    /// The tenant's limits do not allow the instance to run, at the price of the unit.
    QuotaExceeded,
    /// Another instance needs the unit of the interruptible instance.
    Recalled,
    /// Somebody removed the instance from its unit. It is started again.
    RemovedFromUnit,
    /// No unit of the specification is free. The instance waits in the queue.
    Queued,
    /// The platform was restored from a backup, and the instance did not run any more. Start it again.
    Restored,
    /// A secret of the instance cannot be decrypted. Write all of them again.
    SecretUnreadable,
    /// No unit of the specification is free.
    StockExhausted,
    /// The stock service does not answer. The platform retries.
    StockUnavailable,
    /// The free unit is in another cluster than the storage.
    StorageElsewhere,
    /// The storage is not available.
    StorageNotAvailable,
    /// The storage does not exist.
    StorageNotFound,
    /// The storage is a bucket. Only volumes can be mounted.
    StorageNotMountable,
    /// The storage service does not answer. The platform retries.
    StorageUnavailable,
    /// An administrator stopped the instance.
    StoppedByAdministrator,
    /// The cluster rejects the service's template.
    #[serde(alias = "template_refused")]
    TemplateRejected,
    /// The tenant is suspended.
    TenantSuspended,
    /// The unit was removed.
    UnitGone,
    /// Another instance took the unit.
    UnitLost,
    /// The instance that had the unit before is still terminating.
    UnitOccupied,
    /// The cluster does not accept the secrets of the instance yet. The platform retries.
    WaitingForSecrets,

    // reported by the operator while the instance is not ready
    /// The unit's placeholder waits for the scheduler.
    Scheduling,
    /// No node has room for the unit.
    Unschedulable,
    /// The unit's node is cordoned.
    NodeCordoned,
    /// The unit was preempted by a pod of higher priority.
    Preempted,
    /// Another pod took the unit's place. The operator is trying to regain it.
    PlaceLost,
    /// The cluster does not support the specification's way to allocate GPUs.
    UnsupportedAllocation,
    /// The specification is not valid in the cluster.
    InvalidSpec,
    /// The unit is being deleted.
    Deleting,
    /// The unit holds its place.
    Holding,
    /// The unit's place belongs to the instance.
    Claimed,
    /// No instance is desired in the unit.
    Idle,
    /// The unit does not hold a place yet.
    WaitingForPlace,
    /// The volume of the storage is not ready.
    WaitingForStorage,
    /// The instance's pod is taking the place from the placeholder.
    HandingOver,
    /// The container started; its readiness probe has not passed yet.
    Starting,
    /// The readiness probe passes.
    Running,
    /// A requested restart is in progress.
    Restarting,
    /// The container exited and is being restarted.
    ContainerRestarting,
    /// The readiness probe fails.
    ProbeFailing,
    /// The instance is being stopped.
    Stopping,
    /// The start failed.
    StartFailed,

    // reported by the operator for a failed start
    /// The image cannot be pulled.
    ImagePullFailed,
    /// The registry does not let the image be pulled: it asks for a registry credential, or refuses the one that it gets.
    ImagePullDenied,
    /// The image name is not valid.
    InvalidImageName,
    /// The container cannot be created from its configuration.
    ContainerConfigError,
    /// The container exited before it was ready.
    ContainerExited,
    /// The readiness probe did not pass in time.
    ProbeFailed,
    /// The pod did not start in time.
    StartTimeout,
    /// The unit found no place in time.
    NoPlace,
    /// The storage had no volume in time.
    StorageMissing,
    /// The storage belongs to another tenant.
    StorageForbidden,
    /// No pod can be created from the service's template.
    InvalidTemplate,
    /// The node or a policy of the cluster rejects the pod.
    PodRejected,
    /// The datacenter has no runtime in which the container may run. The message says what is missing.
    RuntimeUnavailable,

    /// The cluster reports a reason that this version does not know. Read the message.
    #[serde(other)]
    Unknown,
}

impl From<HeldReason> for ReasonCode {
    fn from(reason: HeldReason) -> Self {
        match reason {
            HeldReason::Holding => Self::Holding,
            HeldReason::Claimed => Self::Claimed,
            HeldReason::Scheduling => Self::Scheduling,
            HeldReason::Unschedulable => Self::Unschedulable,
            HeldReason::NodeLost => Self::NodeLost,
            HeldReason::NodeCordoned => Self::NodeCordoned,
            HeldReason::Preempted => Self::Preempted,
            HeldReason::PlaceLost => Self::PlaceLost,
            HeldReason::UnsupportedAllocation => Self::UnsupportedAllocation,
            HeldReason::InvalidSpec => Self::InvalidSpec,
            HeldReason::Deleting => Self::Deleting,
        }
    }
}

impl From<InstanceReason> for ReasonCode {
    fn from(reason: InstanceReason) -> Self {
        match reason {
            InstanceReason::Idle => Self::Idle,
            InstanceReason::WaitingForPlace => Self::WaitingForPlace,
            InstanceReason::WaitingForStorage => Self::WaitingForStorage,
            InstanceReason::HandingOver => Self::HandingOver,
            InstanceReason::Starting => Self::Starting,
            InstanceReason::Running => Self::Running,
            InstanceReason::Restarting => Self::Restarting,
            InstanceReason::ContainerRestarting => Self::ContainerRestarting,
            InstanceReason::ProbeFailing => Self::ProbeFailing,
            InstanceReason::Stopping => Self::Stopping,
            InstanceReason::StartFailed => Self::StartFailed,
            InstanceReason::NodeLost => Self::NodeLost,
        }
    }
}

impl From<FailureReason> for ReasonCode {
    fn from(reason: FailureReason) -> Self {
        match reason {
            FailureReason::ImagePullFailed => Self::ImagePullFailed,
            FailureReason::ImagePullDenied => Self::ImagePullDenied,
            FailureReason::InvalidImageName => Self::InvalidImageName,
            FailureReason::ContainerConfigError => Self::ContainerConfigError,
            FailureReason::ContainerExited => Self::ContainerExited,
            FailureReason::ProbeFailed => Self::ProbeFailed,
            FailureReason::StartTimeout => Self::StartTimeout,
            FailureReason::NoPlace => Self::NoPlace,
            FailureReason::StorageMissing => Self::StorageMissing,
            FailureReason::StorageForbidden => Self::StorageForbidden,
            FailureReason::InvalidTemplate => Self::InvalidTemplate,
            FailureReason::PodRejected => Self::PodRejected,
            FailureReason::RuntimeUnavailable => Self::RuntimeUnavailable,
        }
    }
}

impl ReasonCode {
    /// Returns the code of a reason that the operator reports; [`Self::Unknown`] if this version does not know it.
    pub fn reported(reason: Option<impl Into<Self>>) -> Self {
        reason.map_or(Self::Unknown, Into::into)
    }

    /// Returns the code's wire form.
    #[must_use]
    pub fn to_wire(self) -> String {
        serde_json::to_value(self).ok().and_then(|code| Some(code.as_str()?.to_owned())).unwrap_or_default()
    }
}

/// Why an instance is in its state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// Machine-readable.
    #[serde(rename = "reason")]
    pub code: ReasonCode,
    /// A sentence for a person.
    pub message: String,
}

impl Reason {
    /// Combines a code and a message.
    pub fn new(code: ReasonCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// The operator's spelling (`ImagePullFailed`) in the API's (`image_pull_failed`).
    fn snake_case(reason: &str) -> String {
        reason.char_indices().fold(String::new(), |text, (i, c)| {
            let separator = if c.is_ascii_uppercase() && i > 0 { "_" } else { "" };
            format!("{text}{separator}{}", c.to_ascii_lowercase())
        })
    }

    fn wire(code: ReasonCode) -> Value {
        json!(code)
    }

    #[test]
    fn codes_are_the_operators_reasons_in_snake_case() {
        for reason in HeldReason::ALL {
            assert_eq!(wire((*reason).into()), snake_case(reason.as_str()));
        }
        for reason in InstanceReason::ALL {
            assert_eq!(wire((*reason).into()), snake_case(reason.as_str()));
        }
        for reason in FailureReason::ALL {
            assert_eq!(wire((*reason).into()), snake_case(reason.as_str()));
        }
        assert_eq!(wire(ReasonCode::reported(None::<FailureReason>)), "unknown");
    }

    #[test]
    fn stored_reasons_of_other_versions_are_read() {
        for (stored, read) in [
            ("ending", ReasonCode::Terminating),
            ("template_refused", ReasonCode::TemplateRejected),
            ("stock_refused", ReasonCode::ClaimRejected),
            ("from_the_future", ReasonCode::Unknown),
        ] {
            let reason: Reason = serde_json::from_value(json!({ "reason": stored, "message": "" })).unwrap();
            assert_eq!(reason.code, read);
        }
    }
}

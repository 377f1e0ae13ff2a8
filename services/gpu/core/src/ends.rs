//! Why runs and holds of units end.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Why a hold ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum HoldEnd {
    /// The instance was started, in the held unit.
    InstanceStarted,
    /// The tenant gave it up.
    GivenUp,
    /// Its time is over.
    Expired,
    /// The unit was removed or lost with its node.
    UnitLost,
    /// The instance was deleted.
    InstanceDeleted,
    /// An administrator ended it.
    Administrator,
    /// The tenant is suspended.
    TenantSuspended,
    /// The tenant has spent its budget.
    BudgetExhausted,
    /// The end was not recorded. It is billed until it was last confirmed.
    Unseen,
}

words! {
    HoldEnd {
        InstanceStarted = "instance_started",
        GivenUp = "given_up",
        Expired = "expired",
        UnitLost = "unit_lost",
        InstanceDeleted = "instance_deleted",
        Administrator = "administrator",
        TenantSuspended = "tenant_suspended",
        BudgetExhausted = "budget_exhausted",
        Unseen = "unseen",
    }
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// The instance was stopped or deleted.
    Stopped,
    /// The instance was restarted.
    Restarted,
    /// The container exited.
    ContainerExited,
    /// The readiness probe failed.
    ProbeFailed,
    /// The node does not answer or was removed.
    NodeLost,
    /// The pod was evicted or deleted.
    PodDeleted,
    /// The end was not reported. The run is billed until it was last confirmed.
    Unseen,
    /// The cluster reports a reason that this version does not know.
    Unknown,
}

words! {
    EndReason {
        Stopped = "stopped",
        Restarted = "restarted",
        ContainerExited = "container_exited",
        ProbeFailed = "probe_failed",
        NodeLost = "node_lost",
        PodDeleted = "pod_deleted",
        Unseen = "unseen",
        Unknown = "unknown",
    }
}

impl EndReason {
    /// Returns the reason that the operator reports in a run.
    #[must_use]
    pub fn reported(reason: &str) -> Self {
        use units::RunEndReason;
        match reason.parse() {
            Ok(RunEndReason::Stopped) => Self::Stopped,
            Ok(RunEndReason::Restarted) => Self::Restarted,
            Ok(RunEndReason::ContainerExited) => Self::ContainerExited,
            Ok(RunEndReason::ProbeFailed) => Self::ProbeFailed,
            Ok(RunEndReason::NodeLost) => Self::NodeLost,
            Ok(RunEndReason::PodDeleted) => Self::PodDeleted,
            Err(()) => Self::Unknown,
        }
    }
}

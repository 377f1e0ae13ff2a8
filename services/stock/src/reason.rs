//! Reason codes of units.

use crds::HeldReason;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Why a unit does not hold its resources, has no object in its cluster, or failed in an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum UnitReason {
    /// The scheduler has not yet found a place.
    Scheduling,
    /// No node has room; `message` quotes the scheduler.
    Unschedulable,
    /// The node does not answer or is gone. An idle unit looks for another place.
    NodeLost,
    /// The node accepts no new pods. An idle unit looks for another place.
    NodeCordoned,
    /// A pod of a higher priority took the place.
    Preempted,
    /// Another pod took the place during a hand-off; the unit is trying to regain it.
    PlaceLost,
    /// The cluster cannot allocate GPUs in the way that the specification requires.
    UnsupportedAllocation,
    /// A quantity or name of the specification is not valid; `message` names it.
    InvalidSpec,
    /// The unit is being removed from the cluster.
    Deleting,
    /// The cluster does not accept the unit's object; `message` quotes it.
    ClusterRefused,
    /// The cluster does not answer.
    ClusterUnreachable,
    /// The cluster of the datacenter is not configured.
    ClusterUnknown,
    /// The unit's object was deleted in the cluster and is being created again.
    ObjectMissing,
    /// The unit was recorded for an object that was found in the cluster.
    Adopted,
    /// An instance occupies the unit without a claim.
    Occupied,
    /// The cluster did not report in time that the unit holds its resources (operations only).
    NotInTime,
    /// The unit was removed from stock before it held its resources (operations only).
    Removed,
    /// The cluster reported a reason that this version does not know; `message` quotes it.
    Unknown,
}

impl UnitReason {
    /// Maps the reason of a `Held` condition that is not true.
    #[must_use]
    pub fn from_condition(reason: &str) -> Self {
        let Ok(known) = reason.parse::<HeldReason>() else { return Self::Unknown };
        match known {
            HeldReason::Scheduling => Self::Scheduling,
            HeldReason::Unschedulable => Self::Unschedulable,
            HeldReason::NodeLost => Self::NodeLost,
            HeldReason::NodeCordoned => Self::NodeCordoned,
            HeldReason::Preempted => Self::Preempted,
            HeldReason::PlaceLost => Self::PlaceLost,
            HeldReason::UnsupportedAllocation => Self::UnsupportedAllocation,
            HeldReason::InvalidSpec => Self::InvalidSpec,
            HeldReason::Deleting => Self::Deleting,
            // reasons of a condition that is true
            HeldReason::Holding | HeldReason::Claimed => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The codes differ from the operator's words in their spelling only.
    #[test]
    fn each_reason_of_the_operator_has_its_code() {
        let snake = |word: &str| {
            let mut code = String::new();
            for c in word.chars() {
                if c.is_uppercase() && !code.is_empty() {
                    code.push('_');
                }
                code.extend(c.to_lowercase());
            }
            code
        };
        for reason in HeldReason::ALL {
            let code = serde_json::to_value(UnitReason::from_condition(reason.as_str())).unwrap();
            let expected = match reason {
                HeldReason::Holding | HeldReason::Claimed => "unknown".to_owned(),
                other => snake(other.as_str()),
            };
            assert_eq!(code, expected);
        }
        assert_eq!(UnitReason::from_condition("FromTheFuture"), UnitReason::Unknown);
    }
}

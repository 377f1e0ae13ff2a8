//! Enumerations that are stored as text and sent as JSON: both forms are the same, and the stored one is read back.

#![expect(clippy::unwrap_used, reason = "a test fails by it")]

use std::{fmt::Debug, str::FromStr};

use atelier_gpu_core::{
    budget::AtLimit,
    ends::{EndReason, HoldEnd},
    instance::OperationKind,
    meter::{Correction, UsageKind},
};
use serde::{Serialize, de::DeserializeOwned};

/// Compares the stored form of each variant with the one in JSON.
fn compare<T>(variants: &[T])
where
    T: Copy + Debug + PartialEq + ToString + FromStr + Serialize + DeserializeOwned,
    T::Err: Debug,
{
    for variant in variants {
        let stored = variant.to_string();
        assert_eq!(serde_json::to_value(variant).unwrap(), stored);
        assert_eq!(stored.parse::<T>().unwrap(), *variant);
    }
    assert!("from-the-future".parse::<T>().is_err());
}

#[test]
fn stored_words_are_those_of_json() {
    use HoldEnd::{
        Administrator, BudgetExhausted, Expired, GivenUp, InstanceDeleted, InstanceStarted, TenantSuspended,
        UnitLost,
    };
    let ends = [
        InstanceStarted,
        GivenUp,
        Expired,
        UnitLost,
        InstanceDeleted,
        Administrator,
        TenantSuspended,
        BudgetExhausted,
        HoldEnd::Unseen,
    ];
    compare(&ends);
    use EndReason::{
        ContainerExited, NodeLost, PodDeleted, ProbeFailed, Restarted, Stopped, Unknown, Unseen,
    };
    compare(&[Stopped, Restarted, ContainerExited, ProbeFailed, NodeLost, PodDeleted, Unseen, Unknown]);
    use Correction::{ClusterHistory, LateEvidence, MissedRun, UnprovenRun};
    compare(&[LateEvidence, ClusterHistory, MissedRun, UnprovenRun]);
    compare(&[UsageKind::Running, UsageKind::Held]);
    compare(&[AtLimit::Stop, AtLimit::Notify]);
}

#[test]
fn kinds_of_operations_are_the_ids_of_their_requests() {
    use OperationKind::{Create, Delete, Restart, Start, Stop};
    let kinds = [Create, Start, Stop, Restart, Delete].map(OperationKind::as_str);
    assert_eq!(
        kinds,
        ["create_instance", "start_instance", "stop_instance", "restart_instance", "delete_instance"]
    );
}

//! How far an addition or a removal is, and when it has ended.

use api::{Operation, OperationState, problem::TYPE_BASE};
use ids::{DatacenterId, GpuSpecId, OperationId, UnitId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

/// At most so many failed units are listed one by one; `failed_count` counts all.
pub(crate) const MOST_FAILURES: usize = 200;

/// What was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum OperationKind {
    /// More units.
    AddStock,
    /// Fewer units.
    RemoveStock,
}

impl OperationKind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::AddStock => "add_stock",
            Self::RemoveStock => "remove_stock",
        }
    }
}

/// A unit that is not as the operation wants it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FailedUnit {
    /// Which.
    pub unit_id: UnitId,
    /// Why, in a word: a unit's reason, or `NotInTime` (the cluster has said nothing), or `Removed` (taken
    /// out of stock meanwhile).
    pub reason: String,
    /// Why, for people.
    pub message: String,
}

/// How far an addition or a removal of stock is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Progress {
    /// Units asked for.
    pub requested: i64,
    /// Of an addition: units whose object exists in the cluster.
    pub made: i64,
    /// Of an addition: units that held their resources.
    pub held: i64,
    /// Of a removal: units that are gone.
    pub removed: i64,
    /// Units that are in trouble now, or failed in the end.
    pub failed_count: i64,
    /// The same one by one, at most 200.
    pub failed: Vec<FailedUnit>,
}

/// A recorded addition or removal.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) id: OperationId,
    pub(crate) kind: OperationKind,
    pub(crate) gpu_spec: (GpuSpecId, String),
    pub(crate) datacenter: (DatacenterId, String),
    pub(crate) state: OperationState,
    pub(crate) problem: Option<Value>,
    pub(crate) progress: Progress,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
    pub(crate) finished_at: Option<Timestamp>,
}

impl From<Record> for Operation {
    fn from(record: Record) -> Self {
        let mut progress = json!(record.progress);
        progress["gpu_spec"] = json!({ "id": record.gpu_spec.0, "name": record.gpu_spec.1 });
        progress["datacenter"] = json!({ "id": record.datacenter.0, "name": record.datacenter.1 });
        Self {
            id: record.id,
            kind: record.kind.as_str().to_owned(),
            target: record.gpu_spec.0.to_string(),
            state: record.state,
            progress,
            problem: record.problem,
            created_at: record.created_at,
            updated_at: record.updated_at,
            finished_at: record.finished_at,
        }
    }
}

/// How an operation ends, given how far it has come; none while it goes on. `overdue`: the time for its
/// units to be held is over.
pub(crate) fn verdict(
    kind: OperationKind,
    progress: &Progress,
    overdue: bool,
) -> Option<(OperationState, Option<Value>)> {
    let done = match kind {
        OperationKind::AddStock => progress.held,
        OperationKind::RemoveStock => progress.removed,
    };
    if done >= progress.requested {
        return Some((OperationState::Succeeded, None));
    }
    let open = progress.requested - done - progress.failed_count;
    if kind == OperationKind::AddStock && (overdue || open <= 0) {
        let missing = progress.requested - progress.held;
        let problem = json!({
            "type": format!("{TYPE_BASE}stock-not-held"),
            "title": "Not all units are held",
            "status": 409,
            "detail": format!("{missing} of {} units do not hold their resources in the cluster.", progress.requested),
            "next": "See `failed` for the reasons. Units that exist become available by themselves as soon as \
                     the cluster has room; remove them if they are not wanted.",
        });
        return Some((OperationState::Failed, Some(problem)));
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn an_operation_ends_exactly_when_nothing_is_left_to_wait_for(
            requested in 1i64..50, held in 0i64..50, failed in 0i64..50, overdue: bool,
        ) {
            let held = held.min(requested);
            let failed_count = failed.min(requested - held);
            let progress = Progress { requested, made: held, held, failed_count, ..Progress::default() };
            let ended = verdict(OperationKind::AddStock, &progress, overdue).map(|(state, _)| state);
            let expected = if held == requested {
                Some(OperationState::Succeeded)
            } else if overdue || held + failed_count == requested {
                Some(OperationState::Failed)
            } else {
                None
            };
            prop_assert_eq!(ended, expected);
            let removal = Progress { requested, removed: held, ..Progress::default() };
            let ended = verdict(OperationKind::RemoveStock, &removal, overdue).map(|(state, _)| state);
            prop_assert_eq!(ended, (held == requested).then_some(OperationState::Succeeded));
        }
    }
}

//! How far an addition or a removal is, and when it has ended.

use api::{Operation, OperationProgress, OperationState, Problem, ProblemDetails, ProblemType};
use ids::{DatacenterId, GpuSpecId, OperationId, UnitId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
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

impl Progress {
    fn done(&self, kind: OperationKind) -> i64 {
        match kind {
            OperationKind::AddStock => self.held,
            OperationKind::RemoveStock => self.removed,
        }
    }

    fn for_callers(
        &self,
        kind: OperationKind,
        gpu_spec: &(GpuSpecId, String),
        datacenter: &(DatacenterId, String),
    ) -> OperationProgress {
        let mut members = match json!(self) {
            Value::Object(members) => members,
            _ => Map::new(),
        };
        members.insert("gpu_spec".to_owned(), json!({ "id": gpu_spec.0, "name": gpu_spec.1 }));
        members.insert("datacenter".to_owned(), json!({ "id": datacenter.0, "name": datacenter.1 }));
        let percent = (100 * self.done(kind)).checked_div(self.requested);
        OperationProgress {
            percent: percent.and_then(|percent| u8::try_from(percent).ok()),
            members,
            ..OperationProgress::default()
        }
    }
}

/// A recorded addition or removal.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) id: OperationId,
    pub(crate) kind: OperationKind,
    pub(crate) gpu_spec: (GpuSpecId, String),
    pub(crate) datacenter: (DatacenterId, String),
    pub(crate) state: OperationState,
    pub(crate) problem: Option<ProblemDetails>,
    pub(crate) progress: Progress,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
    pub(crate) finished_at: Option<Timestamp>,
}

impl From<Record> for Operation {
    fn from(record: Record) -> Self {
        let progress = record.progress.for_callers(record.kind, &record.gpu_spec, &record.datacenter);
        Self {
            id: record.id,
            kind: record.kind.as_str().to_owned(),
            target: record.gpu_spec.0.to_string(),
            state: record.state,
            progress: json!(progress),
            problem: record.problem.map(|problem| json!(problem)),
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
) -> Option<(OperationState, Option<ProblemDetails>)> {
    let done = progress.done(kind);
    if done >= progress.requested {
        return Some((OperationState::Succeeded, None));
    }
    let open = progress.requested - done - progress.failed_count;
    if kind == OperationKind::AddStock && (overdue || open <= 0) {
        let missing = progress.requested - progress.held;
        let detail =
            format!("{missing} of {} units do not hold their resources in the cluster.", progress.requested);
        let problem = Problem::new(ProblemType::StockNotHeld, detail);
        return Some((OperationState::Failed, Some(problem.into())));
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

//! The progress of an addition or a removal of stock, and when it ends.

use api::{OperationProgress, Problem, ProblemType};
use ids::UnitId;
use operations::End;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::reason::UnitReason;
use stock_api::{DatacenterRef, GpuSpecRef};

/// Maximum number of failed units that are listed one by one.
pub(crate) const MAX_LISTED_FAILURES: i64 = 200;

/// An addition or a removal: the `kind` of the operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum ChangeKind {
    /// Adds units.
    AddStock,
    /// Removes units.
    RemoveStock,
}

impl ChangeKind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::AddStock => "add_stock",
            Self::RemoveStock => "remove_stock",
        }
    }
}

/// A unit that is not yet what the operation requires, or failed to become it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FailedUnit {
    /// Unit id.
    pub unit_id: UnitId,
    /// Machine-readable reason.
    pub reason: UnitReason,
    /// The reason in a sentence for a person.
    pub message: String,
}

/// Units of an operation by how far they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Units of the operation.
    pub(crate) requested: i64,
    /// For an addition: units with an object.
    pub(crate) made: i64,
    /// For an addition: units that held their resources.
    pub(crate) held: i64,
    /// For a removal: units that are gone from the cluster.
    pub(crate) removed: i64,
    /// Units with a problem now, or that failed in the end.
    pub(crate) failed: i64,
}

impl Counts {
    fn done(&self, kind: ChangeKind) -> i64 {
        match kind {
            ChangeKind::AddStock => self.held,
            ChangeKind::RemoveStock => self.removed,
        }
    }

    /// Returns the end of the operation; none while it continues. `overdue`: the deadline for its units has passed.
    pub(crate) fn end(&self, kind: ChangeKind, overdue: bool) -> Option<End> {
        let done = self.done(kind);
        if done >= self.requested {
            return Some(End::Succeeded);
        }
        let waiting = self.requested - done - self.failed;
        if kind == ChangeKind::AddStock && (overdue || waiting <= 0) {
            let missing = self.requested - self.held;
            let detail =
                format!("{missing} of {} units do not hold their resources in the cluster.", self.requested);
            return Some(End::Failed(Box::new(Problem::new(ProblemType::StockNotHeld, detail).into())));
        }
        None
    }
}

/// Members of an operation's `progress` for additions and removals of stock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct StockProgress {
    /// Units of the operation.
    pub requested: i64,
    /// For an addition: units with an object in the cluster.
    pub made: i64,
    /// For an addition: units that held their resources.
    pub held: i64,
    /// For a removal: units that are gone from the cluster.
    pub removed: i64,
    /// Units with a problem now, or that failed in the end.
    pub failed_count: i64,
    /// The first 200 of these units.
    pub failed: Vec<FailedUnit>,
    /// Specification of the units.
    pub gpu_spec: GpuSpecRef,
    /// Datacenter of the units.
    pub datacenter: DatacenterRef,
}

impl StockProgress {
    /// The first progress of an operation on `requested` units.
    pub(crate) fn new(requested: i64, gpu_spec: GpuSpecRef, datacenter: DatacenterRef) -> Self {
        Self {
            requested,
            made: 0,
            held: 0,
            removed: 0,
            failed_count: 0,
            failed: Vec::new(),
            gpu_spec,
            datacenter,
        }
    }

    /// The progress as an operation stores it.
    pub(crate) fn record(&self) -> OperationProgress {
        let members = match json!(self) {
            Value::Object(members) => members,
            _ => Map::new(),
        };
        OperationProgress { percent: Some(0), members, ..OperationProgress::default() }
    }
}

/// Updates the progress of an operation: specification and datacenter stay as they were recorded.
pub(crate) fn update_progress(
    progress: &mut OperationProgress,
    kind: ChangeKind,
    counts: &Counts,
    failed: &[FailedUnit],
) {
    let percent = (100 * counts.done(kind)).checked_div(counts.requested);
    progress.percent = percent.and_then(|percent| u8::try_from(percent).ok());
    for (name, count) in [
        ("requested", counts.requested),
        ("made", counts.made),
        ("held", counts.held),
        ("removed", counts.removed),
        ("failed_count", counts.failed),
    ] {
        progress.members.insert(name.to_owned(), json!(count));
    }
    progress.members.insert("failed".to_owned(), json!(failed));
}

#[cfg(test)]
mod tests {
    use ids::{DatacenterId, GpuSpecId};
    use proptest::prelude::*;

    use super::*;

    fn name(end: Option<&End>) -> Option<&'static str> {
        end.map(|end| match end {
            End::Succeeded => "succeeded",
            End::Failed(_) => "failed",
            End::Cancelled => "cancelled",
        })
    }

    proptest! {
        #[test]
        fn an_operation_ends_exactly_when_no_unit_is_waiting(
            requested in 1i64..50, done in 0i64..50, failed in 0i64..50, overdue: bool,
        ) {
            let done = done.min(requested);
            let failed = failed.min(requested - done);
            let addition = Counts { requested, made: done, held: done, failed, ..Counts::default() };
            let expected = if done == requested {
                Some("succeeded")
            } else if overdue || done + failed == requested {
                Some("failed")
            } else {
                None
            };
            prop_assert_eq!(name(addition.end(ChangeKind::AddStock, overdue).as_ref()), expected);
            let removal = Counts { requested, removed: done, failed, ..Counts::default() };
            let expected = (done == requested).then_some("succeeded");
            prop_assert_eq!(name(removal.end(ChangeKind::RemoveStock, overdue).as_ref()), expected);
        }
    }

    #[test]
    fn a_failed_addition_says_how_many_units_are_missing() {
        let counts = Counts { requested: 5, made: 4, held: 3, failed: 2, removed: 0 };
        let Some(End::Failed(problem)) = counts.end(ChangeKind::AddStock, false) else {
            panic!("it has failed")
        };
        assert!(problem.is(ProblemType::StockNotHeld));
        assert_eq!(problem.detail, "2 of 5 units do not hold their resources in the cluster.");
    }

    #[test]
    fn progress_keeps_what_the_operation_is_about() {
        let gpu_spec = GpuSpecRef { id: GpuSpecId::new(), name: "a".into() };
        let datacenter = DatacenterRef { id: DatacenterId::new(), name: "uk-1".into() };
        let mut progress = StockProgress::new(4, gpu_spec.clone(), datacenter).record();
        assert_eq!((progress.percent, &progress.members["held"]), (Some(0), &json!(0)));
        let counts = Counts { requested: 4, made: 2, held: 1, removed: 0, failed: 1 };
        let failed =
            [FailedUnit { unit_id: UnitId::new(), reason: UnitReason::NodeLost, message: "gone".into() }];
        update_progress(&mut progress, ChangeKind::AddStock, &counts, &failed);
        assert_eq!(progress.percent, Some(25));
        let stored = &progress.members;
        assert_eq!(
            (&stored["held"], &stored["made"], &stored["requested"]),
            (&json!(1), &json!(2), &json!(4))
        );
        assert_eq!((&stored["failed_count"], &stored["failed"]), (&json!(1), &json!(failed)));
        assert_eq!(stored["gpu_spec"], json!(gpu_spec));
        assert_eq!(stored["datacenter"]["name"], "uk-1");
    }
}

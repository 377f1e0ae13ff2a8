//! Kinds of drift.

use ids::UnitId;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What differed, and how it was repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum RepairKind {
    /// A unit had no object in the cluster: created again.
    ObjectMissing,
    /// An idle object had no unit: deleted.
    ObjectOrphaned,
    /// An occupied object had no unit: recorded as a unit.
    ObjectAdopted,
    /// An object differed from its unit: applied again.
    ObjectAltered,
    /// A change in the cluster was not reported by the watch: recorded.
    StatusMissed,
    /// A count of units was wrong: corrected.
    Counts,
}

impl RepairKind {
    pub(crate) const ALL: [Self; 6] = [
        Self::ObjectMissing,
        Self::ObjectOrphaned,
        Self::ObjectAdopted,
        Self::ObjectAltered,
        Self::StatusMissed,
        Self::Counts,
    ];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::ObjectMissing => "object_missing",
            Self::ObjectOrphaned => "object_orphaned",
            Self::ObjectAdopted => "object_adopted",
            Self::ObjectAltered => "object_altered",
            Self::StatusMissed => "status_missed",
            Self::Counts => "counts",
        }
    }
}

/// Drift that was found and repaired.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Repair {
    /// Number of the repair; later repairs have higher numbers.
    pub id: i64,
    /// Time of the repair.
    pub at: Timestamp,
    /// Cluster in which the drift was found; null for counts.
    pub cluster: Option<String>,
    /// What differed, and how it was repaired.
    pub kind: RepairKind,
    /// The unit that differed; null for counts and for objects whose name is not a unit's.
    pub unit_id: Option<UnitId>,
    /// What was found, in a sentence for a person.
    pub detail: String,
}

/// Drift that is repaired in the current transaction.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) kind: RepairKind,
    pub(crate) unit: Option<UnitId>,
    pub(crate) detail: String,
}

impl Finding {
    pub(crate) fn of_unit(kind: RepairKind, unit: UnitId, detail: &str) -> Self {
        Self { kind, unit: Some(unit), detail: detail.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_has_one_spelling() {
        for kind in RepairKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
    }
}

//! The record of a long-running action, as callers see it.

use ids::OperationId;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::{operation_reason::OperationReason, problem::ProblemDetails};

/// The state of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum OperationState {
    /// Recorded; work has not begun.
    Pending,
    /// In progress.
    Running,
    /// Completed as requested.
    Succeeded,
    /// Ended with a `problem`.
    Failed,
    /// Superseded by a later action on the same target, for example a stop while starting.
    Cancelled,
}

impl OperationState {
    /// Returns whether the state is final.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Cancelled)
    }
}

/// Actions of all services.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "the schema of stored kinds, which are text")]
enum OperationKind {
    /// Create an instance and, unless it is created stopped, start it.
    CreateInstance,
    /// Start an instance.
    StartInstance,
    /// Stop an instance, or give up the unit that it keeps.
    StopInstance,
    /// Restart an instance in its unit.
    RestartInstance,
    /// Delete an instance.
    DeleteInstance,
    /// Create a storage.
    CreateStorage,
    /// Change the size of a storage.
    ResizeStorage,
    /// Delete a storage.
    DeleteStorage,
    /// Add units to the stock.
    AddStock,
    /// Remove units from the stock.
    RemoveStock,
    /// Delete a tenant.
    DeleteTenant,
}

/// Progress of an operation. Kinds of operations may add members of their own.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct OperationProgress {
    /// Current phase of the target, for example `starting`; null if the kind has no phases.
    pub phase: Option<String>,
    /// Completed share in percent; null if it is not known.
    #[schema(minimum = 0, maximum = 100)]
    pub percent: Option<u8>,
    /// Machine-readable reason why the operation waits, or null.
    #[schema(value_type = Option<OperationReason>)]
    pub reason: Option<String>,
    /// The reason in a sentence for a person, or null.
    pub message: Option<String>,
    /// Members of the operation's kind.
    #[serde(flatten)]
    pub members: Map<String, Value>,
}

/// Serializes stored progress with all standard members; other values stay unchanged.
fn complete<S: serde::Serializer>(progress: &Value, serializer: S) -> Result<S::Ok, S::Error> {
    match OperationProgress::deserialize(progress) {
        Ok(progress) => progress.serialize(serializer),
        Err(_) => progress.serialize(serializer),
    }
}

/// A long-running action: its request, progress and result.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Operation {
    /// Operation id.
    pub id: OperationId,
    /// The action.
    #[schema(value_type = OperationKind)]
    pub kind: String,
    /// Id of the resource that the action changes.
    pub target: String,
    /// Current state.
    pub state: OperationState,
    /// Progress of the operation.
    ///
    /// Stored JSON. A row of an older version may lack members: responses have them as null.
    #[schema(value_type = OperationProgress)]
    #[serde(serialize_with = "complete")]
    pub progress: Value,
    /// Why the operation failed; null unless `state` is `failed`.
    #[schema(value_type = Option<ProblemDetails>)]
    pub problem: Option<Value>,
    /// Time of the request.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// Time at which the state became final; null before.
    pub finished_at: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_operation_that_has_ended_stays_so() {
        use OperationState::{Cancelled, Failed, Pending, Running, Succeeded};
        assert!([Succeeded, Failed, Cancelled].into_iter().all(OperationState::is_final));
        assert!(![Pending, Running].into_iter().any(OperationState::is_final));
    }

    #[test]
    fn stored_progress_is_shown_with_all_standard_members() {
        let shown = |stored: &Value| complete(stored, serde_json::value::Serializer).unwrap();
        let nothing = json!({ "phase": null, "percent": null, "reason": null, "message": null });
        assert_eq!(shown(&json!({})), nothing);
        let held = shown(&json!({ "percent": 40, "held": 2 }));
        assert_eq!((&held["percent"], &held["held"], &held["phase"]), (&json!(40), &json!(2), &Value::Null));
        assert_eq!(shown(&json!([1])), json!([1]));
    }
}

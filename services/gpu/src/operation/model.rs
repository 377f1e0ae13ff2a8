//! Kinds of long actions on an instance, and how they end. Pure.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::instance::Failure;

/// What was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum Kind {
    /// Make and start.
    #[serde(rename = "create_instance")]
    #[sqlx(rename = "create_instance")]
    Create,
    /// Start again.
    #[serde(rename = "start_instance")]
    #[sqlx(rename = "start_instance")]
    Start,
    /// Stop.
    #[serde(rename = "stop_instance")]
    #[sqlx(rename = "stop_instance")]
    Stop,
    /// Restart in place.
    #[serde(rename = "restart_instance")]
    #[sqlx(rename = "restart_instance")]
    Restart,
    /// Delete.
    #[serde(rename = "delete_instance")]
    #[sqlx(rename = "delete_instance")]
    Delete,
}

/// How an operation ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// As asked.
    Succeeded,
    /// Otherwise.
    Failed(Failure),
    /// A later action overtook it.
    Cancelled,
}

/// The problem of an operation that failed: another service's own words, or ours.
#[must_use]
pub fn problem_of(failure: &Failure) -> Value {
    failure.problem.clone().unwrap_or_else(|| {
        let mut problem = json!({
            "type": format!("{}instance-failed", api::problem::TYPE_BASE),
            "title": "The instance could not run",
            "status": 409,
            "detail": failure.why.message,
            "reason": failure.why.reason,
            "next": "Read the instance's reason and log_tail, change what they name, and start it again.",
        });
        if let (Some(tail), Some(members)) = (&failure.log_tail, problem.as_object_mut()) {
            members.insert("log_tail".to_owned(), tail.clone().into());
        }
        problem
    })
}

//! Kinds of long actions on an instance, and how they end. Pure.

use api::{Problem, ProblemDetails, ProblemType};
use serde::{Deserialize, Serialize};

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

/// Returns the problem of a failed operation: the one that another service answered, or `instance-failed`.
#[must_use]
pub fn problem_of(failure: &Failure) -> ProblemDetails {
    failure.problem.as_deref().cloned().unwrap_or_else(|| {
        let problem = Problem::new(ProblemType::InstanceFailed, &failure.why.message)
            .with("reason", &failure.why.reason);
        match &failure.log_tail {
            Some(tail) => problem.with("log_tail", tail).into(),
            None => problem.into(),
        }
    })
}

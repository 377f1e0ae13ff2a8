//! The record of a long action, as callers see it.

use ids::OperationId;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// Where a long action stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum OperationState {
    /// Recorded; nobody has begun.
    Pending,
    /// Under way.
    Running,
    /// Done as asked.
    Succeeded,
    /// Ended otherwise; `problem` says why.
    Failed,
    /// Overtaken by a later action on the same thing (a stop while starting, say).
    Cancelled,
}

impl OperationState {
    /// Whether it will not change any more.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Cancelled)
    }
}

/// A long action: what was asked, how far it is, how it ended.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Operation {
    /// Its id.
    pub id: OperationId,
    /// What was asked, for example `start_instance`.
    pub kind: String,
    /// The id of the thing it acts on.
    pub target: String,
    /// Where it stands.
    pub state: OperationState,
    /// How far it is, in the kind's own terms.
    pub progress: Value,
    /// Why it failed (RFC 9457 members), when it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<Value>,
    /// When it was asked.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
}

//! Kinds of long-running actions on an instance.

/// The action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, sqlx::Type)]
#[sqlx(type_name = "text")]
pub enum OperationKind {
    /// Create and start.
    #[sqlx(rename = "create_instance")]
    Create,
    /// Start.
    #[sqlx(rename = "start_instance")]
    Start,
    /// Stop.
    #[sqlx(rename = "stop_instance")]
    Stop,
    /// Restart in the same unit.
    #[sqlx(rename = "restart_instance")]
    Restart,
    /// Delete.
    #[sqlx(rename = "delete_instance")]
    Delete,
}

impl OperationKind {
    /// Returns the kind's wire form.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create_instance",
            Self::Start => "start_instance",
            Self::Stop => "stop_instance",
            Self::Restart => "restart_instance",
            Self::Delete => "delete_instance",
        }
    }
}

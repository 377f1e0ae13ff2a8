//! Kinds of long-running actions on an instance.

/// The action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationKind {
    /// Create and start.
    Create,
    /// Start.
    Start,
    /// Stop.
    Stop,
    /// Restart in the same unit.
    Restart,
    /// Delete.
    Delete,
}

words! {
    OperationKind {
        Create = "create_instance",
        Start = "start_instance",
        Stop = "stop_instance",
        Restart = "restart_instance",
        Delete = "delete_instance",
    }
}

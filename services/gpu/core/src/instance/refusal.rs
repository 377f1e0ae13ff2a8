//! Why a request about an instance is refused.

use super::state::InstanceState;

/// Why an instance cannot be changed or started as requested.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A service of the platform manages the instance.
    #[error("the instance is managed by {0}")]
    Managed(String),
    /// The order can be changed only while the instance is stopped.
    #[error("the instance is {}", .0.as_str())]
    NotStopped(InstanceState),
    /// The instance holds a unit of the present specification.
    #[error("the instance holds a unit")]
    UnitHeld,
    /// The registry credential that the instance names was deleted.
    #[error("the registry credential of the instance was deleted")]
    RegistryCredentialMissing,
}

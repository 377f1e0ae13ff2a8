//! The Secrets in clusters that may exist. Pure. `model/secrets` decides which ones the next pod needs, and
//! tracks them.
//!
//! Each start has a Secret of its own, so that no pod sees values of another start and no delayed call
//! changes those of a later one. A write is recorded before it happens, and forgotten some time after the
//! deletion, so that a crash in between leaves no unknown Secret.

use serde::{Deserialize, Serialize};

/// A Secret in a cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SecretObject {
    /// Configured name of the cluster.
    pub cluster: String,
    /// Namespace of the pod.
    pub namespace: String,
    /// Name of the Secret.
    pub name: String,
}

/// The action on a Secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    /// The write is recorded, and may have happened.
    Planned,
    /// Written.
    Written,
    /// Deleted. A delayed write may recreate it.
    Deleted,
}

/// A Secret that may exist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrackedSecret {
    /// The Secret.
    #[serde(flatten)]
    pub object: SecretObject,
    /// What was done with it.
    pub progress: Progress,
}

/// A step with a Secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretChange {
    /// A write follows.
    Planned(SecretObject),
    /// Written.
    Written(SecretObject),
    /// Deleted.
    Deleted(SecretObject),
    /// Deleted Secrets are no longer tracked.
    Forgotten,
}

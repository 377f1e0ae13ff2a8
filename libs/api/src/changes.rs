//! Feeds of changes that other services follow by cursor (`libs/feed`).

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A published change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Change<T> {
    /// Time of publication, taken after its transaction has acquired its locks.
    pub at: Timestamp,
    /// What has changed.
    pub change: T,
}

/// Changes after a cursor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Changes<T> {
    /// The changes; empty if nothing has changed.
    pub items: Vec<Change<T>>,
    /// Send it as `after` to get the changes that follow.
    pub next_cursor: String,
    /// Whether these are all changes until now; false if more follow at once.
    pub complete: bool,
}

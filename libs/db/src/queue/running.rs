//! The rows that this process reconciles now.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use tokio::task::JoinSet;

use super::Key;

/// Rows being reconciled by this process.
pub(super) struct Running<K> {
    pub(super) tasks: JoinSet<Ended<K>>,
    pub(super) lanes: HashMap<K, String>,
    /// Rows that were woken meanwhile.
    pub(super) again: HashSet<K>,
}

impl<K: Key> Running<K> {
    pub(super) fn in_lane(&self, lane: &str) -> usize {
        self.lanes.values().filter(|running| *running == lane).count()
    }

    /// The lanes that have reached their limit.
    pub(super) fn full_lanes(&self, limit: usize) -> Vec<String> {
        let full: HashSet<_> = self.lanes.values().filter(|lane| self.in_lane(lane) >= limit).collect();
        full.into_iter().cloned().collect()
    }
}

/// The end of a reconcile.
pub(super) struct Ended<K> {
    pub(super) key: K,
    /// When the row may be due again; none if it is not enqueued.
    pub(super) due_in: Option<Duration>,
}

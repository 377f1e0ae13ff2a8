//! State about the kubelets: the last contact of each, and statuses that could not be sent.

use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

#[derive(Default)]
pub(crate) struct Kubelets {
    pub heard: Heard,
    pub unsent: Unsent,
}

/// The time of the last heartbeat of each node.
#[derive(Default)]
pub(crate) struct Heard(Mutex<HashMap<String, Instant>>);

impl Heard {
    pub(crate) fn put(&self, node: &str) {
        let mut heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        heard.insert(node.to_owned(), Instant::now());
    }

    /// Time from the last heartbeat to `now`; from the first question for a node that never sent one.
    pub(crate) fn silence(&self, node: &str, now: Instant) -> Duration {
        let mut heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        now.saturating_duration_since(*heard.entry(node.to_owned()).or_insert(now))
    }

    /// Does not count a time in which this process did not run as silence: no heartbeat could be sent in it.
    pub(crate) fn excuse(&self, paused: Duration) {
        let mut heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        for last in heard.values_mut() {
            *last = (*last + paused).min(now);
        }
    }
}

/// The latest status of each pod that was not sent, by uid.
#[derive(Default)]
pub(crate) struct Unsent(Mutex<HashMap<String, Value>>);

impl Unsent {
    pub(crate) fn lock(&self) -> MutexGuard<'_, HashMap<String, Value>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn forget(&self, uid: &str) {
        self.lock().remove(uid);
    }
}

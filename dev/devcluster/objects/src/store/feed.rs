//! Objects and their changes in order, for the controllers of the process.

use super::{Change, Object, Op, Store};
use futures::future::select_all;
use std::sync::Arc;
use tokio::sync::watch;

/// Follows some kinds. Starts with all objects; if it lags too far behind, starts again with all objects.
pub struct Feed {
    store: Arc<Store>,
    kinds: Vec<Followed>,
    resync: bool,
}

struct Followed {
    kind: &'static str,
    latest: watch::Receiver<u64>,
    seen: u64,
}

/// A change since the last call.
pub enum Event {
    /// All objects, by kind in the order of the subscription: changes may have been missed.
    Resync(Vec<Arc<Object>>),
    Changes(Vec<Arc<Change>>),
}

impl Event {
    /// The objects that exist: all of them, or those that were added or modified.
    pub fn present(&self) -> Vec<&Arc<Object>> {
        match self {
            Self::Resync(objects) => objects.iter().collect(),
            Self::Changes(changes) => {
                changes.iter().filter(|c| c.op != Op::Deleted).map(|c| &c.object).collect()
            }
        }
    }

    /// The last states of deleted objects.
    pub fn deleted(&self) -> Vec<&Arc<Object>> {
        match self {
            Self::Resync(_) => Vec::new(),
            Self::Changes(changes) => {
                changes.iter().filter(|c| c.op == Op::Deleted).map(|c| &c.object).collect()
            }
        }
    }
}

impl Feed {
    pub(super) fn new(store: &Arc<Store>, kinds: &[&'static str]) -> Self {
        let kinds = kinds.iter().map(|kind| Followed { kind, latest: store.follow(kind), seen: 0 }).collect();
        Self { store: store.clone(), kinds, resync: true }
    }

    /// Waits for changes. Cancel-safe.
    pub async fn next(&mut self) -> Event {
        loop {
            if let Some(event) = self.poll() {
                return event;
            }
            // the senders live as long as the store, which the feed keeps
            let changed = self.kinds.iter_mut().map(|k| Box::pin(k.latest.changed()));
            let _ = select_all(changed).await;
        }
    }

    /// The next event has all objects.
    pub fn restart(&mut self) {
        self.resync = true;
    }

    /// Returns the next change, without waiting.
    pub fn poll(&mut self) -> Option<Event> {
        let inner = self.store.lock();
        let mut all = Vec::new();
        for followed in &mut self.kinds {
            followed.latest.borrow_and_update();
            match inner.since(followed.kind, followed.seen) {
                Ok(changes) if !self.resync => all.extend(changes),
                _ => self.resync = true,
            }
            followed.seen = inner.rv();
        }
        if std::mem::take(&mut self.resync) {
            let kinds = self.kinds.iter();
            return Some(Event::Resync(kinds.flat_map(|k| inner.list(k.kind, "").cloned()).collect()));
        }
        all.sort_by_key(|change| change.rv);
        (!all.is_empty()).then_some(Event::Changes(all))
    }
}

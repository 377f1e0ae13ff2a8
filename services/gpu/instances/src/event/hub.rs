//! New events, read once per replica and passed to its streams.
//!
//! The task `gpu.events.follow` is notified which tenants have new events; `gpu.event_streams.follow` reads
//! those of tenants with open streams, in one query, and sends them to the streams' channels. A channel holds
//! a bounded number of events: a stream that lags behind, or sees a gap in the sequence numbers, reads the
//! log itself.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use db::Db;
use feed::Feed;
use ids::TenantId;
use service::{Duty, Task};
use tokio::{
    sync::{Notify, broadcast},
    time::timeout,
};

use super::store::{self, OUTBOX, Recorded};

/// How often tenants with open streams are read without a notification.
const POLL: Duration = Duration::from_secs(2);
/// Events in a tenant's channel.
const CHANNEL: usize = 256;
/// Events of a tenant in one query.
const BATCH: i64 = 100;

/// The events of this replica. Clones share them.
#[derive(Clone)]
pub struct Hub {
    inner: Arc<Inner>,
}

struct Inner {
    db: Db,
    feed: Feed,
    state: Mutex<State>,
    /// A tenant is due.
    due: Notify,
}

#[derive(Default)]
struct State {
    /// Tenants with open streams.
    tails: HashMap<TenantId, Tail>,
    due: HashSet<TenantId>,
}

struct Tail {
    events: broadcast::Sender<Arc<Recorded>>,
    /// Events up to this sequence number were sent, or are known to the first stream; none until that stream
    /// is at the end of the log.
    sent: Option<i64>,
}

/// The new events of a tenant, until it is dropped.
pub(super) struct Subscription {
    hub: Hub,
    tenant: TenantId,
    events: Option<broadcast::Receiver<Arc<Recorded>>>,
}

/// An event was missed: the log has to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Missed;

impl Hub {
    /// Events of this replica.
    pub fn new(db: &Db) -> Self {
        let feed = Feed::new(db, OUTBOX);
        let inner = Inner { db: db.clone(), feed, state: Mutex::default(), due: Notify::new() };
        Self { inner: Arc::new(inner) }
    }

    /// The feed of all tenants.
    pub(super) fn feed(&self) -> &Feed {
        &self.inner.feed
    }

    /// The tasks that learn which tenants have new events, and read them.
    pub fn tasks(&self) -> [Task; 2] {
        [
            Task::new("events", Duty::Follow, self, |hub| async move { hub.listen().await }),
            Task::new("event_streams", Duty::Follow, self, |hub| async move { hub.read().await }),
        ]
    }

    async fn listen(&self) -> anyhow::Result<()> {
        let mut listener = self.inner.db.listen(OUTBOX.channel).await?;
        let _listens = self.inner.feed.listens();
        // for events written before the connection
        self.all_due();
        loop {
            match listener.recv().await?.map(|payload| payload.parse()) {
                Some(Ok(tenant)) => self.mark_due(tenant),
                // notifications may have been lost
                None | Some(Err(_)) => self.all_due(),
            }
        }
    }

    fn mark_due(&self, tenant: TenantId) {
        let mut state = self.state();
        if state.tails.contains_key(&tenant) {
            state.due.insert(tenant);
            self.inner.due.notify_one();
        }
        drop(state);
        self.inner.feed.wake();
    }

    fn all_due(&self) {
        let mut state = self.state();
        state.due = state.tails.keys().copied().collect();
        drop(state);
        self.inner.due.notify_one();
        self.inner.feed.wake();
    }

    async fn read(&self) -> anyhow::Result<()> {
        loop {
            if timeout(POLL, self.inner.due.notified()).await.is_err() {
                let mut state = self.state();
                state.due = state.tails.keys().copied().collect();
            }
            loop {
                let tails = self.take_due();
                if tails.is_empty() {
                    break;
                }
                let mut tx = self.inner.db.worker().await?;
                let events = store::read_tails(&mut tx, &tails, BATCH).await?;
                tx.commit().await?;
                self.send(events);
            }
        }
    }

    /// Returns the tenants that are due, and the sequence number up to which their events were sent.
    fn take_due(&self) -> Vec<(TenantId, i64)> {
        let mut state = self.state();
        let due = std::mem::take(&mut state.due);
        due.into_iter().filter_map(|tenant| Some((tenant, state.tails.get(&tenant)?.sent?))).collect()
    }

    fn send(&self, events: Vec<Recorded>) {
        let mut state = self.state();
        let State { tails, due } = &mut *state;
        let mut counts: HashMap<TenantId, i64> = HashMap::new();
        for event in events {
            let (tenant, sequence) = (event.tenant_id, event.sequence);
            let count = counts.entry(tenant).or_default();
            *count += 1;
            if *count == BATCH {
                due.insert(tenant);
            }
            // its streams may have been closed, and others opened
            if let Some(tail) = tails.get_mut(&tenant)
                && tail.sent.is_some_and(|sent| sent < sequence)
            {
                tail.sent = Some(sequence);
                // without a stream it is not needed
                let _ = tail.events.send(Arc::new(event));
            }
        }
    }

    /// Subscribes to the tenant's events. They come once a stream is [`Subscription::at_end`].
    pub(super) fn subscribe(&self, tenant: TenantId) -> Subscription {
        let mut state = self.state();
        let tail = state
            .tails
            .entry(tenant)
            .or_insert_with(|| Tail { events: broadcast::Sender::new(CHANNEL), sent: None });
        let events = Some(tail.events.subscribe());
        Subscription { hub: self.clone(), tenant, events }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Subscription {
    /// This stream has sent the log up to `sequence`, its end.
    pub(super) fn at_end(&self, sequence: i64) {
        let mut state = self.hub.state();
        if let Some(tail) = state.tails.get_mut(&self.tenant)
            && tail.sent.is_none()
        {
            tail.sent = Some(sequence);
            // for events written meanwhile
            state.due.insert(self.tenant);
            self.hub.inner.due.notify_one();
        }
    }

    /// Returns the next event.
    ///
    /// # Errors
    /// If events were missed.
    pub(super) async fn next(&mut self) -> Result<Arc<Recorded>, Missed> {
        match &mut self.events {
            Some(events) => events.recv().await.map_err(|_| Missed),
            None => Err(Missed),
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut state = self.hub.state();
        drop(self.events.take());
        if state.tails.get(&self.tenant).is_some_and(|tail| tail.events.receiver_count() == 0) {
            state.tails.remove(&self.tenant);
        }
    }
}

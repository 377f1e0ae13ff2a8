//! Whose events there are, read once per replica: wakes streams.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use db::Db;
use feed::Outbox;
use ids::TenantId;
use serde::Deserialize;
use service::Workers;
use tokio::{
    sync::{Notify, watch},
    time::sleep,
};

/// How often new events are read while there are streams.
const LOOK: Duration = Duration::from_millis(500);
/// Events that are read at a time.
const PAGE: u32 = 500;

/// Clones share the streams.
#[derive(Clone)]
pub(crate) struct Hub(Arc<Inner>);

struct Inner {
    db: Db,
    outbox: Outbox,
    /// The streams: those of a tenant, and those that see the events of no tenant or of all.
    streams: Mutex<HashMap<Option<TenantId>, watch::Sender<()>>>,
    /// The first stream has been opened.
    opened: Notify,
}

#[derive(Deserialize)]
struct Whose {
    tenant_id: Option<TenantId>,
}

impl Hub {
    pub(crate) fn new(db: &Db, outbox: Outbox) -> Self {
        let (streams, opened) = (Mutex::default(), Notify::new());
        Self(Arc::new(Inner { db: db.clone(), outbox, streams, opened }))
    }

    pub(crate) fn outbox(&self) -> Outbox {
        self.0.outbox
    }

    pub(crate) fn start(&self, workers: &Workers, name: &str) {
        let hub = self.clone();
        workers.spawn(name.to_owned(), move |stop| {
            let hub = hub.clone();
            async move { stop.run_until_cancelled(hub.run()).await.unwrap_or(Ok(())) }
        });
    }

    async fn run(&self) -> anyhow::Result<()> {
        loop {
            while self.streams().is_empty() {
                self.0.opened.notified().await;
            }
            let mut tx = self.0.db.worker().await?;
            let mut position = self.0.outbox.end(&mut tx).await?;
            drop(tx);
            // for what was written before that
            for changed in self.streams().values() {
                changed.send_replace(());
            }
            while !self.streams().is_empty() {
                let mut tx = self.0.db.worker().await?;
                let page = self.0.outbox.page::<Whose>(&mut tx, &position, PAGE).await?;
                drop(tx);
                position = page.next;
                if !page.items.is_empty() {
                    let streams = self.streams();
                    let whose = page.items.iter().map(|(_, item)| item.change.tenant_id).chain([None]);
                    for changed in whose.filter_map(|tenant| streams.get(&tenant)) {
                        changed.send_replace(());
                    }
                }
                if page.complete {
                    sleep(LOOK).await;
                }
            }
        }
    }

    /// Watches what a tenant, or a reader without one, sees until the result is dropped.
    pub(crate) fn subscribe(&self, tenant: Option<TenantId>) -> Subscription {
        let mut streams = self.streams();
        let sender = streams.entry(tenant).or_insert_with(|| watch::Sender::new(()));
        let changed = Some(sender.subscribe());
        self.0.opened.notify_one();
        Subscription { hub: self.clone(), tenant, changed }
    }

    fn streams(&self) -> MutexGuard<'_, HashMap<Option<TenantId>, watch::Sender<()>>> {
        self.0.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A watched tenant.
pub(crate) struct Subscription {
    hub: Hub,
    tenant: Option<TenantId>,
    changed: Option<watch::Receiver<()>>,
}

impl Subscription {
    /// The events are read from now on: what comes later is a change.
    pub(crate) fn mark_read(&mut self) {
        if let Some(changed) = &mut self.changed {
            changed.mark_unchanged();
        }
    }

    /// Waits until there may be events since [`Subscription::mark_read`].
    pub(crate) async fn changed(&mut self) {
        if let Some(changed) = &mut self.changed {
            // the sender lives as long as a subscription
            let _ = changed.changed().await;
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut streams = self.hub.streams();
        drop(self.changed.take());
        if streams.get(&self.tenant).is_some_and(|sender| sender.receiver_count() == 0) {
            streams.remove(&self.tenant);
        }
    }
}

//! Reads once per replica which tenants have new events, and wakes their streams.

use std::time::Duration;

use db::Db;
use feed::Outbox;
use ids::TenantId;
use serde::Deserialize;
use service::{Duty, Task};
use tokio::time::sleep;

use crate::watched::{Subscription, Watched};

/// How often new events are read while there are streams.
const LOOK: Duration = Duration::from_millis(500);
/// Events that are read at a time.
const PAGE: u32 = 500;

/// The reader: a tenant; or one that sees the events of no tenant, or of all.
pub(crate) type Key = Option<TenantId>;

/// Clones share the streams.
#[derive(Clone)]
pub(crate) struct Hub {
    db: Db,
    outbox: Outbox,
    streams: Watched<Key>,
}

#[derive(Deserialize)]
struct Whose {
    tenant_id: Key,
}

impl Hub {
    pub(crate) fn new(db: &Db, outbox: Outbox) -> Self {
        Self { db: db.clone(), outbox, streams: Watched::default() }
    }

    pub(crate) fn outbox(&self) -> Outbox {
        self.outbox
    }

    pub(crate) fn task(&self) -> Task {
        Task::new("events", Duty::Follow, self, |hub| async move { hub.run().await })
    }

    async fn run(&self) -> anyhow::Result<()> {
        loop {
            while self.streams.is_empty() {
                self.streams.opened().await;
            }
            let mut tx = self.db.worker().await?;
            let mut position = self.outbox.end(&mut tx).await?;
            drop(tx);
            // for events written before that
            self.streams.wake_all();
            while !self.streams.is_empty() {
                let mut tx = self.db.worker().await?;
                let page = self.outbox.page::<Whose>(&mut tx, &position, PAGE).await?;
                drop(tx);
                position = page.next;
                if !page.items.is_empty() {
                    self.streams.wake(page.items.iter().map(|(_, item)| item.change.tenant_id).chain([None]));
                }
                if page.complete {
                    sleep(LOOK).await;
                }
            }
        }
    }

    /// Watches the events of a reader until the result is dropped.
    pub(crate) fn subscribe(&self, reader: Key) -> Subscription<Key> {
        self.streams.subscribe(reader)
    }
}

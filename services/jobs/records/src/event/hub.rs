//! Which tenants have new events, read once per replica: wakes their streams, and the readers of the feed.

use std::{sync::Arc, time::Duration};

use db::Db;
use events::{Subscription, Watched};
use feed::Feed;
use ids::TenantId;
use serde::Deserialize;
use service::{Duty, Task};

use super::store::{self, EVENTS, TENANTS};
use crate::rest::Rest;

/// How often new events are read.
const LOOK: Duration = Duration::from_millis(200);

/// The new events of this replica. Clones share them.
#[derive(Clone)]
pub struct Hub {
    db: Db,
    rest: Arc<Rest>,
    feed: Feed,
    /// Tenants with open streams.
    tenants: Watched<TenantId>,
}

#[derive(Deserialize)]
struct Whose {
    tenant_id: TenantId,
}

impl Hub {
    pub fn new(db: &Db, rest: &Arc<Rest>) -> Self {
        let (feed, tenants) = (Feed::new(db, EVENTS), Watched::default());
        Self { db: db.clone(), rest: Arc::clone(rest), feed, tenants }
    }

    /// The feed of the events of all tenants.
    pub fn feed(&self) -> &Feed {
        &self.feed
    }

    /// The task that reads new events.
    pub fn task(&self) -> Task {
        Task::new("events", Duty::Follow, self, |hub| async move { hub.run().await })
    }

    async fn run(&self) -> anyhow::Result<()> {
        let _listens = self.feed.listens();
        let mut tx = self.db.worker().await?;
        let mut position = TENANTS.end(&mut tx).await?;
        drop(tx);
        // for events written before that
        self.feed.wake();
        self.tenants.wake_all();
        loop {
            let mut tx = self.db.worker().await?;
            let page = store::follow::<Whose>(&mut tx, TENANTS, &position).await?;
            drop(tx);
            if !page.items.is_empty() {
                self.feed.wake();
                self.tenants.wake(page.items.iter().map(|(_, item)| item.change.tenant_id));
            }
            position = page.next;
            if page.complete {
                self.rest.pause(LOOK).await;
            }
        }
    }

    /// Watches a tenant until the result is dropped.
    pub(super) fn subscribe(&self, tenant: TenantId) -> Subscription<TenantId> {
        self.tenants.subscribe(tenant)
    }
}

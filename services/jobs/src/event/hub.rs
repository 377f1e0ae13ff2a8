//! Which tenants have new events, read once per replica: wakes their streams, and the readers of the feed.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use db::Db;
use feed::Feed;
use ids::TenantId;
use serde::Deserialize;
use service::Workers;
use tokio::sync::watch;

use super::store::{self, EVENTS, TENANTS};
use crate::rest::Rest;

/// How often new events are read.
const LOOK: Duration = Duration::from_millis(200);

/// The new events of this replica. Clones share them.
#[derive(Clone)]
pub(crate) struct Hub(Arc<Inner>);

struct Inner {
    db: Db,
    rest: Arc<Rest>,
    feed: Feed,
    /// Tenants with open streams.
    tenants: Mutex<HashMap<TenantId, watch::Sender<()>>>,
}

#[derive(Deserialize)]
struct Whose {
    tenant_id: TenantId,
}

impl Hub {
    pub(crate) fn new(db: &Db, rest: &Arc<Rest>) -> Self {
        Self(Arc::new(Inner {
            db: db.clone(),
            rest: Arc::clone(rest),
            feed: Feed::new(db, EVENTS),
            tenants: Mutex::default(),
        }))
    }

    /// The feed of the events of all tenants.
    pub(crate) fn feed(&self) -> &Feed {
        &self.0.feed
    }

    /// Starts the worker `jobs.event_feed`.
    pub(crate) fn start(&self, workers: &Workers) {
        let hub = self.clone();
        workers.spawn("jobs.event_feed", move |stop| {
            let hub = hub.clone();
            async move { stop.run_until_cancelled(hub.run()).await.unwrap_or(Ok(())) }
        });
    }

    async fn run(&self) -> anyhow::Result<()> {
        let _listens = self.0.feed.listens();
        let mut tx = self.0.db.worker().await?;
        let mut position = TENANTS.end(&mut tx).await?;
        drop(tx);
        // for what was written before that
        self.0.feed.wake();
        for changed in self.tenants().values() {
            changed.send_replace(());
        }
        loop {
            let mut tx = self.0.db.worker().await?;
            let page = store::follow::<Whose>(&mut tx, TENANTS, &position).await?;
            drop(tx);
            if !page.items.is_empty() {
                self.0.feed.wake();
                let tenants: BTreeSet<TenantId> =
                    page.items.iter().map(|(_, item)| item.change.tenant_id).collect();
                let open = self.tenants();
                for changed in tenants.iter().filter_map(|tenant| open.get(tenant)) {
                    changed.send_replace(());
                }
            }
            position = page.next;
            if page.complete {
                self.0.rest.pause(LOOK).await;
            }
        }
    }

    /// Watches a tenant until the result is dropped.
    pub(super) fn subscribe(&self, tenant: TenantId) -> Subscription {
        let mut tenants = self.tenants();
        let sender = tenants.entry(tenant).or_insert_with(|| watch::Sender::new(()));
        Subscription { hub: self.clone(), tenant, changed: Some(sender.subscribe()) }
    }

    fn tenants(&self) -> MutexGuard<'_, HashMap<TenantId, watch::Sender<()>>> {
        self.0.tenants.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A watched tenant.
pub(super) struct Subscription {
    hub: Hub,
    tenant: TenantId,
    changed: Option<watch::Receiver<()>>,
}

impl Subscription {
    /// The events are read from now on: what comes later is a change.
    pub(super) fn mark_read(&mut self) {
        if let Some(changed) = &mut self.changed {
            changed.mark_unchanged();
        }
    }

    /// Waits until there are events since [`Subscription::mark_read`].
    pub(super) async fn changed(&mut self) {
        if let Some(changed) = &mut self.changed {
            // the sender lives as long as a subscription
            let _ = changed.changed().await;
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut tenants = self.hub.tenants();
        drop(self.changed.take());
        if tenants.get(&self.tenant).is_some_and(|sender| sender.receiver_count() == 0) {
            tenants.remove(&self.tenant);
        }
    }
}

//! Serves entries that wait although a unit is free. This happens only after a datacenter becomes active
//! again, and after manual changes of the database.

use std::{sync::Arc, time::Duration};

use db::Db;
use service::{Duty, Round, Task};
use tokio::{sync::Notify, time::timeout};

use super::store;
use crate::metrics::StockMetrics;

/// Least time between two rounds.
const PERIOD: Duration = Duration::from_secs(2);
/// The same while no datacenter is changed.
const REST: Duration = Duration::from_secs(30);

/// What the task needs.
#[derive(Clone)]
pub(crate) struct Parts {
    pub(crate) db: Db,
    pub(crate) metrics: StockMetrics,
    pub(crate) datacenter_changed: Arc<Notify>,
    /// Seconds within which an instance leaves a unit that another one has got.
    pub(crate) recall_seconds: u32,
}

/// The task that serves them.
pub(crate) fn task(parts: &Parts) -> Task {
    let rest = |parts: Parts| async move {
        let _ = timeout(REST.min(parts.db.heal()), parts.datacenter_changed.notified()).await;
    };
    Task::paced("queue", Duty::Reconcile, (PERIOD, PERIOD + REST), rest, parts, |parts| async move {
        heal(&parts).await.map(|()| Round::Done)
    })
}

async fn heal(parts: &Parts) -> anyhow::Result<()> {
    let mut tx = parts.db.worker().await?;
    let specs = store::unserved(&mut tx).await?;
    drop(tx);
    parts.metrics.unserved(specs.len());
    for spec in specs {
        let mut tx = parts.db.worker().await?;
        store::lock_for_wait(&mut tx, spec).await?;
        let removed = store::remove_holders(&mut tx, spec).await?;
        let mut grants = store::serve_all(&mut tx, spec).await?;
        grants += store::serve_by_recall(&mut tx, spec, parts.recall_seconds.into()).await?;
        tx.commit().await?;
        if grants > 0 || removed > 0 {
            tracing::info!(gpu_spec.id = %spec, grants, removed, "queue healed");
        }
    }
    Ok(())
}

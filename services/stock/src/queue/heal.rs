//! Serves entries that wait beside a free unit. Only a datacenter that is active again, a replica of an earlier release
//! and a change by hand leave such entries behind.

use std::time::Duration;

use service::{Round, Workers};
use tokio::time::timeout;

use super::store;
use crate::AppState;

/// Least time between two rounds.
const PERIOD: Duration = Duration::from_secs(2);
/// The same while no datacenter is changed.
const REST: Duration = Duration::from_secs(30);

/// Starts the worker `stock.queue.heal`.
pub(crate) fn start(state: &AppState, workers: &Workers) {
    let (changed, state) = (state.clone(), state.clone());
    let rest = move || {
        let state = changed.clone();
        async move {
            let _ = timeout(REST.min(state.db.heal()), state.datacenter_changed.notified()).await;
        }
    };
    workers.spawn_paced("stock.queue.heal", (PERIOD, PERIOD + REST), rest, move || {
        let state = state.clone();
        async move { heal(&state).await.map(|()| Round::Done) }
    });
}

async fn heal(state: &AppState) -> anyhow::Result<()> {
    let mut tx = state.db.worker().await?;
    let specs = store::unserved(&mut tx).await?;
    drop(tx);
    state.metrics.unserved(specs.len());
    for spec in specs {
        let mut tx = state.db.worker().await?;
        store::lock_for_wait(&mut tx, spec).await?;
        let removed = store::remove_holders(&mut tx, spec).await?;
        let mut grants = store::serve_all(&mut tx, spec).await?;
        grants += store::serve_by_recall(&mut tx, spec, state.config.recall_seconds.into()).await?;
        tx.commit().await?;
        if grants > 0 || removed > 0 {
            tracing::info!(gpu_spec.id = %spec, grants, removed, "queue healed");
        }
    }
    Ok(())
}

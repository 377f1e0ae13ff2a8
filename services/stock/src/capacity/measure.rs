//! The worker that counts the units, in one replica at a time.

use service::{Round, Workers};

use super::store;
use crate::{AppState, comparison};

/// Subject under which the rounds are recorded. No cluster can have this name.
const SUBJECT: &str = "the capacity";

/// Starts the worker `stock.capacity`.
pub(crate) fn start(state: &AppState, workers: &Workers) {
    let state = state.clone();
    workers.spawn_periodic("stock.capacity", state.config.measure_every(), move || {
        let state = state.clone();
        async move { round(&state).await.map(|()| Round::Done) }
    });
}

async fn round(state: &AppState) -> anyhow::Result<()> {
    let mut tx = state.db.worker().await?;
    if comparison::store::begin(&mut tx, SUBJECT, state.config.measure_every()).await? {
        store::measure(&mut tx).await?;
        tx.commit().await?;
    }
    Ok(())
}

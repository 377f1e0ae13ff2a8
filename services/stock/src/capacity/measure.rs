//! The worker that records how many units there are, in one replica at a time.

use service::{Round, Workers};

use super::store;
use crate::AppState;

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
    if store::has_changed(&mut tx).await? {
        store::record(&mut tx).await?;
        tx.commit().await?;
    }
    Ok(())
}

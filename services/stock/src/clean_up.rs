//! Periodic work that belongs to no single slice: corrects counts, measures the stock, deletes old records. Every replica
//! runs it.

use std::time::Duration;

use service::{Round, Workers};

use crate::{
    AppState, capacity, claim, comparison, queue,
    repair::{self, Finding, RepairKind},
    stock,
};

/// Subject under which the comparison of the counts is recorded. No cluster can have this name.
const COUNTS: &str = "the counts";
const CLEAN_UP_EVERY: Duration = Duration::from_secs(60);
/// Rows of a table that are deleted in one transaction, at most.
const LIMIT: i64 = 1000;
/// Specifications in datacenters that are measured, at most.
const MEASURED: i64 = 10_000;
/// How long grants are served to followers.
const GRANTS_KEPT: Duration = Duration::from_hours(24);

/// Starts the workers `stock.counts` and `stock.clean_up`.
pub(crate) fn start(state: &AppState, workers: &Workers) {
    let counted = state.clone();
    workers.spawn_periodic("stock.counts", state.config.compare_every(), move || {
        let state = counted.clone();
        async move { correct_counts(&state).await.map(|()| Round::Done) }
    });
    let cleaned = state.clone();
    workers.spawn_periodic("stock.clean_up", CLEAN_UP_EVERY, move || {
        let state = cleaned.clone();
        async move { clean_up(&state).await }
    });
}

/// Corrects the counts of units, in one replica at a time: two would both add the difference.
async fn correct_counts(state: &AppState) -> anyhow::Result<()> {
    let mut tx = state.db.worker().await?;
    if !comparison::store::begin(&mut tx, COUNTS, state.config.compare_every()).await? {
        return Ok(());
    }
    let corrections = stock::store::correct_counts(&mut tx).await?;
    for correction in &corrections {
        let finding = Finding { kind: RepairKind::Counts, unit: None, detail: correction.to_string() };
        repair::store::record(&mut tx, None, &finding).await?;
    }
    tx.commit().await?;
    for correction in &corrections {
        tracing::warn!(%correction, "drift repaired");
        state.metrics.repaired(RepairKind::Counts.as_str());
    }
    Ok(())
}

async fn clean_up(state: &AppState) -> anyhow::Result<Round> {
    let mut tx = state.db.worker().await?;
    let first = stock::store::After { gpu_spec: "", datacenter: "" };
    let hold_back = state.config.interruptible_hold_back.into();
    state.metrics.counted(&stock::store::list(&mut tx, "", None, &first, hold_back, MEASURED).await?);
    let keys = api::idempotency::forget_old(&mut tx, LIMIT).await?;
    let waits = claim::store::forget_waits(&mut tx, LIMIT).await?;
    let recalls = claim::interruptible_store::forget(&mut tx, LIMIT).await?;
    let operations = operations::prune(&mut tx, LIMIT).await?;
    let grants = queue::store::GRANTS.delete_old(&mut tx, GRANTS_KEPT, 1000).await?;
    let counts = capacity::store::forget(&mut tx, LIMIT).await?;
    tx.commit().await?;
    let most = keys.max(waits).max(recalls).max(operations).max(grants).max(counts);
    Ok(Round::of(most, LIMIT.unsigned_abs()))
}

//! Periodic work that belongs to no single slice: corrects counts, measures the stock, deletes old records. Every replica
//! runs it.

use std::{sync::Arc, time::Duration};

use db::{Db, lease};
use service::Round;

use crate::{
    capacity,
    config::StockConfig,
    interruptible,
    metrics::{StockMetrics, UnitCounts},
    queue,
    repair::{self, Finding, RepairKind},
    stock,
};

/// Lease of the comparison of the counts.
const COUNTS: &str = "counts of units";
/// How often old records are deleted.
pub(crate) const PERIOD: Duration = Duration::from_secs(60);
/// Maximum number of rows of a table that are deleted in one transaction.
const LIMIT: i64 = 1000;
/// Maximum number of specifications in datacenters that are measured.
const MEASURED: i64 = 10_000;
/// How long grants are served to followers.
const GRANTS_KEPT: Duration = Duration::from_hours(24);

/// What the tasks need.
#[derive(Clone)]
pub(crate) struct Parts {
    pub(crate) db: Db,
    pub(crate) config: Arc<StockConfig>,
    pub(crate) metrics: StockMetrics,
}

/// Corrects the counts of units, in one replica at a time: two would both add the difference.
pub(crate) async fn correct_counts(parts: Parts) -> anyhow::Result<Round> {
    let mut tx = parts.db.worker().await?;
    if !lease::take_once(&mut tx, COUNTS, parts.config.compare_every()).await? {
        return Ok(Round::Done);
    }
    let corrections = stock::store::correct_counts(&mut tx).await?;
    for correction in &corrections {
        let finding = Finding { kind: RepairKind::Counts, unit: None, detail: correction.to_string() };
        repair::store::record(&mut tx, None, &finding).await?;
    }
    tx.commit().await?;
    for correction in &corrections {
        tracing::warn!(%correction, "drift repaired");
        parts.metrics.repaired(RepairKind::Counts.as_str());
    }
    Ok(Round::Done)
}

/// Measures the stock, and deletes old records.
pub(crate) async fn clean_up(parts: Parts) -> anyhow::Result<Round> {
    let mut tx = parts.db.worker().await?;
    let first = stock::store::After { gpu_spec: "", datacenter: "" };
    let hold_back = parts.config.interruptible_hold_back.into();
    let rows = stock::store::list(&mut tx, "", None, &first, hold_back, MEASURED).await?;
    parts.metrics.counted(rows.iter().map(|row| UnitCounts {
        gpu_spec: &row.gpu_spec.name,
        datacenter: &row.datacenter.name,
        available: row.available,
        inactive: row.inactive,
        used: row.used,
    }));
    let keys = api::idempotency::forget_old(&mut tx, LIMIT).await?;
    let recalls = interruptible::store::forget(&mut tx, LIMIT).await?;
    let operations = operations::prune(&mut tx, LIMIT).await?;
    let grants = queue::store::GRANTS.delete_old(&mut tx, GRANTS_KEPT, 1000).await?;
    let counts = capacity::store::forget(&mut tx, LIMIT).await?;
    tx.commit().await?;
    let most = keys.max(recalls).max(operations).max(grants).max(counts);
    Ok(Round::of(most, LIMIT.unsigned_abs()))
}

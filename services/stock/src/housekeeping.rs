//! What is done from time to time and concerns no single slice: counts that are off are put right, old
//! idempotency keys and forgotten waits are cleared away. Any replica may do it at any time.

use tokio_util::sync::CancellationToken;

use crate::{App, claim, unit::cluster_store};

/// The counts among the comparisons: no cluster is called so.
const COUNTS: &str = "the counts";
/// Rows cleared away in one transaction, at most.
const BATCH: i64 = 1000;

pub(crate) async fn run(app: App, stop: CancellationToken) {
    let every = app.tuning().compare_every();
    loop {
        if let Err(error) = tidy(&app).await {
            tracing::warn!(%error, "housekeeping failed");
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(every) => {}
        }
    }
}

async fn tidy(app: &App) -> sqlx::Result<()> {
    let mut tx = app.db().worker().await?;
    // once, by whichever replica comes first: two that add the same difference put nothing right
    let due =
        cluster_store::begin_comparison(&mut tx, COUNTS, app.tuning().compare_every().as_secs_f64()).await?;
    let off = if due { cluster_store::repair_counts(&mut tx).await? } else { Vec::new() };
    for count in &off {
        let detail = format!(
            "counts of {} in {} were off by {} available, {} inactive, {} used, {} changing",
            count.gpu_spec, count.datacenter, count.available, count.inactive, count.used, count.changing
        );
        cluster_store::record_repair(&mut tx, None, "counts", None, &detail).await?;
        app.counters().repaired("counts");
        tracing::warn!(detail, "drift repaired");
    }
    tx.commit().await?;

    let mut tx = app.db().worker().await?;
    api::idempotency::forget_old(&mut tx, BATCH).await?;
    claim::store::forget_waits(&mut tx, BATCH).await?;
    tx.commit().await
}

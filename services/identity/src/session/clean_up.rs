//! Removes what time has made useless: ended sessions, forgotten failures, old idempotency keys.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::store;
use crate::app::App;

const EVERY: Duration = Duration::from_secs(60);
const AT_ONCE: i64 = 1000;

/// Runs until `end`.
pub(crate) async fn clean_up(app: App, end: CancellationToken) {
    loop {
        tokio::select! {
            () = end.cancelled() => return,
            () = tokio::time::sleep(EVERY) => {}
        }
        match once(&app).await {
            Ok(0) => {}
            Ok(removed) => tracing::info!(removed, "old rows removed"),
            Err(error) => tracing::warn!(%error, "old rows could not be removed"),
        }
    }
}

async fn once(app: &App) -> sqlx::Result<u64> {
    let mut tx = app.db.worker().await?;
    let removed =
        store::remove_old(&mut tx, AT_ONCE).await? + api::idempotency::forget_old(&mut tx, AT_ONCE).await?;
    tx.commit().await?;
    Ok(removed)
}

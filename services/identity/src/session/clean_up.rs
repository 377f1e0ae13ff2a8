//! Removes what time has made useless: ended sessions, forgotten failures, old idempotency keys.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::store;
use crate::app::App;

const EVERY: Duration = Duration::from_secs(60);
/// Rows of a table removed in one transaction, at most: with a session go all the refresh tokens it ever had.
const AT_ONCE: u32 = 200;

/// Runs until `end`.
pub(crate) async fn clean_up(app: App, end: CancellationToken) {
    loop {
        let wait = match once(&app).await {
            Ok(0) => EVERY,
            Ok(removed) => {
                tracing::info!(removed, "old rows removed");
                // what is left after as many may be many more
                if removed >= AT_ONCE.into() { Duration::ZERO } else { EVERY }
            }
            Err(error) => {
                tracing::warn!(%error, "old rows could not be removed");
                EVERY
            }
        };
        tokio::select! {
            biased;
            () = end.cancelled() => return,
            () = tokio::time::sleep(wait) => {}
        }
    }
}

async fn once(app: &App) -> sqlx::Result<u64> {
    let mut tx = app.db.worker().await?;
    let removed = store::remove_old(&mut tx, AT_ONCE.into()).await?
        + api::idempotency::forget_old(&mut tx, AT_ONCE.into()).await?;
    tx.commit().await?;
    Ok(removed)
}

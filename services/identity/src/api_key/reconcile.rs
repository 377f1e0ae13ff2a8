//! The task `identity.api_keys.reconcile`: publishes the end of keys that expire, on time, and deletes those
//! that expired long ago. Every replica runs it; the rows show what is left to do.

use std::time::Duration;

use auth::session_of;
use db::Db;
use jiff::SignedDuration;
use people::{clock::Clock, revocation};
use tokio_util::sync::CancellationToken;

use super::store;

/// Longest pause: a key that is created during it expires later, after at least a minute.
const POLL: Duration = Duration::from_secs(55);
const RETRY: Duration = Duration::from_secs(1);
/// How long an expired key is listed.
const LISTED: SignedDuration = SignedDuration::from_hours(30 * 24);
/// Maximum number of rows changed in one transaction.
const BATCH: i64 = 200;

/// Runs until `shutdown`.
pub(crate) async fn run((db, clock): (Db, Clock), shutdown: CancellationToken) -> anyhow::Result<()> {
    while !shutdown.is_cancelled() {
        let pause = match reconcile(&db, clock).await {
            Ok(pause) => pause,
            Err(error) => {
                tracing::warn!(error = format!("{error:#}"), "cannot publish the end of expired API keys");
                RETRY
            }
        };
        shutdown.run_until_cancelled(tokio::time::sleep(pause)).await;
    }
    Ok(())
}

/// Returns the time until the next key expires.
async fn reconcile(db: &Db, clock: Clock) -> anyhow::Result<Duration> {
    let now = clock.now();
    let mut tx = db.worker().await?;
    for key in store::publish_expiry(&mut tx, now, BATCH).await? {
        revocation::of_session(&mut tx, session_of(key)).await?;
        tracing::info!(api_key.id = %key, "API key expired");
    }
    store::delete_expired(&mut tx, now - LISTED, BATCH).await?;
    let next = store::next_expiry(&mut tx).await?;
    tx.commit().await?;
    let until = next.map(|at| at.duration_since(clock.now()).max(SignedDuration::ZERO));
    Ok(until.and_then(|until| Duration::try_from(until).ok()).map_or(POLL, |until| until.min(POLL)))
}

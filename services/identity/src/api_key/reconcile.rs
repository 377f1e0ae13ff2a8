//! The worker `identity.api_keys`: publishes the end of keys that expire, on time, and deletes those that expired long
//! ago. Every replica runs it; the rows say what is left to do.

use std::time::Duration;

use auth::session_of;
use jiff::SignedDuration;
use tokio_util::sync::CancellationToken;

use super::store;
use crate::{revocation, state::AppState};

/// Longest pause: a key that was created during it expires later, after a minute at the earliest.
const POLL: Duration = Duration::from_secs(55);
const RETRY: Duration = Duration::from_secs(1);
/// How long an expired key is listed.
const LISTED: SignedDuration = SignedDuration::from_hours(30 * 24);
/// Rows changed in one transaction, at most.
const BATCH: i64 = 200;

/// Runs until `shutdown`.
pub(crate) async fn run(state: &AppState, shutdown: &CancellationToken) -> anyhow::Result<()> {
    while !shutdown.is_cancelled() {
        let pause = match reconcile(state).await {
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
async fn reconcile(state: &AppState) -> anyhow::Result<Duration> {
    let now = state.now();
    let mut tx = state.db.worker().await?;
    for key in store::publish_expiry(&mut tx, now, BATCH).await? {
        revocation::of_session(&mut tx, session_of(key)).await?;
        tracing::info!(api_key.id = %key, "API key expired");
    }
    store::delete_expired(&mut tx, now - LISTED, BATCH).await?;
    let next = store::next_expiry(&mut tx).await?;
    tx.commit().await?;
    let until = next.map(|at| at.duration_since(state.now()).max(SignedDuration::ZERO));
    Ok(until.and_then(|until| Duration::try_from(until).ok()).map_or(POLL, |until| until.min(POLL)))
}

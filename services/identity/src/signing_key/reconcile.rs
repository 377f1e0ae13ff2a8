//! The worker `identity.signing_keys`: creates the first, the next and a requested key, deletes ended keys, and loads the keys into
//! this replica's keyring. Every replica runs it; a lock in the database lets one at a time decide.

use std::time::Duration;

use ids::SigningKeyId;
use jiff::Timestamp;
use sqlx::PgConnection;
use tokio_util::sync::CancellationToken;

use super::{
    generate,
    model::{Rules, Stage},
    store,
};
use crate::state::AppState;

const RETRY: Duration = Duration::from_secs(1);

/// Reconciles on every poll and on request, until `shutdown`.
pub(crate) async fn run(state: &AppState, shutdown: &CancellationToken) -> anyhow::Result<()> {
    let poll = state.config.signing.poll();
    while !shutdown.is_cancelled() {
        let pause = match reconcile(state).await {
            Ok(()) => poll,
            Err(error) => {
                tracing::warn!(error = format!("{error:#}"), "cannot reconcile signing keys");
                poll.min(RETRY)
            }
        };
        tokio::select! {
            () = shutdown.cancelled() => {}
            () = state.keyring.reload_requested() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
    Ok(())
}

async fn reconcile(state: &AppState) -> anyhow::Result<()> {
    let rules = Rules::new(&state.config);
    create_due(state, &rules).await?;
    let mut tx = state.db.worker().await?;
    store::lock(&mut tx).await?;
    let keys = store::public(&mut tx).await?;
    for (key, stage) in keys.iter().zip(rules.stages(&active_from(&keys), state.now())) {
        if stage == Stage::Ended {
            store::delete(&mut tx, key.id).await?;
            tracing::info!(key.id = %key.id, "signing key deleted");
        }
    }
    let stored = store::all(&mut tx).await?;
    tx.commit().await?;
    load(state, stored)
}

/// A key to create.
struct Due {
    /// Its id, if an administrator requested it.
    requested: Option<SigningKeyId>,
    active_from: Timestamp,
}

async fn due(tx: &mut PgConnection, rules: &Rules, now: Timestamp) -> sqlx::Result<Option<Due>> {
    let requested = store::requested(tx).await?;
    let keys = store::public(tx).await?;
    let next = rules.next(&active_from(&keys), now, requested.is_some());
    Ok(next.map(|active_from| Due { requested, active_from }))
}

async fn create_due(state: &AppState, rules: &Rules) -> anyhow::Result<()> {
    let mut tx = state.db.worker().await?;
    let due = due(&mut tx, rules, state.now()).await?;
    drop(tx);
    let Some(Due { requested, active_from }) = due else { return Ok(()) };
    // generated before the lock is taken, because it takes long
    let key = generate::generate(state, requested.unwrap_or_else(SigningKeyId::new), active_from).await?;
    let mut tx = state.db.worker().await?;
    store::lock(&mut tx).await?;
    // a key that was requested meanwhile has another id; the next round creates it
    if self::due(&mut tx, rules, state.now()).await?.is_some_and(|due| due.requested == requested) {
        store::insert(&mut tx, &key).await?;
        store::end_request(&mut tx, key.id).await?;
        tracing::info!(key.id = %key.id, active_from = %key.active_from, "signing key created");
    }
    tx.commit().await?;
    Ok(())
}

/// Loads the stored keys into the keyring. A key that cannot be decrypted is left out.
///
/// # Errors
/// Names the last key that cannot be decrypted. The others are in use.
fn load(state: &AppState, stored: Vec<store::StoredKey>) -> anyhow::Result<()> {
    let (mut keys, mut failed) = (Vec::new(), None);
    for key in stored {
        match generate::decrypt(key, &state.cipher) {
            Ok(key) => keys.push(key),
            Err(error) => failed = Some(error),
        }
    }
    state.keyring.replace(keys);
    failed.map_or(Ok(()), Err)
}

fn active_from(keys: &[store::PublicKey]) -> Vec<Timestamp> {
    keys.iter().map(|key| key.active_from).collect()
}

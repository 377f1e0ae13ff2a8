//! The task `identity.signing_keys.reconcile`: creates the first, the next and a requested key, deletes ended
//! keys, and loads the keys into this replica's keyring. Every replica runs it; a lock in the database
//! serializes their decisions.

use std::{sync::Arc, time::Duration};

use ids::SigningKeyId;
use jiff::Timestamp;
use sqlx::PgConnection;
use tokio_util::sync::CancellationToken;

use super::{
    SigningKeys, generate,
    model::{Rules, Stage},
    store,
};

const RETRY: Duration = Duration::from_secs(1);

/// Reconciles on every poll and on request, until `shutdown`.
pub(crate) async fn run(keys: SigningKeys, shutdown: CancellationToken) -> anyhow::Result<()> {
    let poll = keys.poll;
    while !shutdown.is_cancelled() {
        let pause = match reconcile(&keys).await {
            Ok(()) => poll,
            Err(error) => {
                tracing::warn!(error = format!("{error:#}"), "cannot reconcile signing keys");
                poll.min(RETRY)
            }
        };
        tokio::select! {
            () = shutdown.cancelled() => {}
            () = keys.keyring.reload_requested() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
    Ok(())
}

async fn reconcile(keys: &SigningKeys) -> anyhow::Result<()> {
    create_due(keys).await?;
    let mut tx = keys.db.worker().await?;
    store::lock(&mut tx).await?;
    let public = store::public(&mut tx).await?;
    for (key, stage) in public.iter().zip(keys.rules.stages(&active_from(&public), keys.clock.now())) {
        if stage == Stage::Ended {
            store::delete(&mut tx, key.id).await?;
            tracing::info!(key.id = %key.id, "signing key deleted");
        }
    }
    let stored = store::all(&mut tx).await?;
    tx.commit().await?;
    load(keys, stored)
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

async fn create_due(keys: &SigningKeys) -> anyhow::Result<()> {
    let mut tx = keys.db.worker().await?;
    let due = due(&mut tx, &keys.rules, keys.clock.now()).await?;
    drop(tx);
    let Some(Due { requested, active_from }) = due else { return Ok(()) };
    // generated before the lock is taken, because it takes long
    let key = generate::generate(
        Arc::clone(&keys.cipher),
        requested.unwrap_or_else(SigningKeyId::new),
        active_from,
    )
    .await?;
    let mut tx = keys.db.worker().await?;
    store::lock(&mut tx).await?;
    // a key requested meanwhile has another id; the next round creates it
    if self::due(&mut tx, &keys.rules, keys.clock.now()).await?.is_some_and(|due| due.requested == requested)
    {
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
fn load(keys: &SigningKeys, stored: Vec<store::StoredKey>) -> anyhow::Result<()> {
    let (mut loaded, mut failed) = (Vec::new(), None);
    for key in stored {
        match generate::decrypt(key, &keys.cipher) {
            Ok(key) => loaded.push(key),
            Err(error) => failed = Some(error),
        }
    }
    keys.keyring.replace(loaded);
    failed.map_or(Ok(()), Err)
}

fn active_from(keys: &[store::PublicKey]) -> Vec<Timestamp> {
    keys.iter().map(|key| key.active_from).collect()
}

//! Deletes ended sessions, old sign-in failures, networks that are no longer known, expired challenges for passkeys, and old
//! idempotency keys.

use db::Db;
use people::{clock::Clock, session, throttle};
use service::Round;
use sign_in::passkey;

/// Maximum number of rows of one table deleted in one transaction. All refresh tokens of a session are deleted with it.
const BATCH: u32 = 200;

pub(crate) async fn clean_up((db, clock): (Db, Clock)) -> anyhow::Result<Round> {
    let mut tx = db.worker().await?;
    let deleted = session::delete_old(&mut tx, BATCH.into()).await?
        + throttle::delete_old(&mut tx, clock.now(), BATCH.into()).await?
        + passkey::delete_expired(&mut tx, clock.now(), BATCH.into()).await?
        + api::idempotency::forget_old(&mut tx, BATCH.into()).await?
        + operations::prune(&mut tx, BATCH.into()).await?;
    tx.commit().await?;
    if deleted > 0 {
        tracing::info!(deleted, "old rows deleted");
    }
    Ok(Round::of(deleted, BATCH.into()))
}

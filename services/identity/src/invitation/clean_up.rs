//! Deletes expired invitations.

use db::Db;
use people::clock::Clock;
use service::Round;

use super::store;

/// Maximum number of rows deleted in one transaction.
const BATCH: u32 = 1000;

pub(crate) async fn clean_up((db, clock): (Db, Clock)) -> anyhow::Result<Round> {
    let mut tx = db.worker().await?;
    let deleted = store::delete_expired(&mut tx, clock.now(), BATCH.into()).await?;
    tx.commit().await?;
    Ok(Round::of(deleted, BATCH.into()))
}

//! Deletes expired invitations.

use service::Round;

use super::store;
use crate::state::AppState;

/// Rows deleted in one transaction, at most.
const BATCH: u32 = 1000;

/// One round of the worker `identity.invitations.clean_up`.
pub(crate) async fn clean_up(state: &AppState) -> anyhow::Result<Round> {
    let mut tx = state.db.worker().await?;
    let deleted = store::delete_expired(&mut tx, state.now(), BATCH.into()).await?;
    tx.commit().await?;
    Ok(Round::of(deleted, BATCH.into()))
}

//! Deletes ended sessions, old sign-in failures, networks that are no longer known, expired challenges for passkeys, and old
//! idempotency keys.

use service::Round;

use super::{attempt::KNOWN_FOR, store};
use crate::{passkey, state::AppState};

/// Rows of one table deleted in one transaction, at most. All refresh tokens of a session are deleted with it.
const BATCH: u32 = 200;

/// One round of the worker `identity.clean_up`.
pub(crate) async fn clean_up(state: &AppState) -> anyhow::Result<Round> {
    let mut tx = state.db.worker().await?;
    let deleted = store::delete_old(&mut tx, state.now() - KNOWN_FOR, BATCH.into()).await?
        + passkey::delete_expired(state, &mut tx, BATCH.into()).await?
        + api::idempotency::forget_old(&mut tx, BATCH.into()).await?
        + operations::prune(&mut tx, BATCH.into()).await?;
    tx.commit().await?;
    if deleted > 0 {
        tracing::info!(deleted, "old rows deleted");
    }
    Ok(Round::of(deleted, BATCH.into()))
}

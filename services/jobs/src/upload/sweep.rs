//! Deletes uploads that are due.

use service::Round;

use super::store::{self, folder};
use crate::{artifact, state::AppState};

/// Uploads deleted in one round.
const BATCH: u32 = 50;

/// Deletes what is due. One that cannot be deleted now is tried in the next round, after the others.
pub(crate) async fn round(state: &AppState) -> anyhow::Result<Round> {
    let mut tx = state.db.worker().await?;
    let due = store::due(&mut tx, BATCH.into()).await?;
    tx.commit().await?;
    let mut deleted = 0;
    for upload in &due {
        match artifact::delete_folder(state, upload.storage, upload.tenant, &folder(upload.id)).await {
            Ok(true) => {
                let mut tx = state.db.worker().await?;
                store::delete(&mut tx, upload.id).await?;
                tx.commit().await?;
                deleted += 1;
            }
            Ok(false) => {}
            Err(error) => {
                tracing::warn!(upload.id = %upload.id, error = format!("{error:#}"), "cannot delete an upload yet");
            }
        }
    }
    Ok(Round::of(deleted, BATCH.into()))
}

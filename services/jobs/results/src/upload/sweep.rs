//! Deletes uploads that are due.

use service::Round;

use super::store::{self, folder};
use crate::artifact;

/// Uploads deleted in one round.
const BATCH: u32 = 50;

/// Deletes due objects. One that cannot be deleted now is tried in the next round, after the others.
pub async fn round(parts: &artifact::Parts) -> anyhow::Result<Round> {
    let mut tx = parts.db.worker().await?;
    let due = store::due(&mut tx, BATCH.into()).await?;
    tx.commit().await?;
    let mut deleted = 0;
    for upload in &due {
        match artifact::delete_folder(parts, upload.storage, upload.tenant, &folder(upload.id)).await {
            Ok(true) => {
                let mut tx = parts.db.worker().await?;
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

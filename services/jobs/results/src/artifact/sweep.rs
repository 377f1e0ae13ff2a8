//! Deletes objects of attempts that do not count and of deleted jobs, and staged files of ended attempts.

use anyhow::Context as _;
use ids::{StorageId, TenantId};
use service::Round;

use super::{Parts, model::folder, store};

/// Outputs deleted in one round.
const BATCH: u32 = 50;
/// Calls for one output in a round; each deletes up to 1,000 objects.
const CALLS: usize = 5;
/// Delay after a failure: one tenant's bucket must not hold up the others.
const RETRY_SECONDS: i32 = 600;

/// Deletes outputs that are due.
pub async fn round(parts: &Parts) -> anyhow::Result<Round> {
    let mut tx = parts.db.worker().await?;
    let due = store::due(&mut tx, BATCH.into()).await?;
    drop(tx);
    for output in &due {
        let folder = folder(output.job, output.attempt);
        let deleted = match delete_staged(parts, output.storage, output.tenant, &folder).await {
            Ok(true) => delete(parts, output.storage, output.tenant, &folder).await,
            unfinished => unfinished,
        };
        let mut tx = parts.db.worker().await?;
        match deleted {
            Ok(true) => store::delete_output(&mut tx, output).await?,
            Ok(false) => store::postpone(&mut tx, output, 0).await?,
            Err(error) => {
                tracing::warn!(job.id = %output.job, output.attempt, error = format!("{error:#}"),
                    "cannot delete outputs yet");
                store::postpone(&mut tx, output, RETRY_SECONDS).await?;
            }
        }
        tx.commit().await?;
    }
    let mut tx = parts.db.worker().await?;
    let staged = store::due_staged(&mut tx, BATCH.into()).await?;
    drop(tx);
    for output in &staged {
        let folder = folder(output.job, output.attempt);
        let again_seconds = match delete_staged(parts, output.storage, output.tenant, &folder).await {
            Ok(is_done) => (!is_done).then_some(0),
            Err(error) => {
                tracing::warn!(job.id = %output.job, output.attempt, error = format!("{error:#}"),
                    "cannot delete staged results yet");
                Some(RETRY_SECONDS)
            }
        };
        let mut tx = parts.db.worker().await?;
        store::set_staged(&mut tx, output, again_seconds).await?;
        tx.commit().await?;
    }
    Ok(Round::of(due.len().max(staged.len()) as u64, BATCH.into()))
}

/// Deletes files staged for a tenant's bucket with the prefix `folder`. Returns whether none is left.
async fn delete_staged(
    parts: &Parts,
    storage: StorageId,
    tenant: TenantId,
    folder: &str,
) -> anyhow::Result<bool> {
    for _ in 0..CALLS {
        if parts.storage.delete_staged(storage, tenant, folder).await.context("storage")?.done {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Deletes objects of a tenant's bucket whose names begin with `folder`. Returns whether none is left.
pub async fn delete(
    parts: &Parts,
    storage: StorageId,
    tenant: TenantId,
    folder: &str,
) -> anyhow::Result<bool> {
    for _ in 0..CALLS {
        match parts.storage.delete_objects(storage, tenant, folder).await {
            // the objects are gone with the bucket
            Err(error) if error.is_not_found() => return Ok(true),
            deletion => {
                if deletion.context("storage")?.done {
                    return Ok(true);
                }
            }
        }
    }
    Ok(false)
}

//! Asks the storage service for the downloads of deployments that are not finished, until it has a final
//! answer. Each call contains the whole desired state, so that any replica can repeat it.

use std::time::Duration;

use api::{ErrorChain, ProblemType};
use peer::Error;
use service::Round;
use storage_api::{DownloadRequest, DownloadState};

use super::{
    model::{DeploymentReason, DeploymentState},
    store::{self, Due},
};
use crate::artifact;

/// Deployments in one round.
const BATCH: u64 = 50;
/// How long a replica has a deployment to itself: longer than a call takes.
const CALL: Duration = Duration::from_secs(15);

/// Handles the deployments that are due.
pub async fn round(parts: &artifact::Parts) -> anyhow::Result<Round> {
    for done in 0..BATCH {
        let mut tx = parts.db.worker().await?;
        let Some(due) = store::take_due(&mut tx, CALL).await? else { return Ok(Round::of(done, BATCH)) };
        tx.commit().await?;
        match due.state {
            DeploymentState::Deleting => forget(parts, &due).await?,
            _ => carry_out(parts, &due).await?,
        }
    }
    Ok(Round::of(BATCH, BATCH))
}

async fn forget(parts: &artifact::Parts, due: &Due) -> anyhow::Result<()> {
    match parts.storage.delete_download(due.storage, due.id, due.tenant).await {
        Err(error) if !error.is_not_found() => {
            tracing::warn!(deployment.id = %due.id, error = %ErrorChain(&error), "cannot delete a download yet");
            Ok(())
        }
        _ => {
            let mut tx = parts.db.worker().await?;
            store::delete_row(&mut tx, due.id).await?;
            Ok(tx.commit().await?)
        }
    }
}

async fn carry_out(parts: &artifact::Parts, due: &Due) -> anyhow::Result<()> {
    let mut tx = parts.db.worker().await?;
    let Some(file) = &due.file else {
        store::fail(&mut tx, due.id, DeploymentReason::ModelGone, "The model was deleted.").await?;
        return Ok(tx.commit().await?);
    };
    drop(tx);
    let request = DownloadRequest {
        tenant_id: due.tenant,
        bucket_id: file.bucket,
        object: artifact::object(file.job, file.attempt, &file.name),
        path: due.path.clone(),
        bytes: file.bytes,
        sha256: file.sha256.clone(),
    };
    let answer = parts.storage.put_download(due.storage, due.id, &request).await;
    let mut tx = parts.db.worker().await?;
    match answer {
        Ok(download) => {
            let reason = download.reason.map(DeploymentReason::from);
            let message = download.message.as_deref();
            match download.state {
                DownloadState::Done => store::finish(&mut tx, due.id).await?,
                DownloadState::Failed => {
                    let reason = reason.unwrap_or(DeploymentReason::DownloadFailed);
                    store::fail(&mut tx, due.id, reason, message.unwrap_or_default()).await?;
                }
                DownloadState::Pending | DownloadState::Removing => {
                    let reason = reason.unwrap_or(DeploymentReason::Preparing);
                    store::wait(&mut tx, due.id, reason, message).await?;
                }
            }
        }
        Err(error) if error.problem(ProblemType::TenantSuspended).is_some() => {
            store::wait(&mut tx, due.id, DeploymentReason::TenantSuspended, None).await?;
        }
        Err(error) if is_gone(&error) => {
            store::fail(&mut tx, due.id, DeploymentReason::VolumeGone, "The volume was deleted, or is lost.")
                .await?;
        }
        Err(error) => {
            tracing::warn!(deployment.id = %due.id, error = %ErrorChain(&error), "cannot ask for a download yet");
            store::wait(&mut tx, due.id, DeploymentReason::Preparing, None).await?;
        }
    }
    Ok(tx.commit().await?)
}

/// Whether the volume cannot be written any more.
fn is_gone(error: &Error) -> bool {
    error.is_not_found()
        || error.problem(ProblemType::StorageDeleting).is_some()
        || error.problem(ProblemType::StorageNotAvailable).is_some()
}

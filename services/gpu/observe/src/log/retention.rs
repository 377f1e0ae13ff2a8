//! Deletes kept logs: lines that are too old or too many, and those of deleted instances. The object goes first, so that
//! the index names each object until it is gone.

use std::{sync::Arc, time::Duration};

use ids::{InstanceId, TenantId};
use service::{Duty, Round, Task};

use super::{
    Archive,
    collect::CollectError,
    store::{self, OldChunk, Orphaned},
};

/// Time between two rounds.
const PERIOD: Duration = Duration::from_secs(300);
/// Chunks, or instances, deleted in one round.
const DELETED: i64 = 500;

/// The task that does it.
pub(super) fn task(archive: &Arc<Archive>) -> Task {
    Task::every("logs", Duty::Retention, PERIOD, archive, |archive| async move { archive.clean_up().await })
}

impl Archive {
    async fn clean_up(&self) -> anyhow::Result<Round> {
        self.objects.create_bucket().await?;
        let seconds = f64::from(self.config.days.max(1)) * 86_400.0;
        let mut tx = self.db.worker().await?;
        let expired = store::expired(&mut tx, seconds, DELETED).await?;
        let deleted = store::of_deleted_instances(&mut tx, DELETED).await?;
        tx.commit().await?;
        self.delete(&expired).await?;
        self.delete_logs(&deleted).await?;
        let most = expired.len().max(deleted.len());
        Ok(Round::of(u64::try_from(most).unwrap_or(0), DELETED.unsigned_abs()))
    }

    /// Deletes the logs of up to `most` deleted instances of a tenant.
    pub async fn delete_of_tenant(&self, tenant: TenantId, most: i64) -> anyhow::Result<()> {
        let mut tx = self.db.worker().await?;
        let deleted = store::of_tenant(&mut tx, tenant, most).await?;
        drop(tx);
        self.delete_logs(&deleted).await
    }

    async fn delete_logs(&self, deleted: &[Orphaned]) -> anyhow::Result<()> {
        for log in deleted {
            while !self.objects.delete_instance(log.tenant_id, log.instance_id).await? {}
            let mut tx = self.db.worker().await?;
            store::delete_logs(&mut tx, log.instance_id).await?;
            tx.commit().await?;
        }
        Ok(())
    }

    /// Deletes the oldest chunks of an instance that has more bytes than are kept.
    pub(super) async fn trim(&self, instance: InstanceId) -> Result<(), CollectError> {
        let bytes = i64::try_from(self.config.bytes_per_instance).unwrap_or(i64::MAX);
        let mut tx = self.db.worker().await?;
        let excess = store::excess(&mut tx, instance, bytes, DELETED).await?;
        tx.commit().await?;
        self.delete(&excess).await
    }

    async fn delete(&self, chunks: &[OldChunk]) -> Result<(), CollectError> {
        for chunk in chunks {
            self.objects.delete(&chunk.object_key).await?;
            let mut tx = self.db.worker().await?;
            store::delete_chunk(&mut tx, chunk).await?;
            tx.commit().await?;
        }
        Ok(())
    }
}

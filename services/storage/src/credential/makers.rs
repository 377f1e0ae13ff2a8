//! Access keys end with their makers. libs/auth finds the makers that have lost their rights.

use anyhow::Context as _;
use api::audit;
use auth::{EndedMaker, Made, MadeBy, Whom};
use axum::http::StatusCode;
use db::Db;
use ids::StorageId;

use super::store;
use crate::{NAME, storage::QUEUE};

/// The access keys of all tenants.
#[derive(Clone)]
pub(crate) struct Makers(pub(crate) Db);

impl Made for Makers {
    async fn makers(&self, whom: &Whom) -> anyhow::Result<Vec<MadeBy>> {
        let mut tx = self.0.worker().await?;
        Ok(store::makers(&mut tx, whom).await?)
    }

    /// Marks the keys; the reconciler removes them from the object store.
    async fn end(&self, ended: &EndedMaker) -> anyhow::Result<()> {
        let tenant = ended.maker.tenant_id.context("nothing here belongs to a user")?;
        let mut tx = self.0.worker().await?;
        let keys = store::end(&mut tx, ended).await?;
        let storages: Vec<StorageId> = keys.iter().map(|(storage, _)| *storage).collect();
        QUEUE.enqueue(&mut tx, &storages).await?;
        for (storage, access) in &keys {
            let path = format!("/v1/storages/{storage}/credentials/{access}");
            let request = audit::Request::of_service(NAME, "end_storage_credential", path);
            request.record_for(&mut tx, tenant, StatusCode::NO_CONTENT, &()).await?;
        }
        tx.commit().await?;
        tracing::info!(
            tenant.id = %tenant, user.id = %ended.maker.user_id, credentials = keys.len(),
            "ended with the rights of their maker"
        );
        Ok(())
    }
}

//! What ends with its maker: credentials for the message broker, and webhooks. libs/auth finds the makers
//! that have lost their rights.

mod store;

use std::sync::Arc;

use anyhow::Context as _;
use api::audit;
use auth::{EndedMaker, Made, MadeBy, Whom};
use axum::http::StatusCode;
use db::Db;
use ids::TenantId;
use mq::BrokerState;
use records::NAME;
use sqlx::PgConnection;

/// Credentials and webhooks of all tenants.
#[derive(Clone)]
pub(crate) struct Makers {
    pub(crate) db: Db,
    pub(crate) broker: Arc<BrokerState>,
}

impl Made for Makers {
    async fn makers(&self, whom: &Whom) -> anyhow::Result<Vec<MadeBy>> {
        let mut tx = self.db.worker().await?;
        Ok(store::makers(&mut tx, whom).await?)
    }

    async fn end(&self, ended: &EndedMaker) -> anyhow::Result<()> {
        let tenant = ended.maker.tenant_id.context("nothing here belongs to a user")?;
        let mut tx = self.db.worker().await?;
        let credentials = mq::end_credentials(&mut tx, ended).await?;
        let webhooks = webhook::end(&mut tx, ended).await?;
        for id in &credentials {
            record(&mut tx, tenant, "end_mq_credential", format!("/v1/mq-credentials/{id}")).await?;
        }
        for id in &webhooks {
            record(&mut tx, tenant, "end_webhook", format!("/v1/webhooks/{id}")).await?;
        }
        tx.commit().await?;
        self.broker.credentials_ended();
        let (credentials, webhooks) = (credentials.len(), webhooks.len());
        tracing::info!(
            tenant.id = %tenant, user.id = %ended.maker.user_id, credentials, webhooks,
            "ended with the rights of their maker"
        );
        Ok(())
    }
}

async fn record(conn: &mut PgConnection, tenant: TenantId, action: &str, path: String) -> sqlx::Result<()> {
    let request = audit::Request::of_service(NAME, action, path);
    request.record_for(conn, tenant, StatusCode::NO_CONTENT, &()).await
}

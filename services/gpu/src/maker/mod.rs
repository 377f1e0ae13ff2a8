//! What ends with its maker: SSH keys and share links of instances, registry credentials, and a user's SSH
//! keys that were added with an API key. A key that a user has added in person belongs to the user, like a
//! password. libs/auth finds the makers that have lost their rights.

mod store;

use api::audit;
use auth::{EndedMaker, Made, MadeBy, Whom};
use axum::http::StatusCode;
use db::Db;
use instances::NAME;

use orders::registry_credential;

/// Keys and links of all tenants.
#[derive(Clone)]
pub(crate) struct Makers(pub(crate) Db);

impl Made for Makers {
    async fn makers(&self, whom: &Whom) -> anyhow::Result<Vec<MadeBy>> {
        let mut tx = self.0.worker().await?;
        Ok(store::makers(&mut tx, whom).await?)
    }

    async fn end(&self, ended: &EndedMaker) -> anyhow::Result<()> {
        let mut tx = self.0.worker().await?;
        let Some(tenant) = ended.maker.tenant_id else {
            store::end_user_keys(&mut tx, ended).await?;
            return Ok(tx.commit().await?);
        };
        let keys = store::end_instance_keys(&mut tx, ended).await?;
        let links = store::end_share_links(&mut tx, ended).await?;
        let credentials = registry_credential::end_credentials(&mut tx, tenant, ended).await?;
        let keys = keys.iter().map(|(instance, key)| {
            ("end_instance_ssh_key", format!("/v1/instances/{instance}/ssh-keys/{key}"))
        });
        let links = links.iter().map(|(instance, link)| {
            ("end_share_link", format!("/v1/instances/{instance}/share-links/{link}"))
        });
        let credentials = credentials
            .iter()
            .map(|id| ("end_registry_credential", format!("/v1/registry-credentials/{id}")));
        for (action, path) in keys.chain(links).chain(credentials) {
            let request = audit::Request::of_service(NAME, action, path);
            request.record_for(&mut tx, tenant, StatusCode::NO_CONTENT, &()).await?;
        }
        tx.commit().await?;
        tracing::info!(
            tenant.id = %tenant, user.id = %ended.maker.user_id,
            "ended keys, links and credentials with the rights of their maker"
        );
        Ok(())
    }
}

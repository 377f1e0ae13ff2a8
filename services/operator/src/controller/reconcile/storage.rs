//! Storages.

use plans::storage::{self, Downloads};
use plans::tenant::Owner;

use super::Reconciler;
use crate::controller::apply::WriteError;

impl Reconciler {
    /// Writes the next step for a storage.
    pub(super) async fn reconcile_storage(&self, name: &str) -> Result<(), WriteError> {
        let Some((storage, claim)) = self.applier.cache.storage(name) else { return Ok(()) };
        let cache = &self.applier.cache;
        let downloads = Downloads { pods: cache.downloads(name), node: cache.node_of_storage(name) };
        let plan =
            storage::plan(&storage, claim.as_ref(), &downloads, &self.applier.settings, (self.clock)());
        for action in &plan.actions {
            match action {
                storage::Action::AddFinalizer => {
                    self.applier.storage_finalizer(&storage, true).await?;
                    return Err(WriteError::Conflict);
                }
                storage::Action::RemoveFinalizer => {
                    return self.applier.storage_finalizer(&storage, false).await;
                }
                storage::Action::EnsureNamespace(namespace) => {
                    self.applier.ensure_namespace(Owner::Tenant(namespace), false).await?;
                }
                storage::Action::ApplyClaim(body) => {
                    self.applier.apply_volume_claim(&storage.spec.tenant_id, name, body).await?;
                }
                storage::Action::DeleteClaim { namespace, name } => {
                    self.applier.delete_volume_claim(namespace, name).await?;
                }
                storage::Action::CreatePod(pod) => self.applier.create_download(pod).await?,
                storage::Action::DeletePod(pod) => self.applier.delete_pod(pod, None).await?,
            }
        }
        if storage.status.as_ref() != Some(&plan.status) {
            self.applier.storage_status(&storage, &plan.status).await?;
        }
        Ok(())
    }
}

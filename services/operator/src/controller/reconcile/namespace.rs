//! Namespaces of instances.

use plans::tenant::Owner;

use super::Reconciler;
use crate::controller::apply::WriteError;

impl Reconciler {
    /// Restores objects that others have deleted or changed in the namespace of a unit, or of a tenant that needs it.
    pub(super) async fn repair_namespace(&self, namespace: &str) -> Result<(), WriteError> {
        let cache = &self.applier.cache;
        if cache.applied(namespace).is_empty() {
            return Ok(());
        }
        if let Some(unit) = cache.unit_of_namespace(namespace) {
            return match unit.metadata.deletion_timestamp {
                Some(_) => Ok(()),
                None => self.applier.repair_namespace(Owner::Unit(&unit)).await,
            };
        }
        if cache.is_tenant_in_use(namespace) {
            self.applier.repair_namespace(Owner::Tenant(namespace)).await?;
        }
        Ok(())
    }
}

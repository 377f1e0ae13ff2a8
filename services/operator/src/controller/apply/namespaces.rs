//! Namespaces of instances and the objects in them.

use futures::future::try_join_all;
use k8s_openapi::api::core::v1::{Namespace, ResourceQuota, ServiceAccount};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::Api;
use kube::api::Patch;
use plans::tenant::{self, Object, Owner};

use super::super::watch::applied;
use super::{Applier, WriteError, apply_params};

impl Applier {
    /// Applies the prerequisites of pods if they are missing or differ: the namespace and the service account.
    pub(super) async fn create_namespace(
        &self,
        owner: Owner<'_>,
        root_inside: bool,
    ) -> Result<(), WriteError> {
        let outdated = self.outdated(owner, root_inside, false);
        let needed =
            outdated.into_iter().filter(|object| is_namespace(object) || object.kind == "ServiceAccount");
        self.apply_all(owner, needed.collect()).await
    }

    /// Applies the namespace and the objects in it that are missing or differ.
    pub(crate) async fn ensure_namespace(
        &self,
        owner: Owner<'_>,
        root_inside: bool,
    ) -> Result<(), WriteError> {
        self.apply_all(owner, self.outdated(owner, root_inside, false)).await
    }

    /// Restores objects that others have deleted or changed.
    pub(crate) async fn repair_namespace(&self, owner: Owner<'_>) -> Result<(), WriteError> {
        self.apply_all(owner, self.outdated(owner, false, true)).await
    }

    /// The objects of a namespace that are missing or differ. With `repair`, also those that others have changed.
    fn outdated(&self, owner: Owner<'_>, root_inside: bool, repair: bool) -> Vec<Object> {
        let namespace = owner.namespace();
        let known = self.cache.applied(&namespace);
        let allowed = known.get(&format!("Namespace/{namespace}")).is_some_and(|found| found.root_inside);
        // a tenant's instances share its namespace; a unit's namespace has one instance at a time
        let shared = matches!(owner, Owner::Tenant(_));
        let root_inside = root_inside || (allowed && (shared || repair));
        let mut objects = tenant::objects(owner, root_inside, &self.settings);
        objects.retain(|object| {
            let found = known.get(&object.key());
            found.is_none_or(|found| found.hash != object.hash || (repair && found.tampered))
        });
        objects
    }

    async fn apply_all(&self, owner: Owner<'_>, objects: Vec<Object>) -> Result<(), WriteError> {
        let namespace = owner.namespace();
        let namespace = namespace.as_str();
        // the others need the namespace, and not each other
        let (first, rest): (Vec<_>, Vec<_>) = objects.iter().partition(|object| is_namespace(object));
        for object in first {
            self.apply_to_namespace(namespace, object).await?;
        }
        try_join_all(rest.into_iter().map(|object| self.apply_to_namespace(namespace, object))).await?;
        Ok(())
    }

    async fn apply_to_namespace(&self, namespace: &str, object: &Object) -> Result<(), WriteError> {
        let (client, params) = (self.client.clone(), apply_params());
        let patch = Patch::Apply(&object.body);
        let name = object.name.as_str();
        let stored = match object.kind {
            "Namespace" => {
                let api: Api<Namespace> = Api::all(client);
                let stored = self.write("tenant", name, api.patch(name, &params, &patch)).await?;
                // it is terminating: nothing can be created in it
                if stored.metadata.deletion_timestamp.is_some() {
                    return Err(WriteError::Conflict);
                }
                applied(&stored)
            }
            "ServiceAccount" => {
                let api: Api<ServiceAccount> = Api::namespaced(client, namespace);
                applied(&self.write("tenant", name, api.patch(name, &params, &patch)).await?)
            }
            "NetworkPolicy" => {
                let api: Api<NetworkPolicy> = Api::namespaced(client, namespace);
                applied(&self.write("tenant", name, api.patch(name, &params, &patch)).await?)
            }
            _ => {
                let api: Api<ResourceQuota> = Api::namespaced(client, namespace);
                applied(&self.write("tenant", name, api.patch(name, &params, &patch)).await?)
            }
        };
        self.cache.put_applied(namespace, &object.key(), Some(stored), true);
        Ok(())
    }

    /// Drops the namespace from the cache: it does not exist.
    pub(super) fn forget_namespace(&self, name: &str) {
        self.cache.put_applied(name, &format!("Namespace/{name}"), None, false);
    }
}

fn is_namespace(object: &Object) -> bool {
    object.kind == "Namespace"
}

//! The objects that the operator has applied to namespaces.

use std::collections::BTreeMap;
use std::sync::Arc;

use crds::GpuUnit;
use plans::unit::devices;

use super::{Cache, Key, is_known};

/// An applied object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Applied {
    /// Hash of the applied object.
    pub(crate) hash: String,
    /// Hash of the stored object in the cluster, without the status.
    pub(crate) content: String,
    /// Resource version.
    pub(crate) version: String,
    /// Somebody else has changed it since.
    pub(crate) tampered: bool,
    /// Whether root inside containers is allowed (namespaces).
    pub(crate) root_inside: bool,
}

impl Cache {
    /// Puts an applied object from a watch (`None` if it was deleted), or with `own` from the response to this process's
    /// own write.
    pub(crate) fn put_applied(
        &self,
        namespace: &str,
        object: &str,
        seen: Option<Applied>,
        own: bool,
    ) -> Vec<Key> {
        let mut inner = self.write();
        let objects = inner.applied.entry(namespace.to_owned()).or_default();
        let known = objects.get(object).cloned();
        let Some(mut seen) = seen else {
            let was = objects.remove(object).is_some();
            if objects.is_empty() {
                inner.applied.remove(namespace);
            }
            return if was { vec![Key::Namespace(namespace.to_owned())] } else { Vec::new() };
        };
        if let Some(known) = known.filter(|_| !own) {
            if is_known(Some(&known.version), Some(&seen.version)) {
                return Vec::new();
            }
            seen.tampered = known.tampered || known.content != seen.content;
        }
        let tampered = seen.tampered;
        objects.insert(object.to_owned(), seen);
        if tampered { vec![Key::Namespace(namespace.to_owned())] } else { Vec::new() }
    }

    /// The applied objects of a namespace, by `kind/name`.
    pub(crate) fn applied(&self, namespace: &str) -> BTreeMap<String, Applied> {
        self.read().applied.get(namespace).cloned().unwrap_or_default()
    }

    pub(crate) fn applied_names(&self, kind: &str) -> Vec<(String, String)> {
        let inner = self.read();
        let all = inner
            .applied
            .iter()
            .flat_map(|(namespace, objects)| objects.keys().map(move |object| (namespace, object)));
        all.filter(|(_, object)| object.starts_with(kind))
            .map(|(namespace, object)| (namespace.clone(), object.clone()))
            .collect()
    }

    /// The unit that the namespace belongs to.
    pub(crate) fn unit_of_namespace(&self, namespace: &str) -> Option<Arc<GpuUnit>> {
        self.unit(namespace).filter(|unit| devices::namespace(unit).is_some())
    }

    /// Whether a unit or storage needs the tenant's namespace.
    pub(crate) fn is_tenant_in_use(&self, namespace: &str) -> bool {
        let inner = self.read();
        let by_storage = inner.storages.values().any(|storage| storage.spec.tenant_id == namespace);
        let of_tenant = |unit: &Arc<GpuUnit>| {
            unit.spec.instance.as_ref().is_some_and(|instance| instance.tenant_id == namespace)
        };
        by_storage || inner.slots.values().any(|slot| slot.unit.as_ref().is_some_and(of_tenant))
    }
}

//! Storages and their volume claims.

use std::sync::Arc;

use crds::{GpuStorage, GpuUnit};
use kube::ResourceExt as _;
use plans::observation::ObservedVolumeClaim;

use super::{Cache, Inner, Key, is_known};

impl Cache {
    pub(crate) fn put_storage(&self, mut storage: GpuStorage) -> Vec<Key> {
        storage.metadata.managed_fields = None;
        let name = storage.name_any();
        let mut inner = self.write();
        if let Some(known) = inner.storages.get(&name)
            && known.uid() == storage.uid()
            && is_known(known.resource_version().as_deref(), storage.resource_version().as_deref())
        {
            return Vec::new();
        }
        inner.storages.insert(name.clone(), Arc::new(storage));
        Self::keys_of_storage(&inner, &name)
    }

    pub(crate) fn drop_storage(&self, name: &str) -> Vec<Key> {
        let mut inner = self.write();
        inner.storages.remove(name);
        Self::keys_of_storage(&inner, name)
    }

    pub(crate) fn put_volume_claim(&self, name: &str, observed: Option<ObservedVolumeClaim>) -> Vec<Key> {
        let mut inner = self.write();
        match observed {
            Some(observed) => inner.volume_claims.insert(name.to_owned(), observed),
            None => inner.volume_claims.remove(name),
        };
        Self::keys_of_storage(&inner, name)
    }

    pub(crate) fn storage_names(&self) -> Vec<String> {
        self.read().storages.keys().cloned().collect()
    }

    pub(crate) fn volume_claim_names(&self) -> Vec<String> {
        self.read().volume_claims.keys().cloned().collect()
    }

    fn keys_of_storage(inner: &Inner, name: &str) -> Vec<Key> {
        let waits = |unit: &Arc<GpuUnit>| {
            let volumes = unit.spec.instance.iter().flat_map(|instance| &instance.volumes);
            volumes.filter_map(|volume| volume.storage.as_deref()).any(|storage| storage == name)
        };
        let units = inner.slots.iter().filter(|(_, slot)| slot.unit.as_ref().is_some_and(waits));
        units.map(|(unit, _)| Key::Unit(unit.clone())).chain([Key::Storage(name.to_owned())]).collect()
    }

    pub(crate) fn storage(&self, name: &str) -> Option<(Arc<GpuStorage>, Option<ObservedVolumeClaim>)> {
        let inner = self.read();
        Some((inner.storages.get(name)?.clone(), inner.volume_claims.get(name).cloned()))
    }
}

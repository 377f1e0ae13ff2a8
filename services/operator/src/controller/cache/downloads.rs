//! Pods of downloads.

use std::collections::HashSet;

use k8s_openapi::api::core::v1::Pod;
use plans::observation::ObservedDownload;

use super::{Cache, Inner, Key, is_known};

impl Cache {
    /// Puts the pod of a download from a watch, or from the response to its creation.
    pub(crate) fn put_download(&self, pod: &Pod) -> Vec<Key> {
        let Some(observed) = ObservedDownload::of(pod) else { return Vec::new() };
        let key = Key::Storage(observed.storage.clone());
        let mut inner = self.write();
        if inner.tombstones.contains(&observed.uid) {
            return Vec::new();
        }
        let pods = inner.downloads.entry(observed.storage.clone()).or_default();
        match pods.iter_mut().find(|known| known.uid == observed.uid) {
            Some(known) if is_known(Some(&known.version), Some(&observed.version)) => return Vec::new(),
            Some(known) => *known = observed,
            None => pods.push(observed),
        }
        vec![key]
    }

    pub(crate) fn drop_download(&self, pod: &Pod) -> Vec<Key> {
        let Some(observed) = ObservedDownload::of(pod) else { return Vec::new() };
        self.drop_downloads(|known| known.uid == observed.uid)
    }

    /// Drops the pods that are missing from a complete list.
    pub(crate) fn retain_downloads(&self, seen: &HashSet<String>) -> Vec<Key> {
        self.drop_downloads(|known| !seen.contains(&known.uid))
    }

    fn drop_downloads(&self, gone: impl Fn(&ObservedDownload) -> bool) -> Vec<Key> {
        let mut inner = self.write();
        let Inner { downloads, tombstones, .. } = &mut *inner;
        let mut keys = Vec::new();
        downloads.retain(|storage, pods| {
            let before = pods.len();
            pods.retain(|known| {
                let gone = gone(known);
                if gone {
                    tombstones.add(&known.uid);
                }
                !gone
            });
            if pods.len() < before {
                keys.push(Key::Storage(storage.clone()));
            }
            !pods.is_empty()
        });
        keys
    }

    /// The pods of a storage's downloads.
    pub(crate) fn downloads(&self, storage: &str) -> Vec<ObservedDownload> {
        self.read().downloads.get(storage).cloned().unwrap_or_default()
    }

    /// The node of a pod of a unit whose instance mounts the storage.
    pub(crate) fn node_of_storage(&self, storage: &str) -> Option<String> {
        let inner = self.read();
        let mounts = inner.slots.values().filter(|slot| {
            let instance = slot.unit.iter().filter_map(|unit| unit.spec.instance.as_ref());
            instance
                .flat_map(|instance| &instance.volumes)
                .any(|volume| volume.storage.as_deref() == Some(storage))
        });
        let mut pods = mounts.flat_map(|slot| &slot.pods).filter(|pod| !pod.has_ended());
        pods.find_map(|pod| pod.node.clone())
    }
}

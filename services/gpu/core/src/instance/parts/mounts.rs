//! The storages of an order.

use ids::StorageId;

use super::Order;
use crate::catalogue::Template;

impl Order {
    /// Returns the storage that is mounted read-write at the path of the service.
    #[must_use]
    pub fn default_storage(&self) -> Option<StorageId> {
        let path = self.template.storage_mount_path.as_ref();
        let mut mounts = self.storages.iter();
        mounts.find(|mount| Some(&mount.mount_path) == path && !mount.read_only).map(|mount| mount.storage_id)
    }

    /// Sets how the service is run. A storage at the path for storages moves to that of the new template.
    pub(crate) fn set_template(&mut self, template: Template) {
        let before = std::mem::replace(&mut self.template, template).storage_mount_path;
        if let (Some(before), Some(now)) = (before, &self.template.storage_mount_path) {
            let moved = self.storages.iter_mut().filter(|mount| mount.mount_path == before);
            moved.for_each(|mount| mount.mount_path.clone_from(now));
        }
    }
}

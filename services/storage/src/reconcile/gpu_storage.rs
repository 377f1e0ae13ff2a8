//! The `GpuStorage` resources of a cluster.

use crds::{Clusters, GpuStorage, names};
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams},
};

use traces::SpanKind;

use super::error::Error;

/// The resources of one cluster.
pub(super) struct GpuStorages(Api<GpuStorage>);

impl GpuStorages {
    pub(super) async fn of(clusters: &Clusters, cluster: &str) -> Result<Self, Error> {
        Ok(Self(Api::all(clusters.client(cluster).await?)))
    }

    /// The resources for a watch.
    pub(super) fn into_api(self) -> Api<GpuStorage> {
        self.0
    }

    /// Returns the resource, if it exists.
    pub(super) async fn get(&self, name: &str) -> Result<Option<GpuStorage>, Error> {
        Ok(self.0.get_opt(name).await?)
    }

    /// Creates the resource or updates this service's fields of it (server-side apply).
    pub(super) async fn apply(&self, desired: &GpuStorage) -> Result<(), Error> {
        let name = desired.metadata.name.as_deref().unwrap_or_default();
        let params = PatchParams::apply(names::MANAGER_STORAGE).force();
        let _span = traces::child(SpanKind::Client, "apply GpuStorage");
        self.0.patch(name, &params, &Patch::Apply(desired)).await?;
        Ok(())
    }

    /// Begins the deletion of the resource, if it exists.
    pub(super) async fn delete(&self, name: &str) -> Result<(), Error> {
        match self.0.delete(name, &DeleteParams::default()).await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            done => Ok(done.map(drop)?),
        }
    }
}

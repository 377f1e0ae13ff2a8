//! Writes `spec.instance` of a unit: server-side apply as this service's field manager, never forced, and only onto
//! the version of the object that was read before. A delayed call cannot overwrite later changes.

use std::sync::Arc;

use crds::{ClusterError, GpuUnit, names};
use gpu_core::unit::Unit;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use traces::{SpanKind, TraceContext};

use super::{Cluster, observed::observed};

/// How often a write is tried while the unit keeps changing.
const MAX_ATTEMPTS: usize = 6;

/// Why a unit was not read or written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The unit does not exist.
    #[error("the unit does not exist")]
    Gone,
    /// The unit's spec names another instance.
    #[error("another instance is in the unit")]
    Occupied,
    /// The cluster rejects the written value.
    #[error("the cluster rejects the instance: {0}")]
    Rejected(String),
    /// The cluster's credentials are not usable.
    #[error(transparent)]
    Credentials(#[from] ClusterError),
    /// The cluster does not answer.
    #[error("the cluster does not answer")]
    Unreachable(#[source] Box<kube::Error>),
    /// The unit changed during each attempt.
    #[error("the unit changed too often")]
    Contended,
}

impl From<kube::Error> for WriteError {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) if status.is_not_found() => Self::Gone,
            other => Self::Unreachable(Box::new(other)),
        }
    }
}

impl Cluster {
    /// Reads the unit from the cluster; none if it does not exist.
    ///
    /// # Errors
    /// If the cluster does not answer.
    pub async fn fetch(&self, unit: &str) -> Result<Option<Arc<Unit>>, WriteError> {
        let found = self.units().await?.get_opt(unit).await?.map(|unit| self.learn(unit));
        if found.is_none() {
            self.change(|cache| cache.remove(unit));
        }
        Ok(found)
    }

    fn learn(&self, unit: GpuUnit) -> Arc<Unit> {
        let unit = Arc::new(observed(unit));
        self.change(|cache| cache.put(Arc::clone(&unit)));
        unit
    }

    /// Makes the unit's spec name this instance. Writes nothing if it does already.
    ///
    /// # Errors
    /// See [`WriteError`].
    pub async fn apply(&self, unit: &str, instance: &crds::Instance) -> Result<(), WriteError> {
        let units = self.units().await?;
        for _ in 0..MAX_ATTEMPTS {
            let current = units.get(unit).await?;
            match &current.spec.instance {
                Some(present) if present.id != instance.id => {
                    self.learn(current);
                    return Err(WriteError::Occupied);
                }
                Some(present) if present == instance => {
                    self.learn(current);
                    return Ok(());
                }
                _ => {}
            }
            let spec = json!({ "instance": instance });
            if self.write(&current, Some(spec)).await? {
                return Ok(());
            }
        }
        Err(WriteError::Contended)
    }

    /// Removes the instance called `name` from the unit's spec, if it is there.
    ///
    /// # Errors
    /// See [`WriteError`]. A unit that does not exist is no error.
    pub async fn vacate(&self, unit: &str, name: &str) -> Result<(), WriteError> {
        let units = self.units().await?;
        for _ in 0..MAX_ATTEMPTS {
            let Some(current) = units.get_opt(unit).await? else {
                self.change(|cache| cache.remove(unit));
                return Ok(());
            };
            if current.spec.instance.as_ref().is_none_or(|present| present.id != name) {
                self.learn(current);
                return Ok(());
            }
            if self.write(&current, None).await? {
                return Ok(());
            }
        }
        Err(WriteError::Contended)
    }

    /// Applies this service's part of the spec onto exactly this version. Returns false if the unit has changed.
    async fn write(&self, onto: &GpuUnit, spec: Option<Value>) -> Result<bool, WriteError> {
        let name = onto.metadata.name.as_deref().unwrap_or_default();
        let mut span = traces::child(SpanKind::Client, "apply GpuUnit");
        span.set("k8s.cluster.name", self.name());
        let mut patch = json!({
            "apiVersion": format!("{}/{}", names::GROUP, names::VERSION),
            "kind": "GpuUnit",
            "metadata": { "name": name, "resourceVersion": onto.metadata.resource_version },
        });
        if let Some(request) = span.context().filter(TraceContext::is_sampled) {
            // the operator continues the trace
            patch["metadata"]["annotations"] =
                json!({ (names::ANNOTATION_TRACEPARENT): request.traceparent() });
        }
        if let (Some(spec), Some(patch)) = (spec, patch.as_object_mut()) {
            patch.insert("spec".to_owned(), spec);
        }
        let params = PatchParams::apply(names::MANAGER_GPU);
        let written = self.units().await?.patch(name, &params, &Patch::Apply(&patch)).await;
        if written.is_err() {
            span.fail("not_written");
        }
        match written {
            Ok(unit) => {
                self.learn(unit);
                Ok(true)
            }
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
            Err(kube::Error::Api(status)) if status.code == 422 => {
                Err(WriteError::Rejected(status.message.clone()))
            }
            Err(error) => Err(error.into()),
        }
    }
}

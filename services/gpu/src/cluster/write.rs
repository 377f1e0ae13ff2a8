//! Writing `spec.instance` of a unit: server-side apply as our own field manager, never forced, and only
//! onto the very version of the object that was looked at before, so that a call that was delayed cannot
//! overwrite what others did since.

use std::sync::Arc;

use crds::{GpuUnit, names};
use kube::{
    Api,
    api::{Patch, PatchParams},
};
use serde_json::{Value, json};

use super::{Cluster, Unit};

/// How often a write is tried again when the unit changed under it.
const TRIES: usize = 6;

/// Why a unit was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// There is none of this name.
    #[error("the unit does not exist")]
    Gone,
    /// Another instance's name stands in it.
    #[error("another instance is in the unit")]
    Occupied,
    /// The cluster says that what was to be written is not valid.
    #[error("the cluster does not accept it: {0}")]
    Refused(String),
    /// The cluster does not answer, or not with sense.
    #[error("the cluster does not answer")]
    Away(#[source] Box<kube::Error>),
    /// It changed each time.
    #[error("the unit changed too often")]
    Busy,
}

impl From<kube::Error> for WriteError {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) if status.is_not_found() => Self::Gone,
            other => Self::Away(Box::new(other)),
        }
    }
}

impl Cluster {
    fn units(&self) -> Api<GpuUnit> {
        Api::all(self.client.clone())
    }

    /// The unit as it is now, asked from the cluster; none if there is none.
    ///
    /// # Errors
    /// When the cluster does not answer.
    pub async fn look(&self, unit: &str) -> Result<Option<Arc<Unit>>, WriteError> {
        let now = self.units().get_opt(unit).await?.map(|unit| self.learn(unit));
        if now.is_none() {
            self.change(|cache| cache.remove(unit));
        }
        Ok(now)
    }

    fn learn(&self, unit: GpuUnit) -> Arc<Unit> {
        let unit = Arc::new(Unit::from(unit));
        self.change(|cache| cache.put(Arc::clone(&unit)));
        unit
    }

    /// Makes the unit's spec name this instance in this way. Nothing is written when it does already.
    ///
    /// # Errors
    /// As [`WriteError`] says.
    pub async fn apply(&self, unit: &str, wanted: &crds::Instance) -> Result<(), WriteError> {
        for _ in 0..TRIES {
            let now = self.units().get(unit).await?;
            match &now.spec.instance {
                Some(present) if present.id != wanted.id => return Err(WriteError::Occupied),
                Some(present) if present == wanted => {
                    self.learn(now);
                    return Ok(());
                }
                _ => {}
            }
            let spec = json!({ "instance": wanted });
            if self.write(&now, Some(spec)).await? {
                return Ok(());
            }
        }
        Err(WriteError::Busy)
    }

    /// Makes the unit's spec name nothing, if it names the instance called `name`.
    ///
    /// # Errors
    /// As [`WriteError`] says; a unit that is gone is none.
    pub async fn vacate(&self, unit: &str, name: &str) -> Result<(), WriteError> {
        for _ in 0..TRIES {
            let Some(now) = self.units().get_opt(unit).await? else { return Ok(()) };
            if now.spec.instance.as_ref().is_none_or(|present| present.id != name) {
                self.learn(now);
                return Ok(());
            }
            if self.write(&now, None).await? {
                return Ok(());
            }
        }
        Err(WriteError::Busy)
    }

    /// Applies our part of the spec onto exactly this version. False when it has changed meanwhile.
    async fn write(&self, onto: &GpuUnit, spec: Option<Value>) -> Result<bool, WriteError> {
        let name = onto.metadata.name.as_deref().unwrap_or_default();
        let mut patch = json!({
            "apiVersion": format!("{}/{}", names::GROUP, names::VERSION),
            "kind": "GpuUnit",
            "metadata": { "name": name, "resourceVersion": onto.metadata.resource_version },
        });
        if let (Some(spec), Some(patch)) = (spec, patch.as_object_mut()) {
            patch.insert("spec".to_owned(), spec);
        }
        let params = PatchParams::apply(names::MANAGER_GPU);
        match self.units().patch(name, &params, &Patch::Apply(&patch)).await {
            Ok(unit) => {
                self.learn(unit);
                Ok(true)
            }
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
            Err(kube::Error::Api(status)) if status.code == 422 => {
                Err(WriteError::Refused(status.message.clone()))
            }
            Err(error) => Err(error.into()),
        }
    }
}

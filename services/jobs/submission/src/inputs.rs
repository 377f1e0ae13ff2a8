//! Whether the uploads, results and models that a job names exist.

use std::collections::{BTreeSet, HashMap, HashSet};

use ids::{ArtifactId, ModelId, TenantId, UploadId};
use jobs_core::application::{Inputs, Method};
use results::{
    InputMissing, artifact,
    model::{self, StoredModel},
    upload,
};
use sqlx::PgConnection;

use super::{error::Refused, request::NewJob};

/// Records which uploads that jobs name have their contents in the bucket. Called before the transaction that
/// submits the jobs.
pub async fn confirm(
    parts: &artifact::Parts,
    owner: TenantId,
    jobs: &[NewJob],
) -> Result<(), artifact::Error> {
    let inputs = jobs.iter().filter_map(|job| {
        Method::find(&job.application, &job.method).and_then(|method| method.read(&job.parameters).ok())
    });
    let uploads: Vec<UploadId> = inputs.flat_map(|inputs| inputs.uploads).collect();
    upload::confirm(parts, owner, &uploads).await
}

/// The inputs that jobs name and that their tenant has.
pub(super) struct Found {
    uploads: HashSet<UploadId>,
    artifacts: HashMap<ArtifactId, artifact::Stored>,
    models: HashMap<ModelId, StoredModel>,
}

impl Found {
    /// Looks up everything that these jobs name, and keeps their uploads. Costs the same for one job and for
    /// many.
    pub(super) async fn of(conn: &mut PgConnection, owner: TenantId, jobs: &[&Inputs]) -> sqlx::Result<Self> {
        let (mut uploads, mut artifacts, mut models) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for inputs in jobs {
            uploads.extend(&inputs.uploads);
            artifacts.extend(&inputs.artifacts);
            models.extend(&inputs.models);
        }
        let mut found = Self { uploads: HashSet::new(), artifacts: HashMap::new(), models: HashMap::new() };
        if !uploads.is_empty() {
            let ids: Vec<UploadId> = uploads.into_iter().collect();
            found.uploads.extend(upload::take(conn, owner, &ids).await?);
        }
        if !artifacts.is_empty() {
            let ids: Vec<ArtifactId> = artifacts.into_iter().collect();
            let all = artifact::find_all(conn, owner, &ids).await?;
            found.artifacts.extend(all.into_iter().map(|one| (one.id, one)));
        }
        if !models.is_empty() {
            let ids: Vec<ModelId> = models.into_iter().collect();
            let all = model::find_all(conn, owner, &ids).await?;
            found.models.extend(all.into_iter().map(|one| (one.id, one)));
        }
        Ok(found)
    }

    /// Checks that the tenant has what a job names.
    pub(super) fn check(&self, inputs: &Inputs) -> Result<(), Refused> {
        let uploads = inputs.uploads.iter().filter(|id| !self.uploads.contains(id)).map(ToString::to_string);
        let artifacts = inputs.artifacts.iter().filter(|id| !self.artifacts.contains_key(id));
        let models = inputs.models.iter().filter(|id| !self.models.contains_key(id));
        let missing: Vec<String> = uploads
            .chain(artifacts.map(ToString::to_string))
            .chain(models.map(ToString::to_string))
            .collect();
        if !missing.is_empty() {
            return Err(InputMissing(missing).into());
        }
        let mut artifacts = inputs.artifacts.iter().filter_map(|id| self.artifacts.get(id));
        if let Some(other) = artifacts.find(|artifact| !artifact.content_type.starts_with("image/")) {
            return Err(Refused::invalid_field("/parameters", format!("{} is no picture", other.id)));
        }
        let Some(base_model) = &inputs.base_model else { return Ok(()) };
        let mut models = inputs.models.iter().filter_map(|id| self.models.get(id));
        if let Some(model) = models.find(|model| model.base_model != *base_model) {
            let detail =
                format!("{} adapts the model {}, which has to be `model`", model.id, model.base_model);
            return Err(Refused::invalid_field("/parameters/models", detail));
        }
        Ok(())
    }
}

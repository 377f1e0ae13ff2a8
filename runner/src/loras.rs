//! Models of tenants, as adapters of the WebUI: copied into its folder for one attempt, and named in the prompt. No
//! other attempt can find them there or guess their names: the WebUI keeps adapters of a prompt for the next prompt
//! that names them, although their files are deleted (seen with 1.10.1).

use std::path::Path;

use ids::JobId;
use serde_json::{Map, Value};

use crate::{
    engines::Engine,
    jobs_service::{Attempt, Error, Session},
};

/// Beginning of the names of their files.
const PREFIX: &str = "mdl_";

/// Places the models of an attempt in the folder of the engine, and names them in its prompt.
///
/// # Errors
/// If one cannot be downloaded, or the engine does not accept them.
pub(crate) async fn place(
    session: &Session,
    engine: &Engine,
    attempt: Attempt,
    parameters: &mut Map<String, Value>,
) -> Result<(), Error> {
    let Some(models) = parameters.get("models").and_then(Value::as_array).filter(|all| !all.is_empty())
    else {
        return Ok(());
    };
    let Some(folder) = &engine.lora_dir else {
        let detail = "The worker loads no models of tenants.".to_owned();
        return Err(Error::Refused { code: "model-missing".to_owned(), detail });
    };
    let names: String = models.iter().map(|model| tag(model, attempt.job_id)).collect();
    remove(folder).map_err(|error| Error::Unavailable(error.into()))?;
    for input in session.inputs(attempt).await?.models {
        let content = session.fetch(attempt, &input).await?;
        let id = input.id.as_str().filter(|id| id.starts_with(PREFIX)).unwrap_or_default();
        std::fs::create_dir_all(folder)
            .and_then(|()| {
                std::fs::write(folder.join(format!("{}.safetensors", name(id, attempt.job_id))), &content)
            })
            .map_err(|error| Error::Unavailable(error.into()))?;
    }
    engine.api.refresh_loras().await.map_err(|error| Error::Unavailable(error.into()))?;
    let prompt = parameters.get("prompt").and_then(Value::as_str).unwrap_or_default();
    let prompt = format!("{prompt}{names}");
    parameters.insert("prompt".to_owned(), prompt.into());
    Ok(())
}

/// The name of a model in one job.
fn name(id: &str, job: JobId) -> String {
    format!("{id}-{job}")
}

/// The tag of a model in a prompt.
fn tag(model: &Value, job: JobId) -> String {
    format!(" <lora:{}:{}>", name(model["id"].as_str().unwrap_or_default(), job), model["weight"])
}

/// Takes the models away from the engine.
pub(crate) async fn clear(engine: &Engine) {
    let Some(folder) = &engine.lora_dir else { return };
    match remove(folder) {
        Ok(false) => {}
        Ok(true) => {
            if let Err(error) = engine.api.refresh_loras().await {
                tracing::warn!(%error, "the engine does not read its adapters again");
            }
        }
        Err(error) => tracing::warn!(%error, "cannot remove models"),
    }
}

/// Removes the files. Returns whether there were any.
fn remove(folder: &Path) -> std::io::Result<bool> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        entries => entries?,
    };
    let mut any = false;
    for entry in entries {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(PREFIX) {
            std::fs::remove_file(entry.path())?;
            any = true;
        }
    }
    Ok(any)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_models_of_tenants_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["mdl_1.safetensors", "ours.safetensors"] {
            std::fs::write(folder.path().join(name), "x").unwrap();
        }
        assert!(remove(folder.path()).unwrap());
        assert!(!remove(folder.path()).unwrap());
        assert!(folder.path().join("ours.safetensors").exists());
        assert!(!remove(&folder.path().join("none")).unwrap());
    }

    #[test]
    fn a_model_has_another_name_in_each_job() {
        let (job, other) = (JobId::new(), JobId::new());
        let model = json!({ "id": "mdl_1", "weight": 0.5 });
        assert_eq!(tag(&model, job), format!(" <lora:mdl_1-{job}:0.5>"));
        assert_ne!(tag(&model, job), tag(&model, other));
    }
}

//! The models of the worker: checkpoints of the WebUI, and base models of the trainer. They are reported to the service
//! with each session, and when they change.

use std::{fs, io, path::Path, time::Duration};

use tokio::{
    task::spawn_blocking,
    time::{Instant, sleep_until},
};

use crate::{
    engines::Engines,
    jobs_service::{Error, Models, Session},
};

/// Maximum number of names of one kind: the service refuses more.
const MOST: usize = 1_000;

/// Returns the models that there are now.
pub(crate) async fn read(engines: &Engines) -> Models {
    let checkpoints = match &engines.webui {
        Some(engine) => known("the engine does not list its models", engine.api.checkpoint_names().await),
        None => Some(Vec::new()),
    };
    let base_models = match (&engines.trainer, &engines.trainer_models) {
        (None, _) => Some(Vec::new()),
        (Some(_), None) => None,
        (Some(_), Some(folder)) => {
            let folder = folder.clone();
            let read = spawn_blocking(move || pipelines(&folder)).await.map_err(io::Error::other);
            known("the folder of base models cannot be read", read.flatten())
        }
    };
    Models { checkpoints: checkpoints.map(sorted), base_models: base_models.map(sorted) }
}

/// `now`, with previous values where current ones are unknown.
fn complete(now: Models, before: &Models) -> Models {
    Models {
        checkpoints: now.checkpoints.or_else(|| before.checkpoints.clone()),
        base_models: now.base_models.or_else(|| before.base_models.clone()),
    }
}

fn known<E: std::error::Error>(what: &str, read: Result<Vec<String>, E>) -> Option<Vec<String>> {
    read.map_err(|error| tracing::warn!(%error, "{what}")).ok()
}

fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort_unstable();
    names.dedup();
    if names.len() > MOST {
        tracing::warn!(models = names.len(), "jobs can name the first {MOST} models only");
        names.truncate(MOST);
    }
    names
}

/// Names of the pipelines of diffusers in a folder.
fn pipelines(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.path().join("model_index.json").is_file() {
            names.extend(entry.file_name().into_string());
        }
    }
    Ok(names)
}

/// The inventory that was reported in a session.
pub(crate) struct Inventory {
    told: Models,
    period: Duration,
    next: Instant,
}

impl Inventory {
    /// The session began with these.
    pub(crate) fn new(told: Models, period: Duration) -> Self {
        Self { told, period, next: Instant::now() + period }
    }

    /// Reports changes, until the session has ended. Can be dropped at any time, and called again.
    pub(crate) async fn follow(&mut self, session: &Session, engines: &Engines) -> Error {
        loop {
            sleep_until(self.next).await;
            let now = complete(read(engines).await, &self.told);
            if now != self.told {
                match session.report_models(&now).await {
                    Err(Error::Unavailable(error)) => {
                        tracing::warn!(error = format!("{error:#}"), "cannot report models");
                    }
                    Err(Error::NotYours) => return Error::NotYours,
                    // a refused report is not sent again
                    Ok(()) | Err(Error::Refused { .. } | Error::Stale(_)) => self.told = now,
                }
            }
            self.next = Instant::now() + self.period;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_models_are_folders_with_a_pipeline() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["sdxl", "sd15", "other"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        for name in ["sdxl", "sd15"] {
            fs::write(folder.path().join(name).join("model_index.json"), "{}").unwrap();
        }
        fs::write(folder.path().join("model_index.json"), "{}").unwrap();
        assert_eq!(sorted(pipelines(folder.path()).unwrap()), ["sd15", "sdxl"]);
        assert!(pipelines(&folder.path().join("none")).is_err());
    }

    #[test]
    fn what_is_not_known_now_is_as_it_was() {
        let names = |name: &str| Some(vec![name.to_owned()]);
        let before = Models { checkpoints: names("a"), base_models: None };
        let now = Models { checkpoints: None, base_models: names("b") };
        assert_eq!(complete(now, &before), Models { checkpoints: names("a"), base_models: names("b") });
    }
}

//! The engines that run jobs: the WebUI, and the programs that are started for attempts.

use std::path::PathBuf;

use tokio::sync::watch;

use crate::{command::Command, engine::WebUi, limits::Limits, process};

/// The models of the worker.
pub(crate) struct Engines {
    pub(crate) webui: Option<Engine>,
    pub(crate) trainer: Option<Command>,
    pub(crate) trainer_models: Option<PathBuf>,
    pub(crate) runs_programs: bool,
}

/// The WebUI, and its process if the runner has started it.
pub(crate) struct Engine {
    pub(crate) api: WebUi,
    pub(crate) lora_dir: Option<PathBuf>,
    pub(crate) limits: Limits,
    pub(crate) child: Option<process::Engine>,
}

impl Engine {
    /// Kills the process, if it is the runner's.
    pub(crate) async fn kill(&self) {
        if let Some(child) = &self.child {
            child.kill().await;
        }
    }

    /// Whether the process is the runner's.
    pub(crate) fn ends_with_runner(&self) -> bool {
        self.child.is_some()
    }

    /// Follows the processes that have ended.
    pub(crate) fn ended(&self) -> Option<watch::Receiver<u64>> {
        self.child.as_ref().map(process::Engine::ended)
    }
}

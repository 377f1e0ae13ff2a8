//! The state that handlers share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};
use tokio::sync::watch;

use crate::checkpoints::Checkpoints;
use crate::gallery::Gallery;
use crate::jobs::Jobs;
use crate::loras::Loras;

#[derive(Clone)]
pub(crate) struct AppState {
    pub(crate) version: Arc<str>,
    pub(crate) gallery: Gallery,
    pub(crate) jobs: Arc<Jobs>,
    pub(crate) loras: Loras,
    pub(crate) checkpoints: Checkpoints,
    pub(crate) options: Arc<Mutex<Map<String, Value>>>,
    pub(crate) stopping: watch::Receiver<bool>,
}

impl AppState {
    pub(crate) fn options(&self) -> MutexGuard<'_, Map<String, Value>> {
        self.options.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

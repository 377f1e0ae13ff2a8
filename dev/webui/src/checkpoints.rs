//! The checkpoints in a folder, by their names. They have no weights: pictures of another checkpoint are other noise.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

/// The checkpoint that is loaded at first. Its name shows that it is not a real one.
pub(crate) const MODEL: &str = "atelier-cpu-stand-in";
pub(crate) const MODEL_HASH: &str = "0000000000";

/// The names as they were when the folder was read last. Clones share them.
#[derive(Clone)]
pub(crate) struct Checkpoints {
    folder: Option<Arc<Path>>,
    names: Arc<Mutex<Vec<String>>>,
}

impl Checkpoints {
    /// Reads the checkpoints of a folder, which need not exist.
    pub(crate) fn open(folder: Option<PathBuf>) -> Self {
        let checkpoints = Self { folder: folder.map(Arc::from), names: Arc::default() };
        checkpoints.refresh();
        checkpoints
    }

    fn names(&self) -> MutexGuard<'_, Vec<String>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the folder again.
    pub(crate) fn refresh(&self) {
        let entries = self.folder.as_ref().and_then(|folder| std::fs::read_dir(folder).ok());
        let name = |path: PathBuf| {
            let is_checkpoint = path.extension().is_some_and(|extension| extension == "safetensors");
            is_checkpoint.then(|| Some(path.file_stem()?.to_str()?.to_owned())).flatten()
        };
        let mut names: Vec<String> =
            entries.into_iter().flatten().flatten().filter_map(|entry| name(entry.path())).collect();
        names.push(MODEL.to_owned());
        names.sort_unstable();
        *self.names() = names;
    }

    /// As the API lists them.
    pub(crate) fn list(&self) -> Value {
        let folder = self.folder.as_deref();
        let entry = |name: &String| {
            let file = folder.map(|folder| folder.join(format!("{name}.safetensors")).display().to_string());
            let nothing = "(no file: pictures are computed from the prompt on the CPU)".to_owned();
            json!({
                "title": title(name),
                "model_name": name,
                "hash": MODEL_HASH,
                "sha256": null,
                "filename": file.filter(|_| name != MODEL).unwrap_or(nothing),
                "config": null,
            })
        };
        self.names().iter().map(entry).collect()
    }

    /// The name of a checkpoint by its title or name; none if there is no such checkpoint.
    pub(crate) fn find(&self, text: &str) -> Option<String> {
        self.names().iter().find(|name| text == **name || text == title(name)).cloned()
    }
}

/// The title of a checkpoint, which is its alias in options.
pub(crate) fn title(name: &str) -> String {
    format!("{name} [{MODEL_HASH}]")
}

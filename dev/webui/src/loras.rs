//! The adapters in a folder, and their names in prompts: `<lora:name:weight>`, as in the real WebUI.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::log::say;
use painter::adapter::Adapter;

/// Files above this size are not adapters of this stand-in.
const MAX_BYTES: u64 = 1 << 20;

struct Loaded {
    path: PathBuf,
    adapter: Arc<Adapter>,
    metadata: BTreeMap<String, String>,
}

/// The adapters of a folder, as they were when it was read last. Clones share them.
#[derive(Clone)]
pub(crate) struct Loras {
    folder: Option<Arc<Path>>,
    loaded: Arc<Mutex<BTreeMap<String, Loaded>>>,
    /// Those of the previous prompt. The next one can name them although their files are gone, as in the real WebUI (seen with 1.10.1).
    previous: Arc<Mutex<BTreeMap<String, Arc<Adapter>>>>,
}

impl Loras {
    /// Reads the adapters of a folder, which need not exist.
    pub(crate) fn open(folder: Option<PathBuf>) -> Self {
        let loras = Self { folder: folder.map(Arc::from), loaded: Arc::default(), previous: Arc::default() };
        loras.refresh();
        loras
    }

    fn loaded(&self) -> MutexGuard<'_, BTreeMap<String, Loaded>> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the folder again. Files that are no adapters are left out, and logged.
    pub(crate) fn refresh(&self) {
        let entries = self.folder.as_ref().and_then(|folder| std::fs::read_dir(folder).ok());
        let mut loaded = BTreeMap::new();
        for path in entries.into_iter().flatten().flatten().map(|entry| entry.path()) {
            if path.extension().is_none_or(|extension| extension != "safetensors") {
                continue;
            }
            let Some(name) = path.file_stem().and_then(|name| name.to_str()).map(str::to_owned) else {
                continue;
            };
            match read(&path) {
                Ok((adapter, metadata)) => {
                    loaded.insert(name, Loaded { path, adapter: Arc::new(adapter), metadata });
                }
                Err(error) => say(&format!("not an adapter: {}: {error:#}", path.display())),
            }
        }
        *self.loaded() = loaded;
    }

    /// Names, paths and metadata.
    pub(crate) fn list(&self) -> Vec<(String, PathBuf, BTreeMap<String, String>)> {
        let loaded = self.loaded();
        loaded.iter().map(|(name, one)| (name.clone(), one.path.clone(), one.metadata.clone())).collect()
    }

    /// Splits a prompt into its words, and the adapters that it names with their weights. Unknown ones are left out and logged,
    /// as in the real WebUI.
    pub(crate) fn read(&self, prompt: &str) -> (String, Vec<(Arc<Adapter>, f32)>) {
        let (words, names) = split(prompt);
        let loaded = self.loaded();
        let mut previous = self.previous.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut adapters, mut used) = (Vec::new(), BTreeMap::new());
        for (name, weight) in names {
            match loaded.get(name).map(|one| &one.adapter).or_else(|| previous.get(name)) {
                Some(adapter) => {
                    adapters.push((Arc::clone(adapter), weight));
                    used.insert(name.to_owned(), Arc::clone(adapter));
                }
                None => say(&format!("Couldn't find network with name {name}")),
            }
        }
        *previous = used;
        (words, adapters)
    }
}

fn read(path: &Path) -> anyhow::Result<(Adapter, BTreeMap<String, String>)> {
    let size = std::fs::metadata(path)?.len();
    anyhow::ensure!(size <= MAX_BYTES, "{size} bytes");
    Adapter::from_safetensors(&std::fs::read(path)?)
}

/// The words of a prompt, and the names and weights in it. A name is removed with the spaces before it.
fn split(prompt: &str) -> (String, Vec<(&str, f32)>) {
    const BEGIN: &str = "<lora:";
    let (mut words, mut names, mut rest) = (String::new(), Vec::new(), prompt);
    while let Some(at) = rest.find(BEGIN) {
        let (before, tag) = rest.split_at(at);
        let Some(end) = tag.find('>') else { break };
        let inner = &tag[BEGIN.len()..end];
        let (name, weight) = inner.split_once(':').unwrap_or((inner, "1"));
        let weight = weight.parse().ok().filter(|weight: &f32| weight.is_finite()).unwrap_or(1.0);
        words.push_str(before.trim_end());
        names.push((name, weight));
        rest = &tag[end + 1..];
    }
    words.push_str(rest);
    (words, names)
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn names_are_no_words() {
        assert_eq!(split("a fox"), ("a fox".into(), vec![]));
        assert_eq!(split("a fox <lora:dog:0.5>"), ("a fox".into(), vec![("dog", 0.5)]));
        assert_eq!(
            split("a <lora:x> fox<lora:y:z>, snow"),
            ("a fox, snow".into(), vec![("x", 1.0), ("y", 1.0)])
        );
        assert_eq!(split("a <lora:x"), ("a <lora:x".into(), vec![]));
    }
}

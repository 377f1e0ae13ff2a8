//! The pictures on disk, named by a sequence number, their seed and their format, listed newest first.

use std::collections::BinaryHeap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum number of pictures in a listing; a storage may hold a hundred thousand.
pub(crate) const SHOWN: usize = 60;

/// The output folder.
#[derive(Debug, Clone)]
pub struct Gallery {
    folder: Arc<Path>,
}

impl Gallery {
    /// Opens the folder; creates it if it does not exist.
    ///
    /// # Errors
    /// If the folder cannot be created.
    pub fn open(folder: PathBuf) -> io::Result<Self> {
        std::fs::create_dir_all(&folder)?;
        Ok(Self { folder: folder.into() })
    }

    /// The folder of the pictures.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Saves a picture under the next number and returns its file name (`00012-42.png`). The file is written under
    /// another name and renamed, so that readers never see half a file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn save(&self, seed: u64, extension: &str, file: &[u8]) -> io::Result<String> {
        std::fs::create_dir_all(&self.folder)?;
        let next = self.newest(1)?.first().and_then(|name| number(name)).map_or(0, |n| n + 1);
        let name = format!("{next:05}-{seed}.{extension}");
        let aside = self.folder.join(format!(".{name}.part"));
        let written =
            std::fs::write(&aside, file).and_then(|()| std::fs::rename(&aside, self.folder.join(&name)));
        if written.is_err() {
            let _ = std::fs::remove_file(&aside);
        }
        written.map(|()| name)
    }

    /// The newest `limit` names, newest first. Keeps no more than `limit` names in memory.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub(crate) fn newest(&self, limit: usize) -> io::Result<Vec<String>> {
        let mut kept = BinaryHeap::with_capacity(limit + 1);
        for entry in std::fs::read_dir(&self.folder)? {
            let Ok(name) = entry?.file_name().into_string() else {
                continue;
            };
            if let Some(n) = number(&name) {
                kept.push(std::cmp::Reverse((n, name)));
                if kept.len() > limit {
                    kept.pop();
                }
            }
        }
        Ok(kept.into_sorted_vec().into_iter().map(|std::cmp::Reverse((_, name))| name).collect())
    }

    /// The bytes of a picture; `None` if it does not exist or the name has another form.
    pub(crate) fn read(&self, name: &str) -> Option<Vec<u8>> {
        number(name)?;
        std::fs::read(self.folder.join(name)).ok()
    }
}

/// The sequence number of a name of the form `<digits>-<digits>.png` or `.jpg`. Such a name cannot leave the folder.
fn number(name: &str) -> Option<u64> {
    let (sequence, seed) =
        name.strip_suffix(".png").or_else(|| name.strip_suffix(".jpg"))?.split_once('-')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    (digits(sequence) && digits(seed)).then(|| sequence.parse().ok()).flatten()
}

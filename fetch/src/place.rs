//! Paths of a file: the final one, and the temporary file next to it.

use std::{
    io,
    path::{Component, Path, PathBuf},
};

use sha2::{Digest as _, Sha256};
use tokio::{fs, io::AsyncReadExt as _};

use crate::File;

/// Longest name of a file or folder in a path, so that the name of the part fits in 255 bytes.
pub const MAX_SEGMENT: usize = 200;

/// The path of a file and its part.
pub(crate) struct Place {
    folder: PathBuf,
    target: PathBuf,
    part: PathBuf,
    /// The beginning of the names of all parts of the download.
    parts: String,
}

impl Place {
    /// None if the path is not one of a file below the root.
    pub(crate) fn of(root: &Path, file: &File) -> Option<Self> {
        let path = Path::new(&file.path);
        let below = path.components().all(|part| matches!(part, Component::Normal(_)));
        if !below || file.id.contains('/') {
            return None;
        }
        let name = path.file_name()?.to_str()?;
        let target = root.join(path);
        let folder = target.parent()?.to_path_buf();
        let parts = format!("{name}.part-{}-", file.id);
        Some(Self { part: folder.join(format!("{parts}{}", file.attempt)), folder, target, parts })
    }

    /// Returns whether the file with this content is there.
    pub(crate) async fn has(&self, file: &File) -> io::Result<bool> {
        match fs::symlink_metadata(&self.target).await {
            Ok(found) if found.is_file() && found.len() == file.bytes => {}
            _ => return Ok(false),
        }
        let mut found = fs::File::open(&self.target).await?;
        let (mut hash, mut buffer) = (Sha256::new(), vec![0; 1 << 20]);
        loop {
            match found.read(&mut buffer).await? {
                0 => return Ok(hex::encode(hash.finalize()) == file.sha256),
                read => hash.update(&buffer[..read]),
            }
        }
    }

    /// Makes the folder, and removes the parts of other attempts. One that still runs elsewhere has nothing to rename then.
    pub(crate) async fn prepare(&self) -> io::Result<()> {
        fs::create_dir_all(&self.folder).await?;
        let mut entries = fs::read_dir(&self.folder).await?;
        while let Some(entry) = entries.next_entry().await? {
            if entry.file_name().to_str().is_some_and(|name| name.starts_with(&self.parts)) {
                fs::remove_file(entry.path()).await?;
            }
        }
        Ok(())
    }

    /// Creates the part, empty. It follows no link.
    pub(crate) async fn create(&self) -> io::Result<fs::File> {
        fs::OpenOptions::new().write(true).create_new(true).open(&self.part).await
    }

    /// Makes the part the file.
    pub(crate) async fn publish(&self) -> io::Result<()> {
        fs::rename(&self.part, &self.target).await?;
        fs::File::open(&self.folder).await?.sync_all().await
    }

    /// Removes the partial file, if possible.
    pub(crate) async fn discard(&self) {
        if let Err(error) = fs::remove_file(&self.part).await
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, "cannot remove the part");
        }
    }
}

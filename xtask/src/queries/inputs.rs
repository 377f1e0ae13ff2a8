//! Whether anything has changed since the last successful run.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
};

use anyhow::Context;

/// A hash of everything that `.sqlx` depends on, and of `.sqlx`.
#[derive(Debug)]
pub(super) struct Inputs {
    hash: String,
}

impl Inputs {
    pub(super) fn new(root: &Path, crates: &[PathBuf]) -> anyhow::Result<Self> {
        let mut folders = vec![root.join("migrations"), root.join(".sqlx")];
        folders.extend(crates.iter().cloned());
        let mut files = vec![root.join("Cargo.lock")];
        while let Some(folder) = folders.pop() {
            if !folder.exists() {
                continue;
            }
            for entry in std::fs::read_dir(folder)? {
                let entry = entry?;
                if entry.file_type()?.is_dir() {
                    folders.push(entry.path());
                } else {
                    files.push(entry.path());
                }
            }
        }
        files.sort();
        let mut hasher = DefaultHasher::new();
        for file in files {
            file.hash(&mut hasher);
            std::fs::read(file)?.hash(&mut hasher);
        }
        Ok(Self { hash: hasher.finish().to_string() })
    }

    /// Whether the last successful run had the same inputs.
    pub(super) fn are_recorded(&self) -> anyhow::Result<bool> {
        Ok(std::fs::read_to_string(record()?).is_ok_and(|text| text == self.hash))
    }

    pub(super) fn record(&self) -> anyhow::Result<()> {
        Ok(std::fs::write(record()?, &self.hash)?)
    }
}

/// The record is kept beside this program: `cargo clean` removes it.
fn record() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe()?;
    Ok(program.parent().context("a program without a folder")?.join("xtask-sqlx.record"))
}

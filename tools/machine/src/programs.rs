//! The programs of the platform, which `cargo xtask` has compiled in the same folder.

use std::path::PathBuf;

use anyhow::{Context, bail};

/// The folder of the programs.
pub fn folder() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe()?;
    Ok(program.parent().context("a program without a folder")?.to_owned())
}

/// Compiles them once more: those of another version have been compiled in between.
pub async fn build() -> anyhow::Result<PathBuf> {
    let mut cargo = tokio::process::Command::new("cargo");
    cargo.current_dir(xtask::root()).args(["build", "--workspace", "--bins", "--quiet"]);
    if !cargo.status().await?.success() {
        bail!("the build failed");
    }
    folder()
}

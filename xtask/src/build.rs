//! Building the programs.

use std::path::PathBuf;

use anyhow::{Context, bail};

/// Builds every program. Returns their folder.
pub(crate) async fn programs() -> anyhow::Result<PathBuf> {
    let mut cargo = tokio::process::Command::new("cargo");
    cargo.current_dir(crate::root()).args(["build", "--workspace", "--bins", "--quiet"]);
    if !cargo.status().await?.success() {
        bail!("the build failed");
    }
    // this program was built beside them
    let program = std::env::current_exe()?;
    Ok(program.parent().context("a program without a folder")?.to_owned())
}

//! The programs of both versions.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
};

use anyhow::{Context, ensure};
use tokio::process::Command;

/// The previous version.
pub(super) struct Previous {
    /// Its revision.
    pub(super) revision: String,
    /// Folder of its programs.
    pub(super) programs: PathBuf,
}

impl Previous {
    /// Whether that version has the program.
    pub(super) fn has(&self, program: &str) -> bool {
        self.programs.join(format!("atelier-{program}")).exists()
    }
}

/// The commit before the last one on the main line that changed the schema; that one itself if its migrations replace those
/// before it.
async fn before_the_last_migration() -> anyhow::Result<String> {
    let last = git(&["log", "-1", "--first-parent", "--format=%H", "--", "migrations"]).await?;
    ensure!(!last.is_empty(), "no commit has changed migrations/");
    let before = format!("{last}^");
    Ok(if is_continued(&before).await? { before } else { last })
}

/// Whether this tree has all migrations of a revision, unchanged.
async fn is_continued(revision: &str) -> anyhow::Result<bool> {
    let replaced =
        git(&["diff", "--name-only", "--no-renames", "--diff-filter=MD", revision, "--", "migrations"])
            .await?;
    Ok(replaced.is_empty())
}

/// Builds the programs of a revision in a tree of its own, with the target folder of this one: libraries of others are
/// compiled once.
pub(super) async fn build(from: Option<String>, folder: &Path) -> anyhow::Result<Previous> {
    let from = match from {
        Some(from) => from,
        None => before_the_last_migration().await?,
    };
    let revision = git(&["rev-parse", "--short=12", &format!("{from}^{{commit}}")]).await?;
    ensure!(
        is_continued(&revision).await?,
        "the schema of {revision} cannot be migrated: its migrations were replaced by others"
    );
    let programs = folder.join(format!("programs-{revision}"));
    let tree = folder.join("tree");
    unpack(&revision, &tree).await?;
    // a service that came later is not in that version
    let services = platform::services().iter();
    let names: Vec<_> = services
        .map(|one| one.name.as_str())
        .filter(|name| tree.join("services").join(name).exists())
        .collect();
    if names.iter().all(|name| programs.join(format!("atelier-{name}")).exists()) {
        std::fs::remove_dir_all(&tree)?;
        return Ok(Previous { revision, programs });
    }
    println!("building {revision} (the first time takes minutes)");
    let target = xtask::root().join("target");
    let mut cargo = Command::new("cargo");
    cargo.current_dir(&tree).env("CARGO_TARGET_DIR", &target);
    // that version need not follow the lints of this one
    cargo.env_remove("RUSTC_WORKSPACE_WRAPPER");
    // all of it: with fewer packages, libraries would have other features and be compiled again
    let built = cargo.args(["build", "--workspace", "--bins", "--quiet"]).status().await?;
    ensure!(built.success(), "the build of {revision} failed");
    std::fs::create_dir_all(&programs)?;
    for name in names {
        let program = format!("atelier-{name}");
        std::fs::copy(target.join("debug").join(&program), programs.join(&program))
            .with_context(|| format!("{revision} has no {program}"))?;
    }
    std::fs::remove_dir_all(&tree)?;
    Ok(Previous { revision, programs })
}

/// Writes the files of a revision into the folder.
async fn unpack(revision: &str, tree: &Path) -> anyhow::Result<()> {
    if tree.exists() {
        std::fs::remove_dir_all(tree)?;
    }
    std::fs::create_dir_all(tree)?;
    let mut archive = Command::new("git");
    archive.current_dir(xtask::root()).args(["archive", "--format=tar", revision]);
    let mut archive = archive.stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
    let tar: Stdio = archive.stdout.take().context("no output of git")?.try_into()?;
    let unpacked = Command::new("tar").arg("-x").current_dir(tree).stdin(tar).status().await?;
    ensure!(archive.wait().await?.success() && unpacked.success(), "cannot unpack {revision}");
    Ok(())
}

/// The revision of this tree.
pub(super) async fn own() -> String {
    git(&["describe", "--always", "--dirty", "--abbrev=12"]).await.unwrap_or_else(|_| "unknown".to_owned())
}

async fn git(arguments: &[&str]) -> anyhow::Result<String> {
    let output = Command::new("git").current_dir(xtask::root()).args(arguments).output().await?;
    ensure!(
        output.status.success(),
        "git {}: {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

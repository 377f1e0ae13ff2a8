//! `cargo xtask check`: what can be said of the source without running it, cheapest first.

use std::{ffi::OsString, process::Command};

use anyhow::{Context, bail};
use xtask::{
    pace::step,
    packages::{Consent, Tools},
};

const USAGE: &str = "usage: cargo xtask check [--yes] [--source]
  --yes     install what is missing without asking
  --source  only what needs no compiler: CI lints while it compiles";

/// Runs all steps.
pub(crate) fn run(arguments: &[OsString], consent: Consent) -> anyhow::Result<()> {
    if arguments.iter().any(|argument| argument != "--yes" && argument != "--source") {
        bail!("{USAGE}");
    }
    step("format", || succeed(cargo(&["fmt", "--all", "--check"])))?;
    let tools = step("cargo-shear, cargo-deny", || Tools::install(consent))?;
    step("unused dependencies", || succeed(tools.command("shear")))?;
    step("licenses and sources of dependencies", || dependencies(&tools))?;
    if arguments.iter().any(|argument| argument == "--source") {
        return Ok(());
    }
    step("lints and documentation", lint)
}

/// See deny.toml.
fn dependencies(tools: &Tools) -> anyhow::Result<()> {
    // also what only other platforms build: cargo-deny reads all of it
    succeed(cargo(&["fetch", "--locked", "--quiet"]))?;
    let mut deny = tools.command("deny");
    deny.args(["--offline", "--log-level", "error", "check", "bans", "licenses", "sources"]);
    succeed(deny)
}

/// Clippy and rustdoc process the crates one after the other, so that their dependencies are compiled once
/// for both.
fn lint() -> anyhow::Result<()> {
    let mut command = cargo(&["check", "--workspace", "--all-targets", "--quiet"]);
    // arguments end with this text, as those of `cargo clippy` do
    let arguments = ["--deny", "warnings"].map(|argument| format!("{argument}__CLIPPY_HACKERY__"));
    command.env("CLIPPY_ARGS", arguments.concat());
    command.env("RUSTC_WORKSPACE_WRAPPER", xtask::root().join(".ci/rustc"));
    succeed(command)
}

fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.args(arguments);
    command
}

fn succeed(mut command: Command) -> anyhow::Result<()> {
    let status =
        command.current_dir(xtask::root()).status().with_context(|| format!("cannot run {command:?}"))?;
    if !status.success() {
        bail!("failed: {command:?}");
    }
    Ok(())
}

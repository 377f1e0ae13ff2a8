//! Compiling what a command needs.

use std::{path::PathBuf, process::Command, time::Instant};

use anyhow::{Context, bail};
use xtask::commands::Builds;

/// Compiles all of it in one run of cargo, so that no core waits between two.
pub(crate) fn build(what: Builds) -> anyhow::Result<()> {
    let arguments: &[&str] = match what {
        Builds::Nothing => return Ok(()),
        // not `--package`: every dependency would then be rebuilt with the features that this one requests
        Builds::Tools => &["--bin", "atelier-tools"],
        Builds::Programs => &["--bins"],
        Builds::Benches => &["--bins", "--examples"],
        Builds::Tests => &["--bins", "--lib", "--tests"],
    };
    println!("building (the first time takes minutes)");
    let begun = Instant::now();
    let mut cargo = Command::new("cargo");
    cargo.current_dir(xtask::root()).args(["build", "--workspace", "--quiet", "--timings"]).args(arguments);
    if !cargo.status().context("cannot run cargo")?.success() {
        bail!("the build failed");
    }
    println!("  {:<28} {:>6.2} s", "built", begun.elapsed().as_secs_f64());
    xtask::pace::record(&format!("build: {}", arguments.join(" ")), begun)
}

/// The folder of the programs, in which this one was built.
pub(crate) fn folder() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe()?;
    Ok(program.parent().context("a program without a folder")?.to_owned())
}

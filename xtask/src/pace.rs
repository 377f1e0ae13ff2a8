//! Durations of the commands' steps, stored under `target` for `cargo xtask pace`.

use std::{io::Write, path::PathBuf, time::Instant};

/// The file with a line for each step that has ended: seconds, a tab, the name.
const STEPS: &str = "steps.tsv";

fn folder() -> PathBuf {
    crate::target().join("pace")
}

/// The steps that have ended, a line for each: seconds, a tab, the name.
#[must_use]
pub fn steps() -> String {
    kept(STEPS)
}

/// Returns the contents of this file; empty without it.
#[must_use]
pub fn kept(file: &str) -> String {
    std::fs::read_to_string(folder().join(file)).unwrap_or_default()
}

/// Keeps a measurement in this file, instead of the last one.
///
/// # Errors
/// The file cannot be written.
pub fn keep(file: &str, measured: &str) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder())?;
    Ok(std::fs::write(folder().join(file), measured)?)
}

/// Adds a step that began at `begun`.
///
/// # Errors
/// The file cannot be written.
pub fn record(name: &str, begun: Instant) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder())?;
    let mut file = std::fs::File::options().create(true).append(true).open(folder().join(STEPS))?;
    Ok(writeln!(file, "{:.1}\t{name}", begun.elapsed().as_secs_f64())?)
}

/// Runs a step: prints its name, and at the end its duration.
///
/// # Errors
/// That of the step.
pub fn step<T>(name: &str, work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    println!("── {name}");
    let begun = Instant::now();
    let done = work()?;
    println!("── {name}: {:.1} s", begun.elapsed().as_secs_f64());
    record(name, begun)?;
    Ok(done)
}

//! The parts of the developer's commands that run before anything else is compiled: their list, and the
//! packages of the machine. Few dependencies may enter, as `cargo xtask` waits for this crate on a new
//! machine.
#![expect(clippy::print_stdout, reason = "a command-line program talks to its user")]

pub mod commands;
pub mod pace;
pub mod packages;

use std::path::PathBuf;

/// The repository's root folder.
#[must_use]
pub fn root() -> PathBuf {
    let mut path = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    path.pop();
    path
}

/// Cargo's target folder.
#[must_use]
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |folder| root().join(folder))
}

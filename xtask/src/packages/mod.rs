//! Installs what this machine lacks, after asking.

mod console;
mod debian;
mod found_postgres;
mod long;
mod npm;
mod postgres;
mod python;
mod tests;

use std::{
    io::{IsTerminal, Write},
    path::PathBuf,
    process::Command,
};

use anyhow::{Context, bail};

pub use self::{
    console::{console, for_console},
    debian::{
        FAKETIME, busybox, docker_compose, faketime, for_smoke, haproxy, image_builder, optional_rabbitmq,
        prometheus, proxies, rabbitmq, valkey,
    },
    long::Long,
    npm::queues,
    postgres::postgres,
    python::{Tools, cargo_mutants, python_program},
    tests::Tests,
};

/// Whether to install without asking.
#[derive(Debug, Clone, Copy)]
pub struct Consent {
    given: bool,
}

impl Consent {
    /// `--yes`, or a run in CI, counts as consent.
    pub fn new(yes: bool) -> Self {
        Self { given: yes || std::env::var_os("CI").is_some() }
    }

    fn ask(self, what: &str) -> anyhow::Result<()> {
        println!("  missing: {what}");
        if self.given {
            return Ok(());
        }
        if !std::io::stdin().is_terminal() {
            bail!("{what} is required; --yes installs it");
        }
        if !Self::is_granted()? {
            bail!("{what} is required");
        }
        Ok(())
    }

    /// Whether to install what is not required. Without a terminal, only with consent in advance.
    fn wants(self, what: &str) -> anyhow::Result<bool> {
        println!("  missing: {what}, which is not required");
        Ok(self.given || std::io::stdin().is_terminal() && Self::is_granted()?)
    }

    fn is_granted() -> anyhow::Result<bool> {
        print!("  install it? [y/N] ");
        std::io::stdout().flush()?;
        let mut answer = String::new();
        std::io::stdin().read_line(&mut answer)?;
        Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
    }
}

/// Installs the packages that a command will need, only with consent in advance, while the command is
/// compiled.
///
/// # Errors
/// A required package cannot be installed.
pub fn install_ahead(consent: Consent, command: &str) -> anyhow::Result<()> {
    if !consent.given {
        return Ok(());
    }
    match command {
        "up" => {
            postgres(consent, &crate::root().join(".atelier/postgresql"))?;
            optional_rabbitmq(consent)?;
            console(consent).map(drop)
        }
        "console" => for_console(consent).map(drop),
        "smoke" => for_smoke(consent),
        "test" => {
            debian::for_tests(consent)?;
            Tests::install(consent).map(drop)
        }
        _ => Ok(()),
    }
}

fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(|file| file.is_file())
}

/// Runs a command to its end. Its output is shown only if it fails.
fn run(what: &str, mut command: Command) -> anyhow::Result<()> {
    let output = command.output().with_context(|| format!("cannot run {what}"))?;
    if !output.status.success() {
        bail!(
            "{what} failed ({}):\n{}{}",
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(())
}

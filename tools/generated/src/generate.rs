//! Generated files that are committed, and their check for drift.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, bail};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Change nothing; fail if a committed file differs from the generated one
    #[arg(long)]
    check: bool,
}

impl Args {
    /// `--check`
    pub fn check() -> Self {
        Self { check: true }
    }
}

/// `openapi/<service>.json`.
pub async fn openapi(args: &Args) -> anyhow::Result<()> {
    let programs = machine::programs::folder()?;
    let mut files = Vec::new();
    // the gateway merges those of the others
    for service in platform::services().iter().map(|one| &one.name).filter(|name| *name != platform::GATEWAY)
    {
        let text = output_of(&programs, &format!("atelier-{service}"), &["openapi"])?;
        files.push((xtask::root().join(format!("openapi/{service}.json")), text));
    }
    put(args, "cargo xtask openapi", &files)
}

/// `deploy/crds/crds.yaml`.
pub async fn crds(args: &Args) -> anyhow::Result<()> {
    let programs = machine::programs::folder()?;
    let text = output_of(&programs, "atelier-operator", &["crds"])?;
    put(args, "cargo xtask crds", &[(xtask::root().join("deploy/crds/crds.yaml"), text)])
}

/// Standard output of a service's program.
pub fn output_of(programs: &Path, program: &str, arguments: &[&str]) -> anyhow::Result<String> {
    let mut command = Command::new(programs.join(program));
    let output = command.args(arguments).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        bail!("{program} {} failed", arguments.join(" "));
    }
    Ok(String::from_utf8(output.stdout)?)
}

pub fn put(args: &Args, again: &str, files: &[(PathBuf, String)]) -> anyhow::Result<()> {
    let mut drifted = Vec::new();
    for (file, text) in files {
        let committed = std::fs::read_to_string(file).unwrap_or_default();
        if &committed == text {
            continue;
        }
        if args.check {
            drifted.push(relative(file));
        } else {
            std::fs::create_dir_all(file.parent().context("the file has no folder")?)?;
            std::fs::write(file, text)?;
            println!("wrote {}", relative(file));
        }
    }
    if drifted.is_empty() {
        return Ok(());
    }
    bail!("out of date: {}; run `{again}` and commit", drifted.join(", "))
}

fn relative(file: &Path) -> String {
    file.strip_prefix(xtask::root()).unwrap_or(file).display().to_string()
}

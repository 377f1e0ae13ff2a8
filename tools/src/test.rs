//! `cargo xtask test`: all tests, on a Postgres and a Ceph RGW started for this run.

use std::{
    num::NonZero,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use nix::sys::signal::Signal;
use tokio::process::Command;

use crate::{
    files,
    process::{self, Running},
    rgw::Rgw,
    scratch::Scratch,
    skipped,
};
use xtask::packages::{self, Consent, Tools};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Install what is missing without asking
    #[arg(long)]
    yes: bool,
    /// Run the cases of the operator and of the development cluster on the cluster of KUBECONFIG
    #[arg(long)]
    cluster: bool,
    /// Try more: random histories and generated requests get a budget of many minutes, and what runs on workers in Python is
    /// run: the trainer, and the examples with PyTorch and Ray
    #[arg(long)]
    long: bool,
    /// Passed on to cargo nextest, for example a filter
    #[arg(last = true)]
    nextest: Vec<String>,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    let consent = Consent::new(args.yes);
    let scratch = Scratch::new()?;
    let packages = packages::Tests::install(consent)?;
    let mut cargo = nextest(&packages.tools);
    if args.cluster {
        let kubeconfig = std::env::var_os("KUBECONFIG").context("--cluster needs KUBECONFIG")?;
        cargo.env("TEST_KUBECONFIG", PathBuf::from(kubeconfig));
        cargo.args(["--package", "atelier-operator", "--package", "atelier-devcluster"]);
        cargo.args(["--test", "it", "--test-threads", "1"]).args(&args.nextest);
        return finish(cargo, async { Ok(()) }).await;
    }
    cargo.args(["--workspace", "--lib", "--bins", "--tests"]).args(&args.nextest);
    let programs = scratch.postgres_programs(consent)?;
    let long = match args.long {
        true => Some(packages::Long::install(consent)?),
        false => None,
    };
    if let Some(long) = &long {
        cargo.env("TEST_LONG", "1");
        for (variable, python) in [("TEST_PYTORCH", &long.pytorch), ("TEST_RAY", &long.ray)] {
            if let Some(python) = python {
                cargo.env(variable, python);
            }
        }
    }
    let optional = [
        ("TEST_OIDC_PROVIDER", &packages.openid_provider),
        ("TEST_SCHEMATHESIS", &packages.schemathesis),
        ("TEST_HELM", &packages.helm),
    ];
    for (variable, path) in optional {
        if let Some(path) = path {
            cargo.env(variable, path);
        }
    }

    let begun = Instant::now();
    let temporary = scratch.path().join("tmp");
    std::fs::create_dir(&temporary)?;
    let postgres = scratch.postgres(&programs).await?;
    let rgw = Rgw::start(&scratch.path().join("ceph")).await?;
    println!("Postgres and Ceph RGW are up ({:.1} s)", begun.elapsed().as_secs_f64());
    cargo
        .env("TMPDIR", &temporary)
        .env("TEST_POSTGRES", postgres.admin_url())
        .env("TEST_POSTGRES_BIN", &programs)
        .env("RGW_ENDPOINT", &rgw.endpoint)
        .env("RGW_ACCESS_KEY", &rgw.access_key)
        .env("RGW_SECRET_KEY", &rgw.secret_key);
    let begun = Instant::now();
    // they need one core for a minute, and a difference stops the cases
    let files = async {
        match args.nextest.is_empty() {
            true => files::run(&packages, &postgres).await,
            false => Ok(()),
        }
    };
    let done =
        Box::pin(finish(cargo, files)).await.and_then(|()| xtask::pace::record("running the cases", begun));
    rgw.stop().await;
    postgres.stop().await;
    done?;
    match long {
        Some(long) if args.nextest.is_empty() => trainer(long.pytorch.as_deref(), &temporary).await,
        _ => Ok(()),
    }
}

/// The tests of the trainer, and those of the examples by themselves. They start processes that have to answer in time: after the
/// cases.
async fn trainer(python: Option<&Path>, temporary: &Path) -> anyhow::Result<()> {
    let Some(python) = python else {
        println!("skipped: the tests of the trainer (PyTorch is not installed)");
        return Ok(());
    };
    let begun = Instant::now();
    let mut pytest = process::command(python, Signal::SIGINT);
    pytest.current_dir(xtask::root()).env("TMPDIR", temporary).env("PYTHONDONTWRITEBYTECODE", "1");
    pytest.args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider"]);
    pytest.args(["images/trainer-diffusers/tests", "images/examples/tests"]);
    let mut tests = Running::spawn("pytest", pytest)?;
    let ended = tokio::select! {
        ended = tests.ended() => ended,
        _ = tokio::signal::ctrl_c() => {
            tests.stop(Signal::SIGINT, Duration::from_secs(10)).await;
            bail!("interrupted");
        }
    };
    if ended != "exit status: 0" {
        bail!("the tests of the trainer did not pass ({ended})");
    }
    xtask::pace::record("the tests of the trainer", begun)
}

/// `cargo nextest run`, to which the packages and the environment are added. .config/nextest.toml configures it.
fn nextest(tools: &Tools) -> Command {
    let mut cargo = process::prepare(tools.command("nextest"), Signal::SIGINT);
    cargo.args(["run", "--no-fail-fast"]);
    // a case waits for half of its time: for processes, Postgres and periods
    let threads = 2 * std::thread::available_parallelism().map_or(1, NonZero::get);
    cargo.env("NEXTEST_TEST_THREADS", threads.to_string());
    cargo
}

/// Runs the cases, and `beside` at the same time. An error of the latter stops the cases.
async fn finish(cargo: Command, beside: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<()> {
    let report = report()?;
    let _ = std::fs::remove_file(&report);
    let mut tests = Running::spawn("cargo nextest", cargo)?;
    let ended = tokio::select! {
        both = async { tokio::try_join!(async { Ok(tests.ended().await) }, beside) } => both.map(|(ended, ())| ended),
        _ = tokio::signal::ctrl_c() => Err(anyhow::anyhow!("interrupted")),
    };
    let ended = match ended {
        Ok(ended) => ended,
        Err(error) => {
            tests.stop(Signal::SIGINT, Duration::from_secs(10)).await;
            return Err(error);
        }
    };
    if let Ok(text) = std::fs::read_to_string(&report) {
        for case in skipped::cases(&text) {
            println!("skipped: {} ({})", case.name, case.reason);
        }
        if let Some(summary) = skipped::summary(&text) {
            println!("{summary}");
        }
    }
    if ended != "exit status: 0" {
        bail!("the tests did not pass ({ended})");
    }
    Ok(())
}

/// Where nextest writes its report: .config/nextest.toml.
fn report() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe()?;
    let target = program.parent().and_then(Path::parent).context("a program outside a target folder")?;
    Ok(target.join("nextest/default/junit.xml"))
}

//! `cargo xtask test`: all tests, on a Postgres and a Ceph RGW started for this run.

mod repeat;
pub(crate) mod report;

use std::{
    ffi::OsString,
    num::NonZero,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context, bail, ensure};
use machine::{
    process::{self, Running},
    rgw::Rgw,
    scratch::Scratch,
};
use nix::sys::signal::Signal;
use tokio::process::Command;
use xtask::packages::{self, Consent, Tools};

use self::report::Run;
use crate::files;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Install what is missing without asking
    #[arg(long)]
    yes: bool,
    /// Run the cases of the operator and of the development cluster on the cluster of KUBECONFIG
    #[arg(long)]
    cluster: bool,
    /// Test longer: random histories and generated requests run for many minutes, and the Python programs of workers
    /// are tested: the trainer, and the examples with PyTorch and Ray
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
    let mut nextest = Nextest { tools: &packages.tools, environment: Vec::new() };
    if args.cluster {
        let kubeconfig = std::env::var_os("KUBECONFIG").context("--cluster needs KUBECONFIG")?;
        nextest.environment.push(("TEST_KUBECONFIG", kubeconfig));
        let mut cargo = nextest.run();
        cargo.args(["--package", "atelier-operator", "--package", "atelier-devcluster"]);
        cargo.args(["--test", "it", "--test-threads", "1"]).args(&args.nextest);
        return passed(&finish(cargo, async { Ok(()) }).await?);
    }
    let programs = scratch.postgres_programs(consent)?;
    let long = match args.long {
        true => Some(packages::Long::install(consent)?),
        false => None,
    };
    if let Some(long) = &long {
        nextest.environment.push(("TEST_LONG", "1".into()));
        let pythons = [("TEST_PYTORCH", &long.pytorch), ("TEST_RAY", &long.ray)];
        nextest
            .environment
            .extend(pythons.into_iter().filter_map(|(name, python)| Some((name, python.as_ref()?.into()))));
    }
    let optional = [
        ("TEST_OIDC_PROVIDER", &packages.openid_provider),
        ("TEST_SCHEMATHESIS", &packages.schemathesis),
        ("TEST_HELM", &packages.helm),
    ];
    nextest
        .environment
        .extend(optional.into_iter().filter_map(|(name, path)| Some((name, path.as_ref()?.into()))));

    let begun = Instant::now();
    let temporary = scratch.path().join("tmp");
    std::fs::create_dir(&temporary)?;
    let postgres = scratch.postgres(&programs).await?;
    let rgw = Rgw::start(&scratch.path().join("ceph")).await?;
    println!("Postgres and Ceph RGW are up ({:.1} s)", begun.elapsed().as_secs_f64());
    nextest.environment.extend::<[(_, OsString); 6]>([
        ("TMPDIR", temporary.clone().into()),
        ("TEST_POSTGRES", postgres.admin_url().into()),
        ("TEST_POSTGRES_BIN", programs.into()),
        ("RGW_ENDPOINT", (&rgw.endpoint).into()),
        ("RGW_ACCESS_KEY", (&rgw.access_key).into()),
        ("RGW_SECRET_KEY", (&rgw.secret_key).into()),
    ]);
    let begun = Instant::now();
    // they need one core for a minute, and a difference stops the cases
    let files = async {
        match args.nextest.is_empty() {
            true => files::run(&packages, &postgres).await,
            false => Ok(()),
        }
    };
    let done = Box::pin(all(&nextest, &args.nextest, files)).await;
    let done = done.and_then(|()| xtask::pace::record("running the cases", begun));
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

/// How nextest is started: for all cases, and again for those that failed. .config/nextest.toml configures it.
struct Nextest<'a> {
    tools: &'a Tools,
    environment: Vec<(&'static str, OsString)>,
}

impl Nextest<'_> {
    /// `cargo nextest run`, to which the packages are added.
    fn run(&self) -> Command {
        let mut cargo = process::prepare(self.tools.command("nextest"), Signal::SIGINT);
        cargo.args(["run", "--no-fail-fast"]);
        // a case waits for half of its time: for processes, Postgres and periods
        let threads = 2 * std::thread::available_parallelism().map_or(1, NonZero::get);
        cargo.env("NEXTEST_TEST_THREADS", threads.to_string());
        cargo.envs(self.environment.iter().map(|(name, value)| (name, value)));
        cargo
    }

    fn run_workspace(&self) -> Command {
        let mut cargo = self.run();
        cargo.args(["--workspace", "--lib", "--bins", "--tests"]);
        cargo
    }
}

/// Runs the cases, and `beside` at the same time. If all were requested, failed cases are repeated.
async fn all(
    nextest: &Nextest<'_>,
    selected: &[String],
    beside: impl Future<Output = anyhow::Result<()>>,
) -> anyhow::Result<()> {
    let mut cargo = nextest.run_workspace();
    cargo.args(selected);
    let ended = finish(cargo, beside).await?;
    let run = Run::last()?;
    let failed = run.failed();
    xtask::pace::keep("repeated.txt", "")?;
    let Some(arguments) = repeat::arguments(&failed).filter(|_| selected.is_empty()) else {
        return passed(&ended);
    };
    let names: Vec<_> = failed.iter().map(|case| case.name()).collect();
    let names = names.join(", ");
    println!("repeated with nothing beside it: {names}");
    let mut cargo = nextest.run_workspace();
    cargo.args(arguments);
    passed(&ended_of(cargo, async { Ok(()) }).await?)?;
    let found = format!("  UNSTABLE: failed among all others, and passed when repeated alone: {names}\n");
    print!("{found}");
    xtask::pace::keep("repeated.txt", &found)
}

fn passed(ended: &str) -> anyhow::Result<()> {
    ensure!(ended == "exit status: 0", "the tests did not pass ({ended})");
    Ok(())
}

/// Runs the cases, and `beside` at the same time, and says what was skipped. An error of `beside` stops the cases. Returns how
/// nextest ended.
async fn finish(cargo: Command, beside: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<String> {
    Run::forget();
    let ended = ended_of(cargo, beside).await?;
    let run = Run::last()?;
    for case in run.cases() {
        if let Some(reason) = case.skipped() {
            println!("skipped: {} ({reason})", case.name());
        }
    }
    println!("{}", run.summary());
    Ok(ended)
}

async fn ended_of(
    cargo: Command,
    beside: impl Future<Output = anyhow::Result<()>>,
) -> anyhow::Result<String> {
    let mut tests = Running::spawn("cargo nextest", cargo)?;
    let ended = tokio::select! {
        both = async { tokio::try_join!(async { Ok(tests.ended().await) }, beside) } => both.map(|(ended, ())| ended),
        _ = tokio::signal::ctrl_c() => Err(anyhow::anyhow!("interrupted")),
    };
    if ended.is_err() {
        tests.stop(Signal::SIGINT, Duration::from_secs(10)).await;
    }
    ended
}

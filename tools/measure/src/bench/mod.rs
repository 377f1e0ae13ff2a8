//! `cargo xtask bench NAME`: reproducible measurements. Each prints a table and a last line `NAME: key=value …`.

mod console;
mod fairness;
mod plain;
mod platform;
mod reclaim;
mod recovery;
mod victims;
mod workers;

use anyhow::ensure;
use machine::{
    own::Task,
    postgres::{Options, Postgres},
    process::{self, Running},
};
use nix::sys::signal::Signal;
use xtask::packages::{self, Consent};

use crate::{benchmark::Bench, smoke};

/// The profile of all programs: they are built with this one.
const PROFILE: &str = if cfg!(debug_assertions) { "debug" } else { "release" };

#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to measure
    name: Bench,
    /// Only show that it runs: the smallest size, in the dev profile
    #[arg(long)]
    smoke: bool,
    /// Its program is built, in the dev profile
    #[arg(long, hide = true)]
    built: bool,
    /// Install what is missing without asking
    #[arg(long)]
    yes: bool,
    /// Passed on to the benchmark
    #[arg(last = true)]
    rest: Vec<String>,
}

/// Returns the remaining work, which needs a platform of its own.
///
/// # Errors
/// If the measurement fails, or its options are not valid.
pub async fn run(args: Args) -> anyhow::Result<Option<Task>> {
    if args.smoke {
        ensure!(args.rest.is_empty(), "a smoke run has its own size");
        if let Some((example, _)) = args.name.example() {
            build(&["--example", example]).await?;
        }
        smoke::run(smoke::Args { only: vec![args.name.name()], yes: args.yes }).await?;
        return Ok(None);
    }
    let consent = Consent::new(args.yes);
    let Some((example, command)) = args.name.example() else {
        return match args.name {
            Bench::Console if args.built => console::run(&args.rest, consent).map(Some),
            Bench::Fairness if args.built => fairness::run(&args.rest).await,
            Bench::Console | Bench::Fairness => released(&args).await.map(|()| None),
            Bench::JobsReclaim => reclaim::run(&args.rest).map(Some),
            _ => recovery::run(&args.rest).map(Some),
        };
    };
    let profile = if args.built {
        "debug"
    } else {
        build(&["--release", "--example", example]).await?;
        "release"
    };
    let program = xtask::target().join(profile).join("examples").join(example);
    let mut bench = process::command(program, Signal::SIGINT);
    bench.current_dir(xtask::root()).args(command);
    let folder = std::env::temp_dir().join(format!("atelier-bench-{}", std::process::id()));
    match args.name {
        Bench::Cache => packages::valkey(consent)?,
        Bench::Gateway => packages::proxies(consent)?,
        Bench::JobsIntake => packages::rabbitmq(consent)?,
        Bench::JobsEnqueue => {
            packages::rabbitmq(consent)?;
            // a smoke run does without: they are downloaded each time
            if !args.built
                && let Some(queues) = packages::queues(consent, &folder.join("queues"))?
            {
                bench.env("BENCH_PEERS", queues);
            }
        }
        _ => {}
    }
    bench.args(&args.rest);

    let is_given = std::env::var_os("BENCH_POSTGRES").is_some();
    let postgres = if args.name.needs_postgres() && !is_given {
        let bin = packages::postgres(consent, &folder.join("download"))?;
        let port = process::free_port()?;
        let postgres = Postgres::start(&Options {
            bin: &bin,
            data: folder.join("postgres"),
            port,
            password: "bench",
            fsync: true,
            max_connections: 300,
        })
        .await?;
        bench.env("BENCH_POSTGRES", postgres.admin_url()).env("BENCH_POSTGRES_BIN", &bin);
        Some(postgres)
    } else {
        None
    };
    let ended = Running::spawn("the benchmark", bench)?.ended().await;
    if let Some(postgres) = postgres {
        postgres.stop().await;
        machine::postgres::remove(&folder.join("postgres"))?;
        std::fs::remove_dir_all(&folder)?;
    }
    ensure!(ended == "exit status: 0", "the benchmark failed ({ended})");
    Ok(None)
}

/// Measures a platform of release programs: with this program as it is built with them.
async fn released(args: &Args) -> anyhow::Result<()> {
    build(&["--release", "--bins"]).await?;
    let program = xtask::target().join("release").join("atelier-tools");
    let mut bench = tokio::process::Command::new(program);
    bench.args(["bench", &args.name.name(), "--built"]).args(args.yes.then_some("--yes"));
    bench.arg("--").args(&args.rest);
    ensure!(bench.status().await?.success(), "the benchmark failed");
    Ok(())
}

/// Builds with the features of the whole workspace, as everything else: what both need is compiled once.
async fn build(arguments: &[&str]) -> anyhow::Result<()> {
    let mut build = tokio::process::Command::new("cargo");
    build.current_dir(xtask::root()).args(["build", "--workspace"]).args(arguments);
    ensure!(build.status().await?.success(), "the build failed");
    Ok(())
}

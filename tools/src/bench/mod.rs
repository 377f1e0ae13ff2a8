//! `cargo xtask bench NAME`: reproducible measurements. Each prints a table and a last line `NAME: key=value …`.

mod console;
mod fairness;
mod plain;
mod platform;
mod reclaim;
mod recovery;
mod sizes;
mod victims;
mod workers;

use anyhow::{bail, ensure};
use clap::ValueEnum;
use nix::sys::signal::Signal;

use crate::{
    postgres::{Options, Postgres},
    process::{self, Running},
    smoke,
};
use xtask::packages::{self, Consent};

/// The profile of all programs: they are built with this one.
const PROFILE: &str = if cfg!(debug_assertions) { "debug" } else { "release" };

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
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

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum Bench {
    /// Claims of one hot specification over HTTP, against pgbench on the same Postgres
    Claims,
    /// The gateway beside HAProxy and nginx: requests per second, latency, CPU time
    Gateway,
    /// What a tenant notices of another that sends far more than its share, at the gateway and one service
    GatewayFairness,
    /// What a tenant notices of another at full speed on the whole platform: requests, and waits of jobs
    Fairness,
    /// Sign-ins with a password, with one client and with many, beside the hashes that they need
    SignIn,
    /// What the cache saves: progress of jobs, reads of the catalogue, exchanges of API keys
    Cache,
    /// From a release to the news of the grant, with 10 and with 10,000 instances that wait
    Queue,
    /// The console in Chromium with 100,000 instances and 1,000,000 jobs in the tenant: lists, palette, events, what is loaded
    Console,
    /// Lists, reads, creations and reports of usage with 1,000,000 instances and with 10,000; from a grant to the start of an instance
    Instances,
    /// Claims with one datacenter and 10,000 users, and with 100 and 1,000,000
    Scale,
    /// Jobs a second by REST and by message, beside RabbitMQ alone, Postgres alone, graphile-worker and pg-boss
    JobsEnqueue,
    /// How long a message of a tenant waits for its answer while another sends as many as the broker takes
    JobsIntake,
    /// How soon a worker has a job, with nothing else to do and with 100,000 queued jobs
    JobsDispatch,
    /// Rounds of the scheduling core with 100,000 queued jobs and 5,000 GPUs
    JobsCore,
    /// Requests for pictures, or trainings on several GPUs, replayed by the scheduling core and by simple schedulers
    JobsReplay,
    /// Shares, guarantees, and what tenants notice of one that sends 100,000 jobs
    JobsFairness,
    /// Forecasts of the scheduling core, and what became of them
    JobsEta,
    /// How soon an instance runs on a GPU that was lent to a worker, beside one that was free
    JobsReclaim,
    /// How many users' starts take a unit from a job with the hold-back and without it, and what jobs lose by that
    HoldBack,
    /// Broker, service, Postgres and workers killed again and again while jobs are submitted: what is lost, twice, and how long
    /// it takes to recover
    JobsRecovery,
    /// 5,000 units: starts, API calls, steady state, memory
    Operator,
}

impl Bench {
    /// Its name on the command line, and in the last line.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// The example that measures, and its command, if it has several. None: this program measures a whole platform.
    fn example(self) -> Option<(&'static str, Option<&'static str>)> {
        Some(match self {
            Self::Claims => ("bench_stock", Some("claims")),
            Self::Cache => ("bench_cache", None),
            Self::Queue => ("bench_stock", Some("queue")),
            Self::Scale => ("bench_stock", Some("scale")),
            Self::HoldBack => ("bench_stock", Some("hold-back")),
            Self::SignIn => ("bench_identity", None),
            Self::Instances => ("bench_gpu", None),
            Self::Operator => ("bench_operator", None),
            Self::Gateway => ("bench_gateway", Some("gateway")),
            Self::GatewayFairness => ("bench_gateway", Some("fairness")),
            Self::JobsEnqueue => ("bench_jobs", Some("enqueue")),
            Self::JobsIntake => ("bench_jobs", Some("intake")),
            Self::JobsDispatch => ("bench_jobs", Some("dispatch")),
            Self::JobsCore => ("bench_jobs", Some("core")),
            Self::JobsReplay => ("bench_jobs", Some("replay")),
            Self::JobsFairness => ("bench_jobs", Some("fairness")),
            Self::JobsEta => ("bench_jobs", Some("eta")),
            Self::Console | Self::Fairness | Self::JobsReclaim | Self::JobsRecovery => return None,
        })
    }

    /// Whether it measures on a Postgres that is started for it.
    pub(crate) fn needs_postgres(self) -> bool {
        match self {
            Self::Claims
            | Self::SignIn
            | Self::Cache
            | Self::Queue
            | Self::Scale
            | Self::HoldBack
            | Self::Instances
            | Self::GatewayFairness
            | Self::JobsEnqueue
            | Self::JobsIntake
            | Self::JobsDispatch => true,
            Self::Gateway
            | Self::Console
            | Self::Fairness
            | Self::Operator
            | Self::JobsCore
            | Self::JobsReplay
            | Self::JobsFairness
            | Self::JobsEta
            | Self::JobsReclaim
            | Self::JobsRecovery => false,
        }
    }
}

pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    if args.smoke {
        ensure!(args.rest.is_empty(), "a smoke run has its own size");
        if let Some((example, _)) = args.name.example() {
            build(&["--example", example]).await?;
        }
        return smoke::run(smoke::Args { only: vec![args.name.name()], yes: args.yes }).await;
    }
    let consent = Consent::new(args.yes);
    let Some((example, command)) = args.name.example() else {
        return match args.name {
            Bench::Console if args.built => console::run(&args.rest, consent).await,
            Bench::Fairness if args.built => fairness::run(&args.rest).await,
            Bench::Console | Bench::Fairness => released(&args).await,
            Bench::JobsReclaim => reclaim::run(&args.rest).await,
            _ => recovery::run(&args.rest).await,
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
        crate::postgres::remove(&folder.join("postgres"))?;
        std::fs::remove_dir_all(&folder)?;
    }
    if ended == "exit status: 0" { Ok(()) } else { bail!("the benchmark failed ({ended})") }
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

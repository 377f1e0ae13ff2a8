//! `cargo xtask bench NAME`: reproducible measurements. Each prints a table and a last line `NAME: key=value …`.

mod plain;
mod platform;
mod reclaim;
mod recovery;
mod victims;
mod workers;

use anyhow::bail;
use nix::sys::signal::Signal;

use crate::{
    postgres::{Options, Postgres},
    process::{self, Running},
};
use xtask::packages::{self, Consent};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What to measure
    name: Bench,
    /// Install what is missing without asking
    #[arg(long)]
    yes: bool,
    /// Passed on to the benchmark
    #[arg(last = true)]
    rest: Vec<String>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Bench {
    /// Claims of one hot specification over HTTP, against pgbench on the same Postgres
    Claims,
    /// The gateway beside HAProxy and nginx: requests per second, latency, CPU time
    Gateway,
    /// What a tenant notices of another that sends far more than its share
    Fairness,
    /// From a release to the news of the grant, with 10 and with 10,000 instances that wait
    Queue,
    /// Lists, reads and creations with 1,000,000 instances and with 10,000; from a grant to the start of an instance
    Instances,
    /// Claims with one datacenter and 10,000 users, and with 100 and 1,000,000
    Scale,
    /// Jobs a second by REST and by message, beside RabbitMQ alone, Postgres alone, graphile-worker and pg-boss
    JobsEnqueue,
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

pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    let consent = Consent::new(args.yes);
    let (package, example) = match args.name {
        Bench::JobsReclaim => return reclaim::run(&args.rest).await,
        Bench::JobsRecovery => return recovery::run(&args.rest).await,
        Bench::Claims => ("atelier-stock", "bench_claims"),
        Bench::Queue => ("atelier-stock", "bench_queue"),
        Bench::Scale => ("atelier-stock", "bench_scale"),
        Bench::HoldBack => ("atelier-stock", "bench_hold_back"),
        Bench::Instances => ("atelier-gpu", "bench_instances"),
        Bench::Operator => ("atelier-operator", "bench_operator"),
        Bench::JobsEnqueue | Bench::JobsDispatch => ("atelier-jobs", "bench_service"),
        Bench::JobsCore => ("atelier-jobs", "bench_schedule"),
        Bench::JobsReplay => ("atelier-jobs", "bench_replay"),
        Bench::JobsFairness => ("atelier-jobs", "bench_shares"),
        Bench::JobsEta => ("atelier-jobs", "bench_eta"),
        Bench::Gateway => ("atelier-gateway", "bench_gateway"),
        Bench::Fairness => ("atelier-gateway", "bench_fairness"),
    };
    let mut build = tokio::process::Command::new("cargo");
    build.current_dir(xtask::root()).args(["build", "--release", "--package", package, "--example", example]);
    if !build.status().await?.success() {
        bail!("the build failed");
    }
    let mut bench = process::command("cargo", Signal::SIGINT);
    bench.current_dir(xtask::root()).args(["run", "--release", "--quiet", "--package", package]);
    bench.args(["--example", example, "--"]);
    let folder = std::env::temp_dir().join(format!("atelier-bench-{}", std::process::id()));
    match args.name {
        Bench::JobsEnqueue => {
            packages::rabbitmq(consent)?;
            if let Some(queues) = packages::queues(consent, &folder.join("queues"))? {
                bench.env("BENCH_PEERS", queues);
            }
            bench.arg("enqueue");
        }
        Bench::JobsDispatch => {
            bench.arg("dispatch");
        }
        _ => {}
    }
    bench.args(&args.rest);

    let postgres = match args.name {
        Bench::Operator
        | Bench::JobsCore
        | Bench::JobsReplay
        | Bench::JobsFairness
        | Bench::JobsEta
        | Bench::JobsReclaim
        | Bench::JobsRecovery => None,
        Bench::Gateway => {
            packages::proxies(consent)?;
            None
        }
        Bench::Claims
        | Bench::Queue
        | Bench::Scale
        | Bench::HoldBack
        | Bench::Instances
        | Bench::Fairness
        | Bench::JobsEnqueue
        | Bench::JobsDispatch => {
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
        }
    };
    let ended = Running::spawn("the benchmark", bench)?.ended().await;
    if let Some(postgres) = postgres {
        postgres.stop().await;
        crate::postgres::remove(&folder.join("postgres"))?;
        std::fs::remove_dir_all(&folder)?;
    }
    if ended == "exit status: 0" { Ok(()) } else { bail!("the benchmark failed ({ended})") }
}

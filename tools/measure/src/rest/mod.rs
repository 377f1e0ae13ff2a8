//! `cargo xtask rest`: the cost of a running idle platform: transactions and written rows in Postgres within
//! a minute, and memory. Fails above limits.

mod memory;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, ensure};
use machine::{
    config::{Config, DATABASE},
    postgres, process, programs,
    secrets::Secrets,
};
use nix::unistd::Pid;
use sqlx::{Connection, PgConnection, postgres::PgConnectOptions};
use tokio::time::sleep;

use self::memory::Memory;

/// Duration of the measurement.
const TIME: Duration = Duration::from_secs(60);
/// Time between two measurements of memory.
const BETWEEN: Duration = Duration::from_secs(5);
/// Maximum number of transactions in this time: those that are committed, and those that are rolled back, as reads are.
const MAX_COMMITS: i64 = 60;
const MAX_ROLLBACKS: i64 = 60;
/// Maximum number of rows that are written in this time; without the samples of instances that run, as the worker of jobs does.
const MAX_WRITES: i64 = 10;
/// Maximum memory in MiB: the services, Postgres, RabbitMQ. In debug builds two thirds of the services' are file-backed
/// pages of their executables.
const MAX_MEMORY: [u64; 3] = [540, 120, 110];

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Seconds before the measurement, in which the platform comes to rest
    #[arg(long, default_value_t = 90)]
    settle: u64,
}

/// The counters of Postgres.
#[derive(Debug, Clone, Copy, sqlx::FromRow)]
struct Counted {
    commits: i64,
    rollbacks: i64,
    writes: i64,
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    let (config, _) = Config::load()?;
    let data = config.data();
    ensure!(data.join("demo.json").exists(), "no platform is up: start it with `cargo xtask up`");
    let secrets = Secrets::load_or_create(&data)?;
    let connect = PgConnectOptions::new_without_pgpass()
        .host("127.0.0.1")
        .port(config.ports["postgres"])
        .username("postgres")
        .password(&secrets.postgres_password)
        // not one of the services' databases, whose transactions are counted
        .database("postgres");
    sleep(Duration::from_secs(args.settle)).await;
    let before = count(&connect).await?;
    sleep(TIME).await;
    let after = count(&connect).await?;
    let memory = least_memory(&data).await?;
    let (commits, rollbacks) = (after.commits - before.commits, after.rollbacks - before.rollbacks);
    let writes = after.writes - before.writes;
    let [services, postgres, broker] = memory;
    let measured = format!(
        "  at rest, per minute          {commits} commits, {rollbacks} rollbacks, {writes} rows written
  memory                       {services} MiB, and {postgres} MiB for Postgres, {broker} MiB for RabbitMQ\n"
    );
    print!("{measured}");
    xtask::pace::keep("rest.txt", &measured)?;
    ensure!(commits <= MAX_COMMITS, "{commits} commits in a minute of rest, more than {MAX_COMMITS}");
    ensure!(
        rollbacks <= MAX_ROLLBACKS,
        "{rollbacks} rollbacks in a minute of rest, more than {MAX_ROLLBACKS}"
    );
    ensure!(writes <= MAX_WRITES, "{writes} rows written in a minute of rest, more than {MAX_WRITES}");
    for (what, (used, limit)) in
        ["the programs", "Postgres", "RabbitMQ"].iter().zip(memory.into_iter().zip(MAX_MEMORY))
    {
        ensure!(used <= limit, "{used} MiB of memory for {what}, more than {limit}");
    }
    Ok(())
}

/// Rows are counted by table, without those that Postgres writes for itself.
async fn count(connect: &PgConnectOptions) -> anyhow::Result<Counted> {
    let mut server = PgConnection::connect_with(connect).await.context("Postgres does not answer")?;
    let transactions = "select xact_commit, xact_rollback from pg_stat_database where datname = $1";
    let (commits, rollbacks) = sqlx::query_as(transactions).bind(DATABASE).fetch_one(&mut server).await?;
    server.close().await?;
    let mut database = PgConnection::connect_with(&connect.clone().database(DATABASE)).await?;
    let rows = "select coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0)::bigint from pg_stat_user_tables
        where relname <> 'instance_samples'";
    let writes = sqlx::query_scalar(rows).fetch_one(&mut database).await?;
    database.close().await?;
    Ok(Counted { commits, rollbacks, writes })
}

/// The least of three measurements: for a moment Postgres has another process, which vacuums.
async fn least_memory(data: &Path) -> anyhow::Result<[u64; 3]> {
    let mut least = memory(data)?;
    for _ in 0..2 {
        sleep(BETWEEN).await;
        let now = memory(data)?;
        least = std::array::from_fn(|group| least[group].min(now[group]));
    }
    Ok(least)
}

/// Memory in MiB of the programs of the platform with this data, of Postgres and of RabbitMQ. Linux only.
fn memory(data: &Path) -> anyhow::Result<[u64; 3]> {
    let folder = programs::folder()?;
    let [mut programs, mut postgres, mut broker] = <[Memory; 3]>::default();
    for process in std::fs::read_dir("/proc")?.flatten() {
        let pid = process.file_name().to_str().and_then(|name| name.parse().ok()).map(Pid::from_raw);
        if let Some(pid) = pid.filter(|_| belongs(&process.path(), &folder, data)) {
            programs.add(pid);
        }
    }
    let server = postgres::running(&data.join("postgres")).context("Postgres does not run")?;
    for pid in std::iter::once(server).chain(process::children(server)) {
        postgres.add(pid);
    }
    for pid in rabbitmq::processes(&data.join("rabbitmq")) {
        broker.add(pid);
    }
    Ok([programs, postgres, broker].map(|memory| memory.mib()))
}

/// Whether a process is a program of the platform with this data: its configuration is there.
fn belongs(process: &Path, programs: &Path, data: &Path) -> bool {
    let command = std::fs::read(process.join("cmdline")).unwrap_or_default();
    let mut words =
        command.split(|byte| *byte == 0).map(|word| PathBuf::from(String::from_utf8_lossy(word).as_ref()));
    let is_program = words.next().is_some_and(|program| {
        let name = program.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        program.parent() == Some(programs) && name.starts_with("atelier-") && name != "atelier-tools"
    });
    is_program && words.any(|word| word.starts_with(data.join("config")))
}

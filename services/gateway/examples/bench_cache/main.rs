//! Savings by the cache: `cargo xtask bench cache`. Progress of jobs, reads of the catalogue and exchanged
//! keys, each without a cache, in the memory of each replica, and in a Valkey or Redis that is started for
//! it.
//!
//! The services run in this process, over real HTTP on the loopback interface. `BENCH_POSTGRES` is the URL of a superuser of a dedicated
//! Postgres server, whose transactions are counted.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark that fails must say so and stop")]

mod catalogue;
mod credentials;
mod postgres;
mod progress;

use cache::CacheConfig;
use clap::Parser;
use testkit::Valkey;

#[derive(Debug, Parser)]
pub(crate) struct Args {
    /// Jobs that run at the same time
    #[arg(long, default_value_t = 20)]
    jobs: usize,
    /// Reports of each job, half a second apart as a runner's
    #[arg(long, default_value_t = 40)]
    reports: u32,
    /// Reads of the catalogue
    #[arg(long, default_value_t = 1_000)]
    reads: u32,
    /// Reads a second
    #[arg(long, default_value_t = 100)]
    rate: u32,
    /// Replicas of a service
    #[arg(long, default_value_t = 3)]
    replicas: usize,
    /// API keys, each used at each gateway
    #[arg(long, default_value_t = 100)]
    keys: u8,
}

/// Where values are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    Nowhere,
    InMemory,
    Shared,
}

impl Kept {
    const ALL: [Self; 3] = [Self::Nowhere, Self::InMemory, Self::Shared];

    pub(crate) fn config(self, store: &Valkey) -> Option<CacheConfig> {
        let shared = CacheConfig { url: store.url().into(), key: ("A".repeat(43) + "=").into() };
        (self == Self::Shared).then_some(shared)
    }
}

#[tokio::main]
async fn main() {
    let args = Args::parse();
    let store = Valkey::start().await;
    let idle = progress::run(&args, &store, Kept::Nowhere, false).await;
    let (mut writes, mut reads, mut exchanges) = (Vec::new(), Vec::new(), Vec::new());
    println!(
        "{:<10} {:>22} {:>16} {:>22} {:>12}",
        "", "writes/1,000 reports", "WAL KiB/1,000", "reads/1,000 requests", "exchanges"
    );
    for kept in Kept::ALL {
        let progress = progress::run(&args, &store, kept, true).await.without(idle);
        let read = catalogue::run(&args, &store, kept).await;
        // each gateway caches its exchanges, regardless of the configuration
        let exchanged = match kept {
            Kept::Nowhere => None,
            _ => Some(credentials::run(&args, &store, kept).await),
        };
        let reports = f64::from(args.reports) * f64::from(u32::try_from(args.jobs).unwrap());
        let (per_write, per_wal) = (progress.writes / reports * 1000.0, progress.wal_kib / reports * 1000.0);
        let per_read = read / f64::from(args.reads) * 1000.0;
        let shown = exchanged.map_or_else(|| "-".to_owned(), |exchanges| exchanges.to_string());
        println!(
            "{:<10} {per_write:>22.0} {per_wal:>16.0} {per_read:>22.0} {shown:>12}",
            format!("{kept:?}")
        );
        writes.push(per_write);
        reads.push(per_read);
        exchanges.extend(exchanged);
    }
    println!(
        "cache: writes={:.0} writes_memory={:.0} writes_shared={:.0} reads={:.0} reads_memory={:.0} reads_shared={:.0} \
         exchanges_memory={} exchanges_shared={}",
        writes[0], writes[1], writes[2], reads[0], reads[1], reads[2], exchanges[0], exchanges[1],
    );
}

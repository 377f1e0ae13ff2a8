//! The benchmarks of the stock service: `cargo xtask bench claims`, `queue`, `scale` and `hold-back`.
//!
//! The service runs in this process, over real HTTP on the loopback interface. `BENCH_POSTGRES` is a superuser's address of a
//! Postgres. Logs are off unless `RUST_LOG` is set.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark that fails must say so and stop")]

mod claims;
mod hold_back;
mod queue;
mod scale;
mod setup;

use clap::Parser;
use sqlx::postgres::PgConnectOptions;

#[derive(Debug, Parser)]
enum Bench {
    /// Claims of one hot specification, in turns with pgbench
    Claims(claims::Args),
    /// From a release to the next instance
    Queue(queue::Args),
    /// A small platform and a large one
    Scale(scale::Args),
    /// What the hold-back saves and costs
    HoldBack(hold_back::Args),
}

#[tokio::main]
async fn main() {
    let bench = Bench::parse();
    if std::env::var_os("RUST_LOG").is_some() {
        service::telemetry::init();
    }
    let url = std::env::var("BENCH_POSTGRES").expect("BENCH_POSTGRES: run it with `cargo xtask bench`");
    let admin: PgConnectOptions = url.parse().unwrap();
    match bench {
        Bench::Claims(args) => claims::run(&admin, &args).await,
        Bench::Queue(args) => queue::run(&admin, &args).await,
        Bench::Scale(args) => scale::run(&admin, &args).await,
        Bench::HoldBack(args) => hold_back::run(&admin, &args).await,
    }
}

/// The value of this rank among sorted values; NaN if there are none.
fn percentile(sorted: &[f64], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in a list")]
    let at = (last as f64 * share).round() as usize;
    sorted.get(at).copied().unwrap_or(f64::NAN)
}

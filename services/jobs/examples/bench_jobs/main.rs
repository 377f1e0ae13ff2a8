//! The benchmarks of the jobs service: `cargo xtask bench jobs-NAME`.
//!
//! Of the scheduling core alone: core, replay, fairness, eta. Of the service, which runs in this process,
//! over real HTTP on the loopback interface, with its clients and workers: enqueue, intake, dispatch; these
//! need a Postgres with `fsync`, at a superuser's address in `BENCH_POSTGRES`.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark that fails must say so and stop")]

mod core;
mod dispatch;
mod enqueue;
mod eta;
mod fairness;
mod intake;
mod replay;
mod service;
mod support;

use clap::Parser;

#[derive(Debug, Parser)]
enum Bench {
    /// How many jobs a second are taken in
    Enqueue(enqueue::Args),
    /// How long a message waits for its answer while another tenant sends very many
    Intake(intake::Args),
    /// How soon a worker has a job
    Dispatch(dispatch::Args),
    /// How long a round takes
    Core(core::Args),
    /// Traces, with the core and with simple schedulers
    Replay(replay::Args),
    /// How evenly tenants are served
    Fairness(fairness::Args),
    /// Whether forecasts come true
    Eta(eta::Args),
}

fn main() -> Result<(), String> {
    match Bench::parse() {
        Bench::Enqueue(args) => served(enqueue::run(args)),
        Bench::Intake(args) => served(intake::run(args)),
        Bench::Dispatch(args) => served(dispatch::run(args)),
        Bench::Core(args) => core::run(&args),
        Bench::Replay(args) => return replay::run(&args),
        Bench::Fairness(args) => fairness::run(&args),
        Bench::Eta(args) => eta::run(&args),
    }
    Ok(())
}

fn served(bench: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(bench);
}

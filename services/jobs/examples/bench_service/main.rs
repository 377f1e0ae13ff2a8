//! The service over HTTP and by message: `cargo xtask bench jobs-enqueue` and `jobs-dispatch`.
//!
//! The service runs in this process, over real HTTP on the loopback interface, and so do its clients and workers.
//! `BENCH_POSTGRES` is a superuser's address of a Postgres with `fsync`.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark that fails must say so and stop")]

mod dispatch;
mod enqueue;
mod setup;

use clap::Parser;

#[derive(Debug, Parser)]
enum Bench {
    /// How many jobs a second are taken in
    Enqueue(enqueue::Args),
    /// How soon a worker has a job
    Dispatch(dispatch::Args),
}

#[tokio::main]
async fn main() {
    match Bench::parse() {
        Bench::Enqueue(args) => enqueue::run(args).await,
        Bench::Dispatch(args) => dispatch::run(args).await,
    }
}

//! The benchmarks of the gateway: `cargo xtask bench gateway` and `gateway-fairness`.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark that fails must say so and stop")]

mod fairness;
mod proxies;
mod serve;

use clap::Parser;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Debug, Parser)]
enum Bench {
    /// The gateway beside other proxies
    Gateway(proxies::Args),
    /// What a tenant notices of another
    Fairness(fairness::Args),
    /// Be the other tenant's clients
    #[command(hide = true)]
    Crowd(fairness::Crowd),
    /// Be a service
    #[command(hide = true)]
    Serve { service: String },
}

#[tokio::main]
async fn main() {
    match Bench::parse() {
        Bench::Gateway(args) => proxies::run(&args).await,
        Bench::Fairness(args) => fairness::run(&args).await,
        Bench::Crowd(crowd) => fairness::crowd(&crowd).await,
        Bench::Serve { service } => serve::run(&service).await,
    }
}

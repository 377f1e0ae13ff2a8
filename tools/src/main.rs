//! The commands of `cargo xtask`, which compiles this program and what it needs before it starts it.
#![expect(clippy::print_stdout, reason = "a command-line program talks to its user")]

mod audit;
mod bench;
mod config;
mod console;
mod console_client;
mod demo;
mod deployment;
mod drill;
mod files;
mod generate;
mod http;
mod images;
mod migrations;
mod mutants;
mod observe;
mod pace;
mod postgres;
mod process;
mod programs;
mod queries;
mod rest;
mod rgw;
mod scratch;
mod smoke;
mod soak;
mod test;
mod up;
mod upgrade;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", about = "Atelier's developer commands")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start the whole platform on this machine, until Ctrl-C
    Up(up::Args),
    /// Go through the whole story on a running platform, through its public API
    Demo(demo::Args),
    /// Measure what a running platform costs while nobody uses it
    Rest(rest::Args),
    /// Send requests for minutes while instances come and go and gateways are restarted
    Soak(soak::Args),
    /// Bring a platform of a previous commit to this version under load
    Upgrade(upgrade::Args),
    /// Inject faults into a platform of its own, and show who is woken, what users see and how it heals
    Drill(drill::Args),
    /// Verify the audit logs of a running platform, and print them as one
    Audit(audit::Args),
    /// Print what building, testing and running the platform costs
    Pace(pace::Args),
    /// Check the files that are generated from others or must agree with them
    Files(files::Args),
    /// Run all tests on a Postgres and a Ceph RGW
    Test(test::Args),
    /// Check, build and test the console
    Console(console::Args),
    /// Find changes to the pure rules that no test notices (cargo-mutants)
    Mutants(mutants::Args),
    /// Write the services' OpenAPI documents to openapi/
    Openapi(generate::Args),
    /// Write the console's client to console/src/api/generated/
    ConsoleClient(generate::Args),
    /// Write the custom resource definitions to deploy/crds/
    Crds(generate::Args),
    /// Write the list of the services' metrics to docs/METRICS.md
    Metrics(generate::Args),
    /// Check and test the alert rules, their runbooks and the dashboards (promtool)
    Alerts(observe::alerts::Args),
    /// Check the SQL of the query macros against a real schema, and write .sqlx/
    Sqlx(queries::Args),
    /// Build the container images of the platform
    Images(images::Args),
    /// Give a platform that others started the data of the demo
    Seed(up::SeedArgs),
    /// Measure: claims, gateway, operator and more
    Bench(bench::Args),
    /// Show that every benchmark, the soak, a drill and the upgrade run
    Smoke(smoke::Args),
}

fn main() -> ExitCode {
    // one thread only: children get their death signal when the thread that spawned them ends
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("cannot start: {error}");
            return ExitCode::FAILURE;
        }
    };
    let result = runtime.block_on(async {
        match Cli::parse().command {
            Command::Up(args) => up::run(args).await,
            Command::Demo(args) => demo::run(args).await,
            Command::Rest(args) => rest::run(args).await,
            Command::Soak(args) => soak::run(args).await,
            Command::Upgrade(args) => upgrade::run(args).await,
            Command::Drill(args) => Box::pin(drill::run(args)).await,
            Command::Audit(args) => audit::run(args).await,
            Command::Pace(args) => pace::run(&args),
            Command::Files(args) => files::check(args).await,
            Command::Test(args) => test::run(args).await,
            Command::Console(args) => console::run(args).await,
            Command::Mutants(args) => mutants::run(args).await,
            Command::Openapi(args) => generate::openapi(&args).await,
            Command::ConsoleClient(args) => console_client::run(&args).await,
            Command::Crds(args) => generate::crds(&args).await,
            Command::Metrics(args) => observe::metrics::run(&args).await,
            Command::Alerts(args) => observe::alerts::run(args).await,
            Command::Sqlx(args) => queries::run(args).await,
            Command::Images(args) => images::run(args).await,
            Command::Seed(args) => up::seed(args).await,
            Command::Bench(args) => bench::run(args).await,
            Command::Smoke(args) => smoke::run(args).await,
        }
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nerror: {error:#}");
            ExitCode::FAILURE
        }
    }
}

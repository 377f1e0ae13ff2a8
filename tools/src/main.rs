//! The commands of `cargo xtask`, which compiles this program and its requirements before it starts it.
//!
//! A crate below `tools` has code that changes for its own reasons: `up` and `measure`, for example, do not
//! depend on each other. This one wires them, and has the commands that run others or are small. Nothing may
//! enter that fits into one of them.
#![expect(clippy::print_stdout, reason = "a command-line program talks to its user")]

mod audit;
mod console;
mod files;
mod images;
mod mutants;
mod pace;
mod test;
mod upgrade;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use generated::{console_client, generate, observe, platform_files, queries};
use machine::own::Task;
use measure::{bench, rest, smoke, soak};

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
    /// Run the whole demo on a running platform, through its public API
    Demo(demo::Args),
    /// Measure the resource usage of a running platform while nobody uses it
    Rest(rest::Args),
    /// Send requests for minutes while instances come and go and gateways are restarted
    Soak(soak::Args),
    /// Bring a platform of a previous commit to this version under load
    Upgrade(upgrade::Args),
    /// Inject faults into a separate platform, and show alerts, effects on users and recovery
    Drill(drill::Args),
    /// Verify the audit logs of a running platform, and print them as one
    Audit(audit::Args),
    /// Print times and sizes of building, testing and running the platform
    Pace(pace::Args),
    /// Check the files that are generated from others or must agree with them
    Files(files::Args),
    /// Run all tests on a Postgres and a Ceph RGW
    Test(test::Args),
    /// Check, build and test the console
    Console(console::Args),
    /// Find changes to the pure rules that no test notices (cargo-mutants)
    Mutants(mutants::Args),
    /// Write what the chart, the compose file and the images take from platform.toml
    Platform(generate::Args),
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
    /// Create the demo data on a platform that was started by other means
    Seed(up::SeedArgs),
    /// Measure: claims, gateway, operator and more
    Bench(bench::Args),
    /// Run every benchmark, the soak, a drill and the upgrade in their smallest size
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
            Command::Soak(args) => carry_out(soak::run(args).await).await,
            Command::Upgrade(args) => upgrade::run(args).await,
            Command::Drill(args) => carry_out(drill::run(args).await).await,
            Command::Audit(args) => audit::run(args).await,
            Command::Pace(args) => pace::run(&args),
            Command::Files(args) => files::check(args).await,
            Command::Test(args) => test::run(args).await,
            Command::Console(args) => console::run(args).await,
            Command::Mutants(args) => mutants::run(args).await,
            Command::Platform(args) => platform_files::run(&args),
            Command::Openapi(args) => generate::openapi(&args).await,
            Command::ConsoleClient(args) => console_client::run(&args).await,
            Command::Crds(args) => generate::crds(&args).await,
            Command::Metrics(args) => observe::metrics::run(&args).await,
            Command::Alerts(args) => observe::alerts::run(args).await,
            Command::Sqlx(args) => queries::run(args).await,
            Command::Images(args) => images::run(args).await,
            Command::Seed(args) => up::seed(args).await,
            Command::Bench(args) => carry_out(bench::run(args).await).await,
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

/// Does the remaining work of a command, on a platform of its own.
async fn carry_out(left: anyhow::Result<Option<Task>>) -> anyhow::Result<()> {
    match left? {
        Some(task) => up::carry_out(task).await,
        None => Ok(()),
    }
}

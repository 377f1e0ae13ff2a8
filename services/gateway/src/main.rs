//! The gateway's process. Its commands are those of the other services; it has no schema to migrate, and its
//! OpenAPI document is merged from theirs.

use std::{io::Write, time::Duration};

use atelier_gateway::{App, Config, metrics, openapi};
use clap::Parser;
use service::{Cli, Command, Process, cli, config, telemetry};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    match Cli::parse().command {
        Command::Serve { config } => {
            telemetry::init();
            let config: Config = config::load(config.as_deref())?;
            let drain = Duration::from_secs(config.drain_seconds.into());
            App::serve(config, Process::draining(drain)?).await
        }
        Command::Migrate { .. } => Ok(()),
        Command::CheckConfig { config } => cli::check_config::<Config>(config.as_deref()),
        Command::Metrics => cli::print_metrics(&metrics()),
        Command::Health { url } => cli::health(&url).await,
        Command::Openapi => {
            Ok(writeln!(std::io::stdout(), "{}", serde_json::to_string_pretty(&openapi()?)?)?)
        }
    }
}

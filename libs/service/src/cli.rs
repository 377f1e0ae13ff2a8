//! The command line of a service's binary.

use std::{io::Write as _, path::PathBuf};

use clap::{Parser, Subcommand};
use serde::de::DeserializeOwned;
use utoipa::openapi::OpenApi;

use crate::{Metrics, Process, config, telemetry};

/// `atelier-<service> serve | migrate | openapi | metrics`.
#[derive(Debug, Parser)]
#[command(version, about = "A service of Atelier")]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

impl Cli {
    /// Runs the command: `serve` until shutdown, the others once.
    ///
    /// # Errors
    /// If the configuration is not valid, or the command's own.
    pub async fn run<C: DeserializeOwned>(
        self,
        serve: impl AsyncFnOnce(C, Process) -> anyhow::Result<()>,
        migrate: impl AsyncFnOnce(C) -> anyhow::Result<()>,
        openapi: impl FnOnce() -> OpenApi,
        metrics: impl FnOnce() -> Metrics,
    ) -> anyhow::Result<()> {
        match self.command {
            Command::Serve { config } => {
                telemetry::init();
                Box::pin(serve(config::load(config.as_deref())?, Process::on_signal()?)).await
            }
            Command::Migrate { config } => {
                telemetry::init();
                Box::pin(migrate(config::load(config.as_deref())?)).await
            }
            Command::Openapi => Ok(writeln!(std::io::stdout(), "{}", openapi().to_pretty_json()?)?),
            Command::Metrics => print_metrics(&metrics()),
        }
    }
}

/// Prints the descriptions of the metrics as JSON.
///
/// # Errors
/// If standard output is closed.
pub fn print_metrics(metrics: &Metrics) -> anyhow::Result<()> {
    Ok(writeln!(std::io::stdout(), "{}", serde_json::to_string_pretty(&metrics.descriptions())?)?)
}

/// The commands of a service's binary.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve until SIGTERM or SIGINT.
    Serve {
        /// Configuration (TOML); the environment (`ATELIER_…`) overrides it.
        #[arg(long)]
        config: Option<PathBuf>,
    },
    /// Bring the service's database schema up to date, then exit.
    Migrate {
        /// Configuration (TOML); the environment (`ATELIER_…`) overrides it.
        #[arg(long)]
        config: Option<PathBuf>,
    },
    /// Print the service's OpenAPI document.
    Openapi,
    /// Print the descriptions of the service's metrics as JSON.
    Metrics,
}

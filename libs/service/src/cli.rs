//! The command line of a service's binary.

use std::{io::Write as _, path::PathBuf};

use clap::{Parser, Subcommand};
use serde::de::DeserializeOwned;
use utoipa::openapi::OpenApi;

use crate::{Process, config, telemetry};

/// `atelier-<service> serve | migrate | openapi`.
#[derive(Debug, Parser)]
#[command(version, about = "A service of Atelier")]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

impl Cli {
    /// Runs the command: `serve` until shutdown, `migrate` or `openapi` once.
    ///
    /// # Errors
    /// If the configuration is not valid, or the command's own.
    pub async fn run<C: DeserializeOwned>(
        self,
        serve: impl AsyncFnOnce(C, Process) -> anyhow::Result<()>,
        migrate: impl AsyncFnOnce(C) -> anyhow::Result<()>,
        openapi: impl FnOnce() -> OpenApi,
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
        }
    }
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
}

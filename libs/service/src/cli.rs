//! The command line of a service's binary.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::ensure;
use clap::{Parser, Subcommand};
use serde::de::DeserializeOwned;
use utoipa::openapi::OpenApi;

use crate::{Metrics, Process, config, http_client, telemetry};

/// Longest time for a process to report whether it is ready.
const HEALTH: Duration = Duration::from_secs(2);

/// `atelier-<service> serve | migrate | check-config | openapi | metrics | health`.
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
            Command::CheckConfig { config } => check_config::<C>(config.as_deref()),
            Command::Openapi => Ok(writeln!(std::io::stdout(), "{}", openapi().to_pretty_json()?)?),
            Command::Metrics => print_metrics(&metrics()),
            Command::Health { url } => health(&url).await,
        }
    }
}

/// The command `check-config`: reads a configuration as `serve` does.
///
/// # Errors
/// If it is not valid.
pub fn check_config<C: DeserializeOwned>(file: Option<&Path>) -> anyhow::Result<()> {
    config::load::<C>(file).map(drop)
}

/// Prints the descriptions of the metrics as JSON.
///
/// # Errors
/// If standard output is closed.
pub fn print_metrics(metrics: &Metrics) -> anyhow::Result<()> {
    Ok(writeln!(std::io::stdout(), "{}", serde_json::to_string_pretty(&metrics.descriptions())?)?)
}

/// The command `health`: for health checks of containers, which have no other program.
///
/// # Errors
/// If the URL does not answer in time, or returns no success status.
pub async fn health(url: &str) -> anyhow::Result<()> {
    let response = http_client()?.get(url).timeout(HEALTH).send().await?;
    let (status, text) = (response.status(), response.text().await?);
    ensure!(status.is_success(), "{status}: {}", text.trim());
    Ok(())
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
    /// Read the configuration, and fail if it is not valid.
    CheckConfig {
        /// Configuration (TOML); the environment (`ATELIER_…`) overrides it.
        #[arg(long)]
        config: Option<PathBuf>,
    },
    /// Print the service's OpenAPI document.
    Openapi,
    /// Print the descriptions of the service's metrics as JSON.
    Metrics,
    /// Fail unless the URL of a running process returns a success status.
    Health {
        /// `http://127.0.0.1:<port>/readyz`
        url: String,
    },
}

#[cfg(test)]
mod tests {
    use axum::{Router, http::StatusCode, routing::get};

    #[tokio::test]
    async fn health_fails_with_what_the_process_waits_for() {
        let routes = Router::new()
            .route("/ready", get(|| async { "ready\n" }))
            .route("/waiting", get(|| async { (StatusCode::SERVICE_UNAVAILABLE, "waiting for identity\n") }));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        super::health(&format!("http://{address}/ready")).await.unwrap();
        let error = super::health(&format!("http://{address}/waiting")).await.unwrap_err().to_string();
        assert_eq!(error, "503 Service Unavailable: waiting for identity");
    }
}

//! `atelier-operator`: the operator's process.

use std::io::Write as _;
use std::path::PathBuf;

use atelier_operator::{App, Config, definitions_yaml, metrics, openapi};
use clap::{Parser, Subcommand};
use service::{Process, cli, config, telemetry};

/// Objects are trees of many small allocations.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Debug, Parser)]
#[command(version, about = "The operator of Atelier")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Watch, lead and serve the Operator API until SIGTERM or SIGINT.
    Serve {
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
    /// Install the custom resource definitions, the system namespace and the priority classes, then exit.
    Install {
        /// Configuration (TOML); the environment (`ATELIER_…`) overrides it.
        #[arg(long)]
        config: Option<PathBuf>,
    },
    /// Print the custom resource definitions as one YAML stream.
    Crds {
        /// Write one file for each into this folder instead.
        #[arg(long)]
        out: Option<PathBuf>,
    },
    /// Print the OpenAPI document of the Operator API.
    Openapi,
    /// Print the descriptions of the metrics as JSON.
    Metrics,
    /// Fail unless the URL of a running process returns a success status.
    Health {
        /// `http://127.0.0.1:<port>/readyz`
        url: String,
    },
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut out = std::io::stdout();
    match Cli::parse().command {
        Command::Serve { config: file } => {
            telemetry::init();
            let config: Config = config::load(file.as_deref())?;
            Box::pin(App::serve(config, Process::on_signal()?)).await
        }
        Command::CheckConfig { config } => cli::check_config::<Config>(config.as_deref()),
        Command::Install { config: file } => {
            telemetry::init();
            let config: Config = config::load(file.as_deref())?;
            atelier_operator::controller::install(&config.client().await?).await
        }
        Command::Crds { out: None } => {
            for (_, text) in definitions_yaml()? {
                write!(out, "---\n{text}")?;
            }
            Ok(())
        }
        Command::Crds { out: Some(folder) } => {
            std::fs::create_dir_all(&folder)?;
            for (name, text) in definitions_yaml()? {
                std::fs::write(folder.join(format!("{name}.yaml")), text)?;
            }
            Ok(())
        }
        Command::Openapi => Ok(writeln!(out, "{}", openapi().to_pretty_json()?)?),
        Command::Metrics => cli::print_metrics(&metrics()),
        Command::Health { url } => cli::health(&url).await,
    }
}

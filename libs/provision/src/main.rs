//! `atelier-provision`: creates the roles and schemas of the services in a Postgres, before their migrations.

use std::path::PathBuf;

use atelier_provision::Config;
use clap::Parser;

#[derive(Debug, Parser)]
#[command(version, about = "Creates the roles and schemas of Atelier's services")]
struct Cli {
    /// Configuration (TOML); the environment (`ATELIER_…`) overrides it.
    #[arg(long)]
    config: Option<PathBuf>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    Config::load(Cli::parse().config.as_deref())?.apply().await
}

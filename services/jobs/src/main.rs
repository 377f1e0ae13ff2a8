//! The jobs service's process.

use atelier_jobs::{Config, MIGRATIONS, NAME, metrics, openapi, serve};
use clap::Parser;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let migrate = async |config: Config| config.database.migrate(NAME, &MIGRATIONS).await;
    service::Cli::parse().run(serve, migrate, openapi, metrics).await
}

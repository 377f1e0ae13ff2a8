//! The gpu service's process.

use atelier_gpu::{App, Config, MIGRATIONS, NAME, metrics, openapi};
use clap::Parser;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let migrate = async |config: Config| config.database.migrate(NAME, &MIGRATIONS).await;
    service::Cli::parse().run(App::serve, migrate, openapi, metrics).await
}

//! The gpu service's process.

use atelier_gpu::{Config, MIGRATIONS, openapi, serve};
use clap::Parser;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let migrate = async |config: Config| config.database.migrate("gpu", &MIGRATIONS).await;
    let serve = async |config, process: service::Process| serve(config, process).await;
    service::Cli::parse().run(serve, migrate, openapi).await
}

//! The stock service's process.

use atelier_stock::{Config, MIGRATIONS, SERVICE, openapi, serve};
use clap::Parser;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let migrate = async |config: Config| config.database.migrate(SERVICE, &MIGRATIONS).await;
    let serve = async |config, process: service::Process| serve(config, process).await;
    service::Cli::parse().run(serve, migrate, openapi).await
}

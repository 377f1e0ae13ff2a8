//! The gateway's process.

use clap::Parser;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    atelier_gateway::run(service::Cli::parse()).await
}

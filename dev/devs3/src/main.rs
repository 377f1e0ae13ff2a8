//! The store as a process: `atelier-devs3 --config FILE.toml`.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Parser;
use figment::Figment;
use figment::providers::{Env, Format as _, Toml};
use tokio::signal::unix::{SignalKind, signal};

/// Object store for development: S3 and the Ceph Admin Ops calls that Atelier uses.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// TOML file: listen, data_dir, admin_access_key, admin_secret_key, region. Each can be
    /// overridden by ATELIER_DEVS3_<KEY>.
    #[arg(long)]
    config: PathBuf,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt()
        .with_env_filter(
            tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| "info,s3s=off".into()),
        )
        .json()
        .init();
    let args = Args::parse();
    let config: atelier_devs3::Config = Figment::new()
        .merge(Toml::file_exact(&args.config))
        .merge(Env::prefixed("ATELIER_DEVS3_"))
        .extract()
        .with_context(|| format!("configuration {}", args.config.display()))?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let server = atelier_devs3::Server::start(config).await?;
    tracing::info!(endpoint = %server.endpoint, "object store ready");
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    server.stop().await
}

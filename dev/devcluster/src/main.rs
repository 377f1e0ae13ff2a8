//! The development cluster as a process: `atelier-devcluster --config FILE.toml`.

use anyhow::Context;
use clap::Parser;
use std::path::PathBuf;
use tokio::signal::unix::{SignalKind, signal};

/// Objects are trees of many small allocations.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
#[command(version, about = "A development Kubernetes cluster that runs pods as local processes")]
struct Args {
    /// TOML configuration.
    #[arg(long, env = "ATELIER_DEVCLUSTER_CONFIG")]
    config: PathBuf,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    tracing_subscriber::fmt()
        .json()
        .with_writer(std::io::stderr)
        .with_env_filter(
            tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| "info".into()),
        )
        .init();
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(run(args))
}

async fn run(args: Args) -> anyhow::Result<()> {
    let config = atelier_devcluster::Config::read(&args.config)
        .with_context(|| format!("read {}", args.config.display()))?;
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let cluster = Box::pin(atelier_devcluster::Cluster::start(config)).await?;
    #[expect(clippy::print_stdout, reason = "the line that tells the caller that the cluster is ready")]
    {
        println!("ready {} kubeconfig {}", cluster.url, cluster.kubeconfig_path().display());
    }
    tokio::select! {
        _ = term.recv() => {}
        _ = int.recv() => {}
    }
    tracing::info!("stopping");
    cluster.stop().await;
    Ok(())
}

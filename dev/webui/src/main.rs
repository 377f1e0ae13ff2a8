//! The process of the service image: reads its environment, binds to the pod's address and serves.

use std::net::IpAddr;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Parser;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

/// Atelier's CPU stand-in for Stable Diffusion WebUI (no GPU needed).
#[derive(Parser)]
#[command(version)]
struct Args {
    /// Address to listen on, normally that of the pod.
    #[arg(long, env = "POD_IP", default_value = "127.0.0.1")]
    listen: IpAddr,
    /// Port to listen on.
    #[arg(long, env = "PORT", default_value_t = 7860)]
    port: u16,
    /// Folder for the pictures, relative to the working directory unless absolute.
    #[arg(long, env = "SD_OUTPUT_DIR", default_value = "storage/outputs/txt2img-images")]
    output_dir: PathBuf,
    /// Folder of adapters of the painter, `<name>.safetensors`.
    #[arg(long, env = "SD_LORA_DIR")]
    lora_dir: Option<PathBuf>,
    /// Folder of checkpoints, `<name>.safetensors`: only their names count.
    #[arg(long, env = "SD_CKPT_DIR")]
    checkpoint_dir: Option<PathBuf>,
    /// WebUI version to imitate.
    #[arg(long, env = "SD_VERSION", default_value = "1.6")]
    sd_version: String,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let listener = TcpListener::bind((args.listen, args.port))
        .await
        .with_context(|| format!("cannot listen on {}:{}", args.listen, args.port))?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let stop = async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    let config = atelier_webui::Config {
        output_dir: args.output_dir,
        lora_dir: args.lora_dir,
        checkpoint_dir: args.checkpoint_dir,
        version: args.sd_version,
    };
    atelier_webui::serve(config, listener, stop).await
}

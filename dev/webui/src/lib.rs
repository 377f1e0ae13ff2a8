//! Atelier's stand-in for Stable Diffusion WebUI on machines without a GPU.
//!
//! It serves the HTTP API of AUTOMATIC1111's WebUI (`/sdapi/v1/…`) with the same request and response bodies, but the
//! pictures are layered noise, computed on the CPU from the prompt and the seed. With it, everything around an
//! instance (ports, probe, log, terminal, storage, streaming) can be shown and tested on any machine. It contains no
//! model. Differences from the real WebUI are documented where they occur.

mod api;
mod checkpoints;
mod gallery;
mod img2img;
mod init;
mod jobs;
mod log;
mod loras;
mod page;
mod refusal;
mod settings;
mod state;
pub mod trainer;
mod txt2img;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::watch;

use checkpoints::Checkpoints;
pub use gallery::Gallery;
use log::say;
use loras::Loras;
use state::AppState;

/// Configuration.
#[derive(Debug, Clone)]
pub struct Config {
    /// Folder for the pictures; created if it does not exist.
    pub output_dir: PathBuf,
    /// Folder of adapters: `<name>.safetensors`.
    pub lora_dir: Option<PathBuf>,
    /// Folder of checkpoints: `<name>.safetensors`. Only their names count.
    pub checkpoint_dir: Option<PathBuf>,
    /// Version of the WebUI that this process imitates, shown on the page and in infotexts.
    pub version: String,
}

/// Serves until `stop` resolves. Then it interrupts the current picture, completes the open requests and returns.
///
/// # Errors
/// If the output folder cannot be created or the listener fails.
pub async fn serve(
    config: Config,
    listener: TcpListener,
    stop: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<()> {
    let address: SocketAddr = listener.local_addr()?;
    let (stopping_tx, stopping) = watch::channel(false);
    let app = AppState {
        gallery: Gallery::open(config.output_dir)?,
        jobs: Arc::new(jobs::Jobs::new()),
        options: Arc::new(std::sync::Mutex::new(api::default_options())),
        loras: Loras::open(config.lora_dir),
        checkpoints: Checkpoints::open(config.checkpoint_dir),
        version: config.version.into(),
        stopping,
    };
    say(&format!(
        "Atelier CPU stand-in for Stable Diffusion WebUI, version: {} (no GPU, no model: pictures are computed from the prompt)",
        app.version
    ));
    say(&format!("Pictures are saved to {}", app.gallery.folder().display()));
    say(&format!("Running on local URL:  http://{address}"));
    let jobs = app.jobs.clone();
    axum::serve(listener, api::router(app))
        .with_graceful_shutdown(async move {
            stop.await;
            say("Stopping: completing the open requests");
            jobs.shut_down();
            stopping_tx.send_replace(true);
        })
        .await?;
    say("Stopped");
    Ok(())
}

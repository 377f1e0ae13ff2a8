//! Atelier's stand-in for Stable Diffusion WebUI on machines without a GPU.
//!
//! It speaks the HTTP API of AUTOMATIC1111's WebUI (`/sdapi/v1/…`) with the same shapes, but the
//! pictures are layered noise computed on the CPU from the prompt and the seed. It exists so that
//! everything around an instance (ports, probe, log, terminal, storage, streaming) can be shown
//! and tested on any machine; no model may enter this room. Where it answers differently from the
//! real one, the difference is written at the place that makes it.

mod api;
mod gallery;
mod jobs;
mod page;
mod painter;
mod picture;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::watch;

pub use gallery::Gallery;

/// What the process is told from outside.
#[derive(Debug, Clone)]
pub struct Config {
    /// Folder that receives the pictures; made when missing.
    pub output_dir: PathBuf,
    /// The version of the WebUI this process stands in for, as shown on the page and in infotexts.
    pub version: String,
}

/// Everything the handlers share.
#[derive(Clone)]
pub(crate) struct App {
    pub(crate) version: Arc<str>,
    pub(crate) gallery: Gallery,
    pub(crate) jobs: Arc<jobs::Jobs>,
    pub(crate) options: Arc<std::sync::Mutex<serde_json::Map<String, serde_json::Value>>>,
    pub(crate) stopping: watch::Receiver<bool>,
}

/// Serves until `stop` resolves, then ends the picture being made at its current step, answers
/// the requests under way and returns.
///
/// # Errors
/// When the output folder cannot be made or the listener fails.
pub async fn serve(
    config: Config,
    listener: TcpListener,
    stop: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<()> {
    let address: SocketAddr = listener.local_addr()?;
    let (stopping_tx, stopping) = watch::channel(false);
    let app = App {
        gallery: Gallery::open(config.output_dir)?,
        jobs: Arc::new(jobs::Jobs::new()),
        options: Arc::new(std::sync::Mutex::new(api::default_options())),
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
            say("Stopping: finishing the requests under way");
            jobs.shut_down();
            stopping_tx.send_replace(true);
        })
        .await?;
    say("Stopped");
    Ok(())
}

/// One line of the human log. A closed stdout is no reason to fail.
pub(crate) fn say(line: &str) {
    use std::io::Write as _;
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

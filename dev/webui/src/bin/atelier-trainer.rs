//! The stand-in trainer as a command engine: see `atelier_webui::trainer`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use atelier_webui::trainer::{self, Error, Outcome};
use clap::Parser;
use tokio::signal::unix::{SignalKind, signal};

/// Atelier's stand-in for a trainer: fits an adapter of the CPU stand-in of the WebUI to pictures.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// Folder of the job.
    #[arg(long, env = "ATELIER_JOB_DIR", default_value = "/job")]
    job_dir: PathBuf,
}

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let args = Args::parse();
    let stop = Arc::new(AtomicBool::new(false));
    let mut terminate = signal(SignalKind::terminate())?;
    let stopped = Arc::clone(&stop);
    tokio::spawn(async move {
        terminate.recv().await;
        stopped.store(true, Ordering::Relaxed);
    });
    let ended = tokio::task::spawn_blocking(move || trainer::run(&args.job_dir, &stop)).await;
    Ok(match ended.context("trainer")? {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Stopped) => ExitCode::from(75),
        Err(error @ Error::Input(_)) => fail(&error, 2),
        Err(error @ Error::Other(_)) => fail(&error, 1),
    })
}

#[expect(clippy::print_stderr, reason = "the last line says what was wrong")]
fn fail(error: &Error, code: u8) -> ExitCode {
    eprintln!("{error:#}");
    ExitCode::from(code)
}

//! The program: `atelier-runner`.

use std::{ffi::OsString, path::PathBuf};

use anyhow::Context as _;
use atelier_runner::{Command, Config, Limits, Program};
use clap::Parser;
use secrecy::SecretString;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use url::Url;

/// The process of a worker: runs jobs of the platform in its engine.
#[derive(Debug, Parser)]
#[command(version)]
struct Args {
    /// Base URL of the jobs service's listener for workers.
    #[arg(long, env = "ATELIER_JOBS_URL")]
    jobs_url: Url,
    /// The token of the worker.
    #[arg(long, env = "ATELIER_WORKER_TOKEN", hide_env_values = true)]
    token: SecretString,
    /// Base URL of a Stable Diffusion WebUI.
    #[arg(long, env = "ATELIER_ENGINE_URL", default_value = "http://127.0.0.1:7860")]
    engine_url: Url,
    /// The folder from which the WebUI loads adapters: models of tenants are stored there
    #[arg(long, env = "ATELIER_LORA_DIR")]
    lora_dir: Option<PathBuf>,
    /// The training program and its arguments, separated by spaces
    #[arg(long, env = "ATELIER_TRAINER_COMMAND")]
    trainer_command: Option<String>,
    /// The folder of base models of the trainer, which reads the same variable. Without it, jobs can name any base
    /// model
    #[arg(long, env = "TRAINER_MODELS")]
    trainer_models: Option<PathBuf>,
    /// Run the programs of jobs, without a WebUI. For pools of one tenant
    #[arg(long, env = "ATELIER_RUN_PROGRAMS")]
    run_programs: bool,
    /// The program of the engine and its arguments, after `--`: it is started, started again when it ends, and killed when it
    /// hangs. Without it the engine is another container
    #[arg(last = true, value_name = "PROGRAM")]
    engine: Vec<OsString>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    service::start_logging();
    atelier_runner::adopt_orphans().context("cannot adopt orphans")?;
    let stop = CancellationToken::new();
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let stopped = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        stopped.cancel();
    });
    let mut engine = args.engine.into_iter();
    let config = Config {
        jobs_url: args.jobs_url,
        token: args.token,
        engine_url: (!args.run_programs).then_some(args.engine_url),
        lora_dir: args.lora_dir,
        trainer: args.trainer_command.as_deref().and_then(Command::from_words),
        trainer_models: args.trainer_models,
        runs_programs: args.run_programs,
        program: engine.next().map(|path| Program { path: PathBuf::from(path), args: engine.collect() }),
        limits: Limits::default(),
    };
    atelier_runner::run(config, stop).await.context("runner")
}

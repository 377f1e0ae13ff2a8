//! The loop of a worker: sessions, and in each of them one job after another.

use std::{path::PathBuf, time::Duration};

use reqwest::redirect::Policy;
use secrecy::SecretString;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::{
    door::{Door, Error, Instruction, Session},
    engine::WebUi,
    train::Trainer,
    work,
};

const CONNECT: Duration = Duration::from_secs(2);
/// Pause after a call that failed.
const PAUSE: Duration = Duration::from_secs(1);

/// The configuration.
#[derive(Debug, Clone)]
pub struct Config {
    /// Base URL of the jobs service's listener for workers.
    pub jobs_url: Url,
    /// The token of the worker.
    pub token: SecretString,
    /// Base URL of a Stable Diffusion WebUI.
    pub engine_url: Url,
    /// The folder of adapters of the WebUI. None if jobs cannot name models.
    pub lora_dir: Option<PathBuf>,
    /// The program that trains. None if the worker does not.
    pub trainer: Option<Trainer>,
}

/// What works.
pub(crate) struct Engine {
    pub(crate) api: WebUi,
    pub(crate) lora_dir: Option<PathBuf>,
    pub(crate) trainer: Option<Trainer>,
}

/// Runs jobs until `stop`, which ends the session. What it runs then is tried again elsewhere.
///
/// # Errors
/// If the worker's token is refused.
pub async fn run(config: Config, stop: CancellationToken) -> anyhow::Result<()> {
    // without a limit on silence: a generation answers when it is done
    let http = reqwest::Client::builder().connect_timeout(CONNECT).redirect(Policy::none()).build()?;
    let engine = Engine {
        api: WebUi::new(http.clone(), &config.engine_url),
        lora_dir: config.lora_dir,
        trainer: config.trainer,
    };
    let door = Door::new(http, config.jobs_url, config.token);
    while let Some(session) = stop.run_until_cancelled(begin(&engine, &door)).await {
        tracing::info!("session begun");
        let session = session?;
        let served = serve(&session, &engine, &stop).await;
        let ended = match served {
            Ok(()) => session.end().await,
            Err(error) => Err(error),
        };
        if let Err(error) = ended {
            tracing::warn!(error = format!("{error:#}"), "session ended");
            let _ = stop.run_until_cancelled(sleep(PAUSE)).await;
        }
    }
    Ok(())
}

/// Begins a session once the engine can work.
async fn begin(engine: &Engine, door: &Door) -> anyhow::Result<Session> {
    wait_for(engine).await;
    register(door).await
}

/// Waits until the engine answers, and is idle: a worker that is registered gets jobs.
async fn wait_for(engine: &Engine) {
    while !engine.api.is_ready().await {
        sleep(PAUSE).await;
    }
    // it may work for a process that has ended
    while engine.api.steps().await.is_some() {
        engine.api.interrupt().await;
        sleep(PAUSE).await;
    }
}

async fn register(door: &Door) -> anyhow::Result<Session> {
    loop {
        match door.register().await {
            Ok(session) => return Ok(session),
            Err(Error::Unavailable(error)) => {
                tracing::warn!(error = format!("{error:#}"), "cannot register");
                sleep(PAUSE).await;
            }
            Err(refused) => return Err(refused.into()),
        }
    }
}

/// Runs one job after another until `stop`.
///
/// # Errors
/// If the session has ended, or the end of an attempt could not be reported.
async fn serve(session: &Session, engine: &Engine, stop: &CancellationToken) -> Result<(), Error> {
    loop {
        let polled = tokio::select! {
            polled = session.poll(None) => polled,
            () = stop.cancelled() => return Ok(()),
        };
        match polled {
            Ok(Some(Instruction::Work(job))) => work::run(session, engine, job, stop).await?,
            Ok(Some(Instruction::Stop { .. }) | None) => {}
            Err(Error::Unavailable(error)) => {
                tracing::warn!(error = format!("{error:#}"), "cannot poll");
                sleep(PAUSE).await;
            }
            Err(other) => return Err(other),
        }
        if stop.is_cancelled() {
            return Ok(());
        }
    }
}

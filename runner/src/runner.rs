//! The loop of a worker: sessions, and in each of them one job after another.

use std::{path::PathBuf, time::Duration};

use reqwest::redirect::Policy;
use secrecy::SecretString;
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::{
    command::Command,
    deliveries::Deliveries,
    engine::WebUi,
    engines::{Engine, Engines},
    inventory::{self, Inventory},
    jobs_service::{Client, Error, Instruction, Models, Session},
    limits::Limits,
    process::{self, Program},
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
    /// Base URL of a Stable Diffusion WebUI. None if the worker has none.
    pub engine_url: Option<Url>,
    /// The folder of adapters of the WebUI. None if jobs cannot name models.
    pub lora_dir: Option<PathBuf>,
    /// The program that trains. None if the worker does not.
    pub trainer: Option<Command>,
    /// The folder of its base models, a pipeline of diffusers each. None if it is not known which it has.
    pub trainer_models: Option<PathBuf>,
    /// Whether it runs the programs of jobs.
    pub runs_programs: bool,
    /// The program that serves the WebUI. None if others start it.
    pub program: Option<Program>,
    /// Timeouts.
    pub limits: Limits,
}

/// Runs jobs until `stop`, which ends the session. What it runs then is tried again elsewhere.
///
/// # Errors
/// If the worker's token is refused.
pub async fn run(config: Config, stop: CancellationToken) -> anyhow::Result<()> {
    // without a limit on silence: a generation answers when it is done
    let http = reqwest::Client::builder().connect_timeout(CONNECT).redirect(Policy::none()).build()?;
    let webui = config.engine_url.map(|url| Engine {
        api: WebUi::new(http.clone(), &url),
        lora_dir: config.lora_dir,
        limits: config.limits,
        child: config.program.map(process::Engine::start),
    });
    let engines = Engines {
        webui,
        trainer: config.trainer,
        trainer_models: config.trainer_models,
        runs_programs: config.runs_programs,
    };
    let client = Client::new(http, config.jobs_url, config.token, config.limits.away);
    let done = sessions(&engines, &client, config.limits.models, &stop).await;
    if let Some(child) = engines.webui.and_then(|engine| engine.child) {
        child.stop().await;
    }
    done
}

/// Begins one session after another until `stop`.
async fn sessions(
    engines: &Engines,
    client: &Client,
    look: Duration,
    stop: &CancellationToken,
) -> anyhow::Result<()> {
    while let Some(session) = stop.run_until_cancelled(begin(engines, client)).await {
        tracing::info!("session begun");
        let Begun { session, models, ended } = session?;
        let inventory = Inventory::new(models, look);
        let served = serve(&session, engines, inventory, ended, stop).await;
        let ended = match served {
            Ok(()) => session.end().await,
            Err(Error::NotYours) => Err(Error::NotYours),
            // an unreported failure does not count as a loss of the node
            Err(error) => session.end().await.and(Err(error)),
        };
        if let Err(error) = ended {
            tracing::warn!(error = format!("{error:#}"), "session ended");
            let _ = stop.run_until_cancelled(sleep(PAUSE)).await;
        }
    }
    Ok(())
}

/// A session, and the processes of the engine that end in it.
struct Begun {
    session: Session,
    models: Models,
    ended: Option<watch::Receiver<u64>>,
}

/// Begins a session once the engine can work.
async fn begin(engines: &Engines, client: &Client) -> anyhow::Result<Begun> {
    let mut ended = engines.webui.as_ref().and_then(Engine::ended);
    if let Some(engine) = &engines.webui {
        loop {
            if let Some(ended) = &mut ended {
                ended.mark_unchanged();
            }
            wait_for(engine).await;
            // the exit of the previous process may be noticed only now; then wait for the next one again
            if !ended.as_ref().is_some_and(|ended| ended.has_changed().unwrap_or_default()) {
                break;
            }
        }
    }
    let models = inventory::read(engines).await;
    Ok(Begun { session: register(client, &models).await?, models, ended })
}

/// Waits until the engine answers, and is idle: a worker that is registered gets jobs.
async fn wait_for(engine: &Engine) {
    let (mut begun, Limits { start, interrupt, .. }) = (Instant::now(), engine.limits);
    while !engine.api.is_ready().await {
        if begun.elapsed() >= start {
            tracing::warn!("the engine does not start");
            engine.kill().await;
            begun = Instant::now();
        }
        sleep(PAUSE).await;
    }
    // it may work for a process that has ended
    begun = Instant::now();
    while engine.api.is_busy().await {
        if begun.elapsed() >= interrupt {
            engine.kill().await;
            begun = Instant::now();
        }
        engine.api.interrupt().await;
        sleep(PAUSE).await;
    }
}

async fn register(client: &Client, models: &Models) -> anyhow::Result<Session> {
    loop {
        match Session::begin(client, models).await {
            Ok(session) => return Ok(session),
            Err(Error::Unavailable(error)) => {
                tracing::warn!(error = format!("{error:#}"), "cannot register");
                sleep(PAUSE).await;
            }
            Err(refused) => return Err(refused.into()),
        }
    }
}

/// Runs one job after another until `stop`, or until the engine cannot be relied on.
///
/// # Errors
/// If the session has ended, or the end of an attempt could not be reported.
async fn serve(
    session: &Session,
    engines: &Engines,
    mut inventory: Inventory,
    mut ended: Option<watch::Receiver<u64>>,
    stop: &CancellationToken,
) -> Result<(), Error> {
    let deliveries = Deliveries::default();
    loop {
        deliveries.check()?;
        let polled = tokio::select! {
            polled = session.poll(None) => polled,
            error = inventory.follow(session, engines) => return Err(error),
            () = end_of(ended.as_mut()) => return Ok(()),
            () = stop.cancelled() => return Ok(()),
        };
        match polled {
            Ok(Some(Instruction::Work(job))) => {
                match work::run(session, engines, job, &deliveries, stop).await {
                    Ok(true) => {}
                    Ok(false) => return Ok(()),
                    // the attempt has ended; if the session has, too, the next poll reports it
                    Err(Error::NotYours) => tracing::info!("the attempt is not this worker's any more"),
                    Err(other) => return Err(other),
                }
            }
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

/// Waits until a process of the engine has ended.
async fn end_of(ended: Option<&mut watch::Receiver<u64>>) {
    match ended {
        Some(ended) => drop(ended.changed().await),
        None => std::future::pending().await,
    }
}

//! One attempt: the engine works, its progress is reported, an open poll tells when to stop, and the results are uploaded.

use std::{path::PathBuf, time::Duration};

use bytes::Bytes;
use sha2::{Digest as _, Sha256};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};
use tokio_util::sync::CancellationToken;

use crate::{
    command::{self, Command},
    deliveries::Deliveries,
    door::{
        Artifact, Attempt, Error, INCOMPLETE, Instruction, Phase, Progress, Refused, Session, StopReason,
        UPLOAD_MISSING, Work,
    },
    engine::{Failure, Init, Steps},
    init, loras,
    pace::Pace,
    picture,
    runner::{Engine, Engines},
};

/// How often progress is read and reported.
const REPORT: Duration = Duration::from_millis(500);
/// Pause after a call that failed.
const PAUSE: Duration = Duration::from_secs(1);

/// How an attempt has ended for the runner.
enum End {
    /// The engine returned pictures.
    Made(Vec<Vec<u8>>),
    /// The engine failed.
    Failed(Failure),
    /// The attempt was told to stop.
    Stopped(StopReason),
    /// The process ends, and with it the session.
    Ending,
}

/// Runs an attempt to its end. Returns whether the engine can be relied on for another; if not, the session has ended with the
/// attempt, or is to end.
///
/// # Errors
/// If the session has ended, or the end could not be reported.
pub(crate) async fn run(
    session: &Session,
    engines: &Engines,
    work: Work,
    deliveries: &Deliveries,
    stop: &CancellationToken,
) -> Result<bool, Error> {
    let attempt = Attempt { job_id: work.job_id, attempt: work.attempt };
    tracing::info!(job.id = %attempt.job_id, attempt.attempt, "attempt begins");
    let program = match (work.application.as_str(), work.method.as_str(), &engines.webui) {
        ("stable-diffusion", "txt2img" | "img2img", Some(engine)) => {
            return generate(session, engine, work, deliveries, stop).await;
        }
        ("dreambooth", "train", _) => engines.trainer.clone(),
        ("command", "run", _) if engines.runs_programs => Command::of_job(&work),
        _ => None,
    };
    match program {
        Some(program) => command::run(session, &program, &work, deliveries, stop).await?,
        None => {
            let Work { application, method, .. } = &work;
            let message = format!("The worker does not run {application}.{method}.");
            session.fail(attempt, "unknown-method", &message, (false, false)).await?;
        }
    }
    Ok(true)
}

/// As [`run`], of pictures.
async fn generate(
    session: &Session,
    engine: &Engine,
    mut work: Work,
    deliveries: &Deliveries,
    stop: &CancellationToken,
) -> Result<bool, Error> {
    let attempt = Attempt { job_id: work.job_id, attempt: work.attempt };
    let prepared = tokio::select! {
        prepared = prepare(session, engine, attempt, &mut work) => prepared,
        reason = stopped(session, attempt) => return left(session, attempt, reason?, true).await.map(|()| true),
        () = stop.cancelled() => return Ok(true),
    };
    let init = match prepared {
        Ok(init) => init,
        Err(error) => {
            loras::clear(engine).await;
            return cannot_begin(session, attempt, error).await.map(|()| true);
        }
    };
    let making = engine.api.generate(&work.parameters, init.as_ref());
    let computed = compute(session, engine, attempt, making, stop).await;
    loras::clear(engine).await;
    let (end, is_sound) = computed?;
    match end {
        End::Made(pictures) => {
            let output = |(n, content): (usize, Vec<u8>)| {
                let (extension, content_type) = picture::format(&content);
                let name = format!("{n}.{extension}");
                Output { name, content_type, content: Content::Bytes(content.into()) }
            };
            let outputs = pictures.into_iter().enumerate().map(output).collect();
            let results = Results { outputs, refused: Vec::new() };
            deliveries.deliver(session, attempt, (results, None), stop).await
        }
        End::Failed(Failure { code, message, is_retryable, is_fatal }) => {
            tracing::warn!(job.id = %attempt.job_id, code, message, "attempt failed");
            if is_fatal {
                // it is ready again only if the GPU works
                engine.kill().await;
            }
            session.fail(attempt, code, &message, (is_retryable, !is_sound)).await
        }
        End::Stopped(reason) => left(session, attempt, reason, is_sound).await,
        End::Ending => Ok(()),
    }?;
    Ok(is_sound)
}

/// Downloads what a generation needs, and lays models beside the engine. Returns the picture that it begins with, if it does.
async fn prepare(
    session: &Session,
    engine: &Engine,
    attempt: Attempt,
    work: &mut Work,
) -> Result<Option<Init>, Error> {
    let init = match work.method.as_str() {
        "img2img" => Some(init::fetch(session, attempt, &work.parameters).await?),
        _ => None,
    };
    loras::place(session, engine, attempt, &mut work.parameters).await?;
    Ok(init)
}

/// Ends an attempt that lacks an input.
pub(crate) async fn cannot_begin(session: &Session, attempt: Attempt, error: Error) -> Result<(), Error> {
    match error {
        Error::Refused { code, detail } => {
            let is_retryable = code == INCOMPLETE;
            session.fail(attempt, &code, &detail, (is_retryable, false)).await
        }
        error @ (Error::Unavailable(_) | Error::Stale(_)) => {
            tracing::warn!(error = format!("{error:?}"), "cannot download an input");
            let message = "An input could not be downloaded.";
            session.fail(attempt, "input-unavailable", message, (true, false)).await
        }
        Error::NotYours => Err(Error::NotYours),
    }
}

/// Ends an attempt that was told to stop, and the session with it unless the engine is sound.
pub(crate) async fn left(
    session: &Session,
    attempt: Attempt,
    reason: StopReason,
    is_sound: bool,
) -> Result<(), Error> {
    tracing::info!(job.id = %attempt.job_id, ?reason, "attempt stopped");
    match reason {
        StopReason::Cancelled | StopReason::Preempted => session.leave(attempt, !is_sound).await,
        StopReason::NotYours => Ok(()),
    }
}

/// Lets the engine work until it is done or has to stop. An engine that has to stop is idle afterwards, or is killed. Also
/// returns whether the engine can be relied on.
async fn compute(
    session: &Session,
    engine: &Engine,
    attempt: Attempt,
    making: impl Future<Output = Result<Vec<Vec<u8>>, Failure>>,
    stop: &CancellationToken,
) -> Result<(End, bool), Error> {
    tokio::pin!(making);
    let end = tokio::select! {
        made = &mut making => {
            let is_sound = made.as_ref().err().is_none_or(|failure| !failure.is_retryable && !failure.is_fatal);
            return Ok((made.map_or_else(End::Failed, End::Made), is_sound));
        }
        reason = stopped(session, attempt) => reason.map(End::Stopped),
        reported = report(session, engine, attempt) => reported.map(End::Failed),
        () = stop.cancelled() => Ok(End::Ending),
    };
    if matches!(end, Ok(End::Ending)) && engine.ends_with_runner() {
        return Ok((End::Ending, true));
    }
    // an interrupt that comes before the engine has begun has no effect
    let idle = async {
        loop {
            engine.api.interrupt().await;
            tokio::select! {
                _ = &mut making => return,
                () = sleep(REPORT) => {}
            }
        }
    };
    let is_idle = tokio::time::timeout(engine.limits.interrupt, idle).await.is_ok();
    if !is_idle {
        tracing::warn!(job.id = %attempt.job_id, "the engine does not stop");
        engine.kill().await;
    }
    Ok((end?, is_idle))
}

/// Waits until the attempt has to stop.
pub(crate) async fn stopped(session: &Session, attempt: Attempt) -> Result<StopReason, Error> {
    loop {
        match session.poll(Some(attempt)).await {
            Ok(Some(Instruction::Stop { reason })) => return Ok(reason),
            Ok(Some(Instruction::Work(other))) => {
                tracing::warn!(job.id = %other.job_id, "work for a worker that has some");
                return Ok(StopReason::NotYours);
            }
            Ok(None) => {}
            Err(Error::Unavailable(error)) => {
                // it works on, and reports the end when the service is back
                tracing::warn!(error = format!("{error:#}"), "cannot poll");
                sleep(PAUSE).await;
            }
            Err(other) => return Err(other),
        }
    }
}

/// Reports progress whenever it changes, until the engine hangs, which is returned, or the attempt is not the worker's any
/// more.
async fn report(session: &Session, engine: &Engine, attempt: Attempt) -> Result<Failure, Error> {
    let mut ticks = interval(REPORT);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut last, mut pace) = (None, Pace::new(Instant::now()));
    loop {
        ticks.tick().await;
        let steps = engine.api.steps().await;
        if let Some(time) = pace.hangs(steps, Instant::now(), engine.limits) {
            let message = format!("The engine has made no progress for {} s.", time.as_secs());
            return Ok(Failure::of_engine(message));
        }
        let now = match steps {
            Some(Steps { step, steps }) => Progress { phase: Phase::Working, step, steps },
            None => Progress { phase: Phase::Loading, step: 0, steps: 0 },
        };
        // the engine is idle for a moment after its last picture
        if last == Some(now) || (last.is_some() && now.phase == Phase::Loading) {
            continue;
        }
        match session.progress(attempt, now).await {
            Ok(()) => last = Some(now),
            Err(Error::Unavailable(error)) => {
                tracing::warn!(error = format!("{error:#}"), "cannot report progress");
            }
            Err(other) => return Err(other),
        }
    }
}

/// A result.
pub(crate) struct Output {
    pub(crate) name: String,
    pub(crate) content_type: &'static str,
    pub(crate) content: Content,
}

/// The content of a result. Files are read one at a time.
pub(crate) enum Content {
    Bytes(Bytes),
    File(PathBuf),
}

impl Content {
    fn read(&self) -> std::io::Result<Bytes> {
        match self {
            Self::Bytes(bytes) => Ok(bytes.clone()),
            Self::File(path) => std::fs::read(path).map(Bytes::from),
        }
    }
}

/// What an attempt leaves.
#[derive(Default)]
pub(crate) struct Results {
    pub(crate) outputs: Vec<Output>,
    /// What is no result.
    pub(crate) refused: Vec<Refused>,
}

/// Uploads the results, and ends the attempt with them.
pub(crate) async fn upload(session: &Session, attempt: Attempt, results: &Results) -> Result<(), Error> {
    let uploading = Progress { phase: Phase::Uploading, step: 0, steps: 0 };
    match session.progress(attempt, uploading).await {
        Ok(()) | Err(Error::Unavailable(_)) => {}
        Err(other) => return Err(other),
    }
    match send(session, attempt, results).await {
        // no space, say: the user can do something about it. What was lost on its way may arrive next time
        Err(Error::Refused { code, detail }) => {
            tracing::warn!(job.id = %attempt.job_id, code, detail, "results refused");
            session.fail(attempt, &code, &detail, (code == UPLOAD_MISSING, false)).await
        }
        Err(error @ (Error::Unavailable(_) | Error::Stale(_))) => {
            tracing::warn!(error = format!("{error:?}"), "cannot upload");
            let message = "A result could not be uploaded.";
            session.fail(attempt, "upload-failed", message, (true, false)).await
        }
        done => done,
    }
}

/// Uploads the results, and ends the attempt with them. If the service does not find them, once more.
async fn send(session: &Session, attempt: Attempt, results: &Results) -> Result<(), Error> {
    let artifacts = upload_all(session, attempt, &results.outputs).await?;
    match session.complete(attempt, &artifacts, &results.refused).await {
        Err(Error::Refused { code, .. }) if code == UPLOAD_MISSING => {
            upload_all(session, attempt, &results.outputs).await?;
            session.complete(attempt, &artifacts, &results.refused).await?;
        }
        ended => ended?,
    }
    tracing::info!(job.id = %attempt.job_id, artifacts = artifacts.len(), "attempt completed");
    Ok(())
}

async fn upload_all(session: &Session, attempt: Attempt, outputs: &[Output]) -> Result<Vec<Artifact>, Error> {
    let mut artifacts = Vec::new();
    for Output { name, content_type, content } in outputs {
        let content = content.read().map_err(|error| Error::Unavailable(error.into()))?;
        let sha256 = hex::encode(Sha256::digest(&content));
        let artifact = Artifact { name: name.clone(), content_type, sha256, bytes: content.len() };
        session.upload(attempt, &artifact, content).await?;
        artifacts.push(artifact);
    }
    Ok(artifacts)
}

//! One attempt: the engine works, its progress is reported, an open poll tells when to stop, and the results are uploaded.

use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tokio::time::{MissedTickBehavior, interval, sleep};
use tokio_util::sync::CancellationToken;

use crate::{
    door::{Artifact, Attempt, Error, Instruction, Phase, Progress, Session, StopReason, Work},
    engine::{Failure, Steps},
    loras,
    runner::Engine,
    train,
};

/// How often progress is read and reported.
const REPORT: Duration = Duration::from_millis(500);
/// Pause after a call that failed.
const PAUSE: Duration = Duration::from_secs(1);
/// How long an interrupted engine may take to answer.
const INTERRUPTED: Duration = Duration::from_secs(20);

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

/// Runs an attempt to its end.
///
/// # Errors
/// If the session has ended, or the end could not be reported.
pub(crate) async fn run(
    session: &Session,
    engine: &Engine,
    work: Work,
    stop: &CancellationToken,
) -> Result<(), Error> {
    let attempt = Attempt { job_id: work.job_id, attempt: work.attempt };
    tracing::info!(job.id = %attempt.job_id, attempt.attempt, "attempt begins");
    match (work.application.as_str(), work.method.as_str(), &engine.trainer) {
        ("stable-diffusion", "txt2img", _) => generate(session, engine, attempt, work, stop).await,
        ("dreambooth", "train", Some(trainer)) => train::run(session, trainer, attempt, &work, stop).await,
        (application, method, _) => {
            let message = format!("The worker does not run {application}.{method}.");
            session.fail(attempt, "unknown-method", &message, false).await
        }
    }
}

async fn generate(
    session: &Session,
    engine: &Engine,
    attempt: Attempt,
    mut work: Work,
    stop: &CancellationToken,
) -> Result<(), Error> {
    let placed = tokio::select! {
        placed = loras::place(session, engine, attempt, &mut work.parameters) => placed,
        reason = stopped(session, attempt) => return left(session, attempt, reason?).await,
        () = stop.cancelled() => return Ok(()),
    };
    let end = match placed {
        Ok(()) => compute(session, engine, attempt, &work, stop).await,
        Err(error) => {
            loras::clear(engine).await;
            return cannot_begin(session, attempt, error).await;
        }
    };
    loras::clear(engine).await;
    match end? {
        End::Made(pictures) => {
            let output =
                |(n, content)| Output { name: format!("{n}.png"), content_type: "image/png", content };
            let outputs = pictures.into_iter().enumerate().map(output).collect();
            deliver(session, attempt, outputs, stop).await
        }
        End::Failed(Failure { code, message, is_retryable }) => {
            tracing::warn!(job.id = %attempt.job_id, code, message, "attempt failed");
            session.fail(attempt, code, &message, is_retryable).await
        }
        End::Stopped(reason) => left(session, attempt, reason).await,
        End::Ending => Ok(()),
    }
}

/// Ends an attempt that lacks an input.
pub(crate) async fn cannot_begin(session: &Session, attempt: Attempt, error: Error) -> Result<(), Error> {
    match error {
        Error::Refused { code, detail } => session.fail(attempt, &code, &detail, false).await,
        Error::Unavailable(error) => {
            tracing::warn!(error = format!("{error:#}"), "cannot download an input");
            session.fail(attempt, "input-unavailable", "An input could not be downloaded.", true).await
        }
        Error::NotYours => Err(Error::NotYours),
    }
}

pub(crate) async fn left(session: &Session, attempt: Attempt, reason: StopReason) -> Result<(), Error> {
    tracing::info!(job.id = %attempt.job_id, ?reason, "attempt stopped");
    match reason {
        StopReason::Cancelled | StopReason::Preempted => session.leave(attempt).await,
        StopReason::NotYours => Ok(()),
    }
}

/// Lets the engine work until it is done or has to stop. An engine that has to stop is idle afterwards.
async fn compute(
    session: &Session,
    engine: &Engine,
    attempt: Attempt,
    work: &Work,
    stop: &CancellationToken,
) -> Result<End, Error> {
    let making = engine.api.txt2img(&work.parameters);
    tokio::pin!(making);
    let end = tokio::select! {
        made = &mut making => return Ok(made.map_or_else(End::Failed, End::Made)),
        reason = stopped(session, attempt) => reason.map(End::Stopped),
        lost = report(session, engine, attempt) => Err(lost),
        () = stop.cancelled() => Ok(End::Ending),
    };
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
    if tokio::time::timeout(INTERRUPTED, idle).await.is_err() {
        tracing::warn!(job.id = %attempt.job_id, "the engine does not stop");
    }
    end
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

/// Reports progress whenever it changes, until the attempt is not the worker's any more.
async fn report(session: &Session, engine: &Engine, attempt: Attempt) -> Error {
    let mut ticks = interval(REPORT);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut last = None;
    loop {
        ticks.tick().await;
        let now = match engine.api.steps().await {
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
            Err(other) => return other,
        }
    }
}

/// A result.
pub(crate) struct Output {
    pub(crate) name: String,
    pub(crate) content_type: &'static str,
    pub(crate) content: Vec<u8>,
}

/// Uploads the results, and ends the attempt with them, unless it has to stop before.
pub(crate) async fn deliver(
    session: &Session,
    attempt: Attempt,
    outputs: Vec<Output>,
    stop: &CancellationToken,
) -> Result<(), Error> {
    tokio::select! {
        done = upload(session, attempt, outputs) => done,
        reason = stopped(session, attempt) => left(session, attempt, reason?).await,
        () = stop.cancelled() => Ok(()),
    }
}

async fn upload(session: &Session, attempt: Attempt, outputs: Vec<Output>) -> Result<(), Error> {
    let uploading = Progress { phase: Phase::Uploading, step: 0, steps: 0 };
    match session.progress(attempt, uploading).await {
        Ok(()) | Err(Error::Unavailable(_)) => {}
        Err(other) => return Err(other),
    }
    let mut artifacts = Vec::new();
    for Output { name, content_type, content } in outputs {
        let sha256 = hex::encode(Sha256::digest(&content));
        let artifact = Artifact { name, content_type, sha256, bytes: content.len() };
        match session.upload(attempt, &artifact, content).await {
            // no space, say: the user can do something about it
            Err(Error::Refused { code, detail }) => {
                return session.fail(attempt, &code, &detail, false).await;
            }
            Err(Error::Unavailable(error)) => {
                tracing::warn!(error = format!("{error:#}"), "cannot upload");
                return session.fail(attempt, "upload-failed", "A result could not be uploaded.", true).await;
            }
            done => done?,
        }
        artifacts.push(artifact);
    }
    session.complete(attempt, &artifacts).await?;
    tracing::info!(job.id = %attempt.job_id, artifacts = artifacts.len(), "attempt completed");
    Ok(())
}

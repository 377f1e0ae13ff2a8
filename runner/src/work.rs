//! One attempt: the engine works, its progress is reported, and an open poll receives requests to stop.

use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval, sleep};
use tokio_util::sync::CancellationToken;

use crate::{
    attempt::{cannot_begin, left, stopped},
    command::{self, Command},
    deliveries::Deliveries,
    engine::{Failure, Init, Steps},
    engines::{Engine, Engines},
    init,
    jobs_service::{Attempt, Error, Phase, Progress, Session, StopReason, Work},
    loras,
    pace::Pace,
    picture,
    results::{Content, Output, Results},
};

/// How often progress is read and reported.
const REPORT: Duration = Duration::from_millis(500);

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

/// Like [`run`], for pictures.
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

/// Downloads the inputs of a generation, and places models in the engine's folder. Returns the initial picture, if
/// there is one.
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

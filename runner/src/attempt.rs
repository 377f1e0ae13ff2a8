//! Attempts that end without results: the service stops them, or an input is missing.

use std::time::Duration;

use tokio::time::sleep;

use crate::jobs_service::{Attempt, Error, INCOMPLETE, Instruction, Session, StopReason};

/// Pause after a call that failed.
const PAUSE: Duration = Duration::from_secs(1);

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

//! Uploads of results to the object store. Long ones continue while the worker runs other jobs; they are lost with the
//! session.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tempfile::TempDir;
use tokio::{sync::oneshot, task::JoinSet, time::sleep};
use tokio_util::sync::CancellationToken;

use crate::{
    attempt::{left, stopped},
    jobs_service::{Attempt, Error, Session},
    results::{Results, upload},
};

/// After this time the worker requests other jobs.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often an attempt that is delivering is checked for cancellation.
const LOOK: Duration = Duration::from_secs(2);
/// Maximum number of attempts that are delivering at a time: their results are on the disk of the worker.
const MOST: usize = 16;

/// The deliveries of a session.
#[derive(Default)]
pub(crate) struct Deliveries(Mutex<JoinSet<Result<(), Error>>>);

impl Deliveries {
    fn tasks(&self) -> std::sync::MutexGuard<'_, JoinSet<Result<(), Error>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of deliveries that have ended.
    ///
    /// # Errors
    /// If the end of an attempt could not be reported: the session has to end, too.
    pub(crate) fn check(&self) -> Result<(), Error> {
        while let Some(ended) = self.tasks().try_join_next() {
            // the others have ended with their attempts
            if let Ok(Err(error @ (Error::Unavailable(_) | Error::Refused { .. }))) = ended {
                return Err(error);
            }
        }
        Ok(())
    }

    /// Uploads the results of an attempt, and ends it with them, unless it has to stop before. Their folder is deleted then. Returns
    /// when the worker may run another job.
    ///
    /// # Errors
    /// If the attempt is not the worker's any more, or its end could not be reported.
    pub(crate) async fn deliver(
        &self,
        session: &Session,
        attempt: Attempt,
        (results, folder): (Results, Option<TempDir>),
        stop: &CancellationToken,
    ) -> Result<(), Error> {
        let (ended, mut end) = oneshot::channel();
        let is_handed_over = CancellationToken::new();
        let (own, handed_over) = (session.clone(), is_handed_over.clone());
        let mut may_hand_over = self.tasks().len() < MOST;
        let task = self.tasks().spawn(async move {
            let _folder = folder;
            let done = tokio::select! {
                done = upload(&own, attempt, &results) => done,
                withdrawn = withdrawn(&own, attempt, &handed_over) => withdrawn,
            };
            match ended.send(done) {
                Ok(()) => Ok(()),
                // the receiver was dropped: the delivery was handed over
                Err(done) => done,
            }
        });
        loop {
            tokio::select! {
                // the task ends after it has sent, unless it was aborted
                done = &mut end => return done.unwrap_or(Ok(())),
                reason = stopped(session, attempt) => {
                    task.abort();
                    return left(session, attempt, reason?, true).await;
                }
                () = stop.cancelled() => return Ok(()),
                () = sleep(PATIENCE), if may_hand_over => {}
            }
            // without an open poll, which would report that the attempt no longer belongs to the worker
            let handed = tokio::select! {
                done = &mut end => return done.unwrap_or(Ok(())),
                handed = session.hand_over(attempt) => handed,
                () = stop.cancelled() => return Ok(()),
            };
            match handed {
                Ok(true) => {
                    tracing::info!(job.id = %attempt.job_id, "the results follow");
                    is_handed_over.cancel();
                    return Ok(());
                }
                // an attempt that has ended has sent its end
                Ok(false) | Err(_) => may_hand_over = false,
            }
        }
    }
}

/// Waits until an attempt that was handed over is cancelled, and leaves it.
async fn withdrawn(
    session: &Session,
    attempt: Attempt,
    handed_over: &CancellationToken,
) -> Result<(), Error> {
    handed_over.cancelled().await;
    loop {
        sleep(LOOK).await;
        match session.is_cancelled(attempt).await {
            Ok(false) | Err(Error::Unavailable(_)) => {}
            Ok(true) => return session.leave(attempt, false).await,
            Err(other) => return Err(other),
        }
    }
}

//! The end of an attempt: job, attempt, worker and results change in one transaction.

use ids::JobId;
use jiff::Timestamp;
use jobs_core::{
    application::{MODEL_FILE, Training},
    attempt::{self, AttemptState, End, Ended, GPU_FAILED, Policy},
    cost::{Charge, Outcome, Uncharged, Work, charge},
    job::Job,
    status::{Fence, JobProblem, JobState, Status},
};
use records::{
    cost::{self, UsageRecord},
    job, pool,
    worker::{
        Error, NotYours,
        store::{Held, delivers, free},
    },
};
use results::{
    artifact::{self, Artifact, CHECKPOINTS},
    model::{self, Trained},
};
use sqlx::PgConnection;

use super::{member, store};

/// Code of an attempt whose GPU has too little memory.
const OUT_OF_MEMORY: &str = "out-of-memory";

/// Ends the attempt of a locked worker. Returns the state of its job.
///
/// # Errors
/// [`NotYours`] if the worker does not run or deliver it, or it is not the latest one of its job.
pub async fn end(
    conn: &mut PgConnection,
    worker: &Held,
    job: JobId,
    number: i32,
    how: &End,
    policy: &Policy,
    now: Timestamp,
) -> Result<JobState, Error> {
    if worker.current != Some((job, number)) && !delivers(conn, worker.id, (job, number)).await? {
        return Err(NotYours.into());
    }
    let (job, counts) = job::lock_for_attempt(conn, job).await?.ok_or(NotYours)?;
    let place = member::find(conn, job.id, number, worker.id).await?;
    let (fence, is_recalled) = match place {
        None => (Fence { attempt: number, worker: worker.id }, worker.is_recalled),
        Some(place) => {
            let fence = job.status.fence().filter(|fence| fence.attempt == number).ok_or(NotYours)?;
            if place.rank > 0 && matches!(how, End::Completed | End::Prevented { .. }) {
                return Err(NotYours.into());
            }
            (fence, member::is_any_recalled(conn, job.id, number).await?)
        }
    };
    let has_worked =
        matches!(how, End::Failed { .. }) && store::unworked(conn, job.id, number).await?.is_none();
    let how = &last_of_memory(conn, job.id, how).await?.by_tenant(has_worked);
    let ended = attempt::end(&job.status, fence, how, (counts, is_recalled), policy, now)?;
    let problem = match (&ended.status, how) {
        (Status::Failed(problem), _) | (_, End::Failed { problem, .. } | End::Prevented { problem }) => {
            Some(problem)
        }
        _ => None,
    };
    let charge = settle(conn, &job, number, &ended).await?;
    store::close(conn, job.id, number, ended.attempt, problem, charge.as_ref()).await?;
    if matches!(how, End::Failed { problem, .. } if problem.code == GPU_FAILED) {
        store::note_lost_node(conn, job.id, number, worker.id).await?;
    }
    artifact::discard_staged(conn, job.id, number).await?;
    if ended.attempt != AttemptState::Succeeded {
        artifact::discard(conn, job.id, number).await?;
    }
    if ended.status.is_ended() {
        artifact::discard(conn, job.id, CHECKPOINTS).await?;
    }
    free(conn, worker.id, job.id).await?;
    if place.is_some() {
        // other workers keep the attempt until their processes are idle
        for other in member::others(conn, job.id, number, worker.id).await? {
            pool::publish(conn, worker.pool, &pool::Changed::Worker(other)).await?;
        }
    }
    job::record_end(conn, &job, &ended.status, ended.counts).await?;
    if ended.outcome == Outcome::Failed {
        take_back(conn, &job).await?;
    }
    job::sum_costs(conn, job.id).await?;
    Ok(ended.status.state())
}

/// A job that ran out of memory is tried once more, on a larger GPU if its pool has one.
async fn last_of_memory(conn: &mut PgConnection, job: JobId, how: &End) -> sqlx::Result<End> {
    let last = match how {
        End::Failed { problem, retryable: true } if problem.code == OUT_OF_MEMORY => {
            store::has_failed_with(conn, job, OUT_OF_MEMORY).await?
        }
        _ => false,
    };
    Ok(match how {
        End::Failed { problem, .. } if last => End::Failed { problem: problem.clone(), retryable: false },
        how => how.clone(),
    })
}

/// Returns what is charged for an open attempt that ends, and publishes it. None if the attempt is gone.
async fn settle(
    conn: &mut PgConnection,
    job: &Job,
    number: i32,
    ended: &Ended,
) -> sqlx::Result<Option<Charge>> {
    let Some(open) = store::open_cost(conn, job.id, number).await? else { return Ok(None) };
    let work = Work {
        assigned_at: open.assigned_at,
        working_at: open.working_at,
        stop_at: open.stop_at,
        checkpoint_at: artifact::checkpointed_at(conn, job.id, number).await?,
        ended_at: open.done_at,
    };
    let charge = charge(ended.outcome, &work, open.rate.as_ref());
    if let Some((of, rate)) = open.record(job, number).filter(|_| charge.seconds > 0) {
        cost::publish(conn, &UsageRecord::new(of, 1, &charge, rate, None)).await?;
    }
    Ok(Some(charge))
}

/// Removes the charges for earlier attempts of a job that has failed.
async fn take_back(conn: &mut PgConnection, job: &Job) -> sqlx::Result<()> {
    for (of, version, rate) in store::take_back(conn, job).await? {
        let none = Charge::default();
        let record = UsageRecord::new(of, version, &none, rate, Some(Uncharged::JobFailed));
        cost::publish(conn, &record).await?;
    }
    Ok(())
}

/// The results of an attempt.
pub struct Results<'a> {
    pub artifacts: &'a [Artifact],
    /// Name and base model of the result, if the job is a training.
    pub training: Option<&'a Training>,
    /// Why the tenant's bucket does not accept them; none if it does.
    pub refused: Option<JobProblem>,
    /// The note for the user about files that are not results.
    pub note: Option<JobProblem>,
}

/// Ends the attempt with its results, unless `refused` has a reason why they cannot be delivered. A
/// training's result also becomes a model. Returns the state of the job: `cancelled` if it was cancelled
/// before.
///
/// # Errors
/// [`NotYours`] if the worker does not run it, unless exactly this attempt has succeeded before.
pub async fn complete(
    conn: &mut PgConnection,
    worker: &Held,
    job: JobId,
    number: i32,
    results: Results<'_>,
    policy: &Policy,
    now: Timestamp,
) -> Result<JobState, Error> {
    if worker.current != Some((job, number)) && !delivers(conn, worker.id, (job, number)).await? {
        // the answer to the first call may have been lost
        return match store::state(conn, job, number, worker.id).await? {
            Some(AttemptState::Succeeded) => Ok(JobState::Succeeded),
            Some(AttemptState::Cancelled) => Ok(JobState::Cancelled),
            _ => Err(NotYours.into()),
        };
    }
    let how = match results.refused {
        None => End::Completed,
        Some(problem) => End::Prevented { problem },
    };
    let state = end(conn, worker, job, number, &how, policy, now).await?;
    if state == JobState::Succeeded {
        artifact::insert(conn, job, number, results.artifacts).await?;
        if let Some(note) = &results.note {
            store::note(conn, job, number, note).await?;
        }
        if let Some(training) = results.training {
            let Training { name, base_model } = training;
            let trained = Trained { job, attempt: number, name, base_model, file: MODEL_FILE };
            model::insert(conn, &trained).await?;
        }
    }
    Ok(state)
}

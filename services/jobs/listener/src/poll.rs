//! The next instruction for a worker.

use attempts::attempt::{
    end,
    member::{self, Member},
    store,
};
use ids::{JobId, WorkerId};
use jiff::Timestamp;
use jobs_core::{
    attempt::{End, Policy},
    status::Status,
};
use records::{
    job,
    worker::{self, Error, store::Held},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::PgConnection;

/// An attempt, as workers name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AttemptRef {
    pub(super) job_id: JobId,
    pub(super) attempt: i32,
}

/// Why a worker has to stop an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StopReason {
    /// The job was cancelled. Report the end with `fail` or `leave`.
    Cancelled,
    /// Another job is entitled to the worker, or an instance to its unit. Report the end with `leave`.
    Preempted,
    /// The attempt no longer belongs to the worker. Report nothing.
    NotYours,
}

/// The place of a worker among those of its attempt.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Place {
    rank: i16,
    world_size: i64,
}

/// The instruction for a worker.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Instruction {
    /// Run this attempt.
    Work {
        job_id: JobId,
        attempt: i32,
        application: String,
        method: String,
        model: Option<ids::ModelId>,
        parameters: Value,
        /// For an attempt with several workers.
        gang: Option<Place>,
    },
    /// Stop this attempt.
    Stop { job_id: JobId, attempt: i32, reason: StopReason, leave_by: Option<Timestamp> },
}

/// Whether there may be an instruction for a worker that runs `running`.
pub(super) async fn is_due(
    conn: &mut PgConnection,
    worker: WorkerId,
    running: Option<AttemptRef>,
) -> sqlx::Result<bool> {
    let current = store::current(conn, worker).await?;
    Ok(match current {
        None => running.is_some(),
        Some(current) => {
            let same = AttemptRef { job_id: current.job, attempt: current.attempt };
            running != Some(same) || current.is_stopping
        }
    })
}

/// Returns the instruction for a locked worker that runs `running`; none if it continues.
pub(super) async fn next(
    conn: &mut PgConnection,
    worker: &Held,
    running: Option<AttemptRef>,
    policy: &Policy,
    now: Timestamp,
) -> Result<Option<Instruction>, Error> {
    let current = worker.current.map(|(job_id, attempt)| AttemptRef { job_id, attempt });
    if let Some(other) = running.filter(|_| running != current) {
        return Ok(Some(stop(other, StopReason::NotYours, None)));
    }
    let Some(current) = current else { return Ok(None) };
    let place = member::find(conn, current.job_id, current.attempt, worker.id).await?;
    let open = job::find_open(conn, current.job_id).await?;
    let Some((job, leave_by)) = open.filter(|(job, _)| job.runs(current.attempt)) else {
        // another worker of the attempt has ended it
        if running.is_some() {
            return Ok(Some(stop(current, StopReason::NotYours, None)));
        }
        worker::store::leave(conn, worker, current.job_id).await?;
        return Ok(None);
    };
    if running.is_some() {
        return Ok(match (&job.status, leave_by) {
            (Status::Cancelling(_), _) => Some(stop(current, StopReason::Cancelled, None)),
            (_, Some(by)) => Some(stop(current, StopReason::Preempted, Some(by))),
            _ => None,
        });
    }
    if place.is_some_and(|place| place.is_done) {
        return Ok(None);
    }
    if leave_by.is_some() || matches!(job.status, Status::Cancelling(_)) {
        if place.is_some_and(|place| place.rank > 0) {
            return Ok(None);
        }
        // the attempt has not begun, so there is nothing to stop
        end(conn, worker, current.job_id, current.attempt, &End::Left, policy, now).await?;
        return Ok(None);
    }
    let inputs = store::inputs(conn, current.job_id).await?;
    Ok(Some(Instruction::Work {
        job_id: current.job_id,
        attempt: current.attempt,
        application: inputs.application,
        method: inputs.method,
        model: inputs.model,
        parameters: inputs.parameters,
        gang: place.map(|Member { rank, size, .. }| Place { rank, world_size: size }),
    }))
}

fn stop(attempt: AttemptRef, reason: StopReason, leave_by: Option<Timestamp>) -> Instruction {
    Instruction::Stop { job_id: attempt.job_id, attempt: attempt.attempt, reason, leave_by }
}

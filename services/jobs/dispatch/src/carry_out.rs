//! Decisions as changes of rows: one transaction for each round, fenced by the epoch of the leader.

use std::time::Duration;

use attempts::attempt::{self, Opened};
use ids::{JobId, PoolId, WorkerId};
use jobs_core::kind::{GroupMode, Level};
use records::worker::{
    self,
    store::{Assignment, assign},
};
use results::artifact::{self, CHECKPOINTS};
use schedule::{Decision, Millis, NodeId};
use sqlx::{Connection as _, PgConnection};
use views::{
    loaded::LoadedPool,
    rows::{self, job_id, node_key, worker_id, worker_key},
    store::group_nodes,
};

use super::store::{self, Assigned};

/// The results of decisions.
#[derive(Debug, Default)]
pub(super) struct CarriedOut {
    /// Jobs and workers whose rows did not allow a decision, as they have changed since they were read.
    pub(super) dropped_jobs: Vec<JobId>,
    pub(super) dropped_workers: Vec<WorkerId>,
    /// How long jobs waited for their first assignment, in seconds.
    pub(super) waits: Vec<(Level, f64)>,
    /// How many assigned jobs have no price.
    pub(super) unpriced: u32,
}

/// Carries out decisions in a transaction.
pub(super) async fn carry_out(
    conn: &mut PgConnection,
    loaded: &LoadedPool,
    decisions: &[Decision],
    leave: Duration,
    now: Millis,
) -> sqlx::Result<CarriedOut> {
    let mut done = CarriedOut::default();
    for decision in decisions {
        match decision {
            Decision::Start { job, workers, .. } => {
                let job = job_id(*job);
                let workers: Vec<WorkerId> = workers.iter().copied().map(worker_id).collect();
                match start(conn, loaded, job, &workers, now).await? {
                    Some((assigned, is_priced)) => {
                        if assigned.attempt == 1 {
                            done.waits.push((assigned.level, assigned.waited));
                        }
                        done.unpriced += u32::from(!is_priced);
                    }
                    None => {
                        done.dropped_jobs.push(job);
                        done.dropped_workers.extend(workers);
                    }
                }
            }
            Decision::Preempt { job, .. } | Decision::Stop { job } => {
                let job = job_id(*job);
                if !store::tell_to_leave(conn, job, leave).await? {
                    done.dropped_jobs.push(job);
                }
            }
            Decision::Expire { job } => {
                let job = job_id(*job);
                if store::expire(conn, job, rows::timestamp(now)).await? {
                    artifact::discard(conn, job, CHECKPOINTS).await?;
                } else {
                    done.dropped_jobs.push(job);
                }
            }
            Decision::Promote { job } => store::promote(conn, job_id(*job)).await?,
            Decision::Unbind { node, .. } => unbind(conn, loaded.id, *node).await?,
            Decision::Return { worker } => {
                worker::store::drain(conn, worker_id(*worker)).await?;
            }
            // a group is bound by the start of its job; a reservation exists only in the pool; the fleet
            // lends by what the queue needs
            Decision::Bind { .. } | Decision::Reserve { .. } | Decision::Lend { .. } => {}
        }
    }
    Ok(done)
}

/// Releases a node from its group.
async fn unbind(conn: &mut PgConnection, pool: PoolId, node: NodeId) -> sqlx::Result<()> {
    for held in group_nodes(conn, pool).await? {
        if node_key(&held.node) == node {
            store::unbind_group(conn, pool, &held.node).await?;
        }
    }
    Ok(())
}

/// Assigns a job to its workers. Returns whether there is a price. None if one of them has changed: nothing
/// is assigned then.
async fn start(
    conn: &mut PgConnection,
    loaded: &LoadedPool,
    job: JobId,
    workers: &[WorkerId],
    now: Millis,
) -> sqlx::Result<Option<(Assigned, bool)>> {
    let Some(first) = workers.first() else { return Ok(None) };
    let mut savepoint = conn.begin().await?;
    let assigned = async {
        let Some(assigned) = store::assign(&mut savepoint, loaded.id, job, *first).await? else {
            return Ok(None);
        };
        let number = assigned.attempt;
        let mut gpu_spec = None;
        for worker in workers {
            let Some(decided) = loaded.pool.worker(worker_key(*worker)) else { return Ok(None) };
            let given = Assignment {
                worker: *worker,
                job,
                attempt: number,
                model: decided.model.map(|model| ids::ModelId::from_uuid(uuid::Uuid::from_u128(model.0))),
                quantum_end: rows::timestamp(decided.quantum_end),
                busy_until: rows::timestamp(decided.busy_until),
            };
            let Some(spec) = assign(&mut savepoint, &given).await? else { return Ok(None) };
            gpu_spec.get_or_insert(spec);
        }
        let gpu_spec = gpu_spec.unwrap_or_default();
        let opened = Opened { job, workers, gpu_spec: &gpu_spec, number, at: rows::timestamp(now) };
        let is_priced = attempt::open(&mut savepoint, &opened).await?;
        if assigned.group_mode == Some(GroupMode::Strict) {
            store::bind_group(&mut savepoint, job).await?;
        }
        Ok::<_, sqlx::Error>(Some((assigned, is_priced)))
    };
    let assigned = assigned.await?;
    if assigned.is_some() {
        savepoint.commit().await?;
    } else {
        savepoint.rollback().await?;
    }
    Ok(assigned)
}

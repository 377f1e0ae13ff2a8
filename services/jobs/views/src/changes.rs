//! Changed rows as events of [`schedule`]. A row is compared with the pool, so a change that is read twice, or late,
//! does nothing.

use std::collections::BTreeSet;

use ids::{JobId, TenantId, WorkerId};
use jobs_core::status::{JobState, QueuedReason};
use records::{
    base_model,
    pool::{Changed, PoolChange},
    share,
};
use schedule::{Ending, Entry, Event, Hold, Job, Millis, Refused, State, WantedBack, WorkerState};
use sqlx::PgConnection;

use super::{
    loaded::LoadedPool,
    rows::{self, job_key, tenant_key, worker_key},
    store,
    store::JobRow,
    worker_store,
    worker_store::WorkerRow,
};

/// Changes that are read at a time.
const PAGE: u32 = 500;

/// The pool must be loaded again.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    /// The job has another worker than in the pool.
    #[error("the pool does not agree with the row of {0}")]
    Disagrees(JobId),
    /// The pool refuses an event.
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

impl LoadedPool {
    /// Reads changes. Returns whether these are all.
    pub async fn follow(&mut self, conn: &mut PgConnection, now: Millis) -> Result<bool, SyncError> {
        let read = store::CHANGES.read::<PoolChange>(conn, &self.cursor, PAGE).await?;
        let own = read.items.iter().map(|item| item.change).filter(|change| change.pool == self.id);
        let changed: BTreeSet<Changed> = own.map(|change| change.changed).collect();
        let jobs: Vec<JobId> = changed
            .iter()
            .filter_map(|one| match one {
                Changed::Job(id) => Some(*id),
                Changed::Worker(_) | Changed::Tenant(_) => None,
            })
            .collect();
        let workers: Vec<WorkerId> = changed
            .iter()
            .filter_map(|one| match one {
                Changed::Worker(id) => Some(*id),
                Changed::Job(_) | Changed::Tenant(_) => None,
            })
            .collect();
        self.compare(conn, &jobs, &workers, now).await?;
        for one in &changed {
            if let Changed::Tenant(id) = one {
                let found = share::find(conn, self.id, *id).await?.map(|found| found.share);
                let share = rows::share(found.unwrap_or_default());
                self.pool.apply(Event::ShareSet(tenant_key(*id), share), now)?;
                let hold = store::hold_of(conn, *id).await?;
                self.hold(*id, hold.and_then(rows::hold), now)?;
            }
        }
        let next = read
            .next_cursor
            .parse()
            .map_err(|error: feed::InvalidCursor| SyncError::Database(sqlx::Error::Decode(error.into())))?;
        self.cursor = next;
        Ok(read.complete)
    }

    /// Compares these rows with the pool. Jobs come first: a removed worker has left its job.
    pub async fn compare(
        &mut self,
        conn: &mut PgConnection,
        jobs: &[JobId],
        workers: &[WorkerId],
        now: Millis,
    ) -> Result<(), SyncError> {
        if !jobs.is_empty() {
            for row in store::jobs(conn, jobs).await? {
                self.compare_job(&row, now)?;
            }
        }
        if !workers.is_empty() {
            let ready = worker_store::workers(conn, workers).await?;
            for id in workers {
                self.compare_worker(*id, ready.iter().find(|row| row.id == *id), now)?;
            }
        }
        Ok(())
    }

    /// Holds or releases the jobs of a tenant. The hold is stored with waiting jobs.
    fn hold(&mut self, tenant: TenantId, hold: Option<Hold>, now: Millis) -> Result<(), SyncError> {
        let key = tenant_key(tenant);
        if self.pool.hold_of(key) == hold {
            return Ok(());
        }
        self.pool.apply(Event::TenantHeld(key, hold), now)?;
        let waits = |entry: &&Entry| !matches!(entry.state, State::Running(_));
        self.unmarked.extend(self.pool.jobs_of(key).filter(waits).map(|entry| rows::job_id(entry.job.id)));
        Ok(())
    }

    fn compare_job(&mut self, row: &JobRow, now: Millis) -> Result<(), SyncError> {
        if row.pool_id == self.id {
            self.hold(row.tenant_id, row.held.and_then(rows::hold), now)?;
        }
        if row.is_unmarked() {
            self.unmarked.insert(row.id);
        }
        let key = job_key(row.id);
        let known = self.pool.job(key).map(|entry| &entry.state);
        if row.pool_id != self.id {
            // it waited, and was moved to another pool
            let event = match known {
                None => return Ok(()),
                Some(State::Running(_)) => Event::Ended(key, Ending::Done),
                Some(State::Queued { .. } | State::Delayed) => Event::Cancelled(key),
            };
            return Ok(self.pool.apply(event, now)?);
        }
        if row.is_delivering {
            // for the scheduler it has ended; if its results are lost, it is queued again
            return match known {
                Some(State::Running(_)) => Ok(self.pool.apply(Event::Ended(key, Ending::Done), now)?),
                Some(State::Queued { .. } | State::Delayed) | None => Ok(()),
            };
        }
        let event = match (row.state, known) {
            (JobState::Queued, None) => Event::Submitted(rows::job(row, &self.specs, &self.estimates)),
            (JobState::Queued, Some(State::Running(_))) => {
                let ended = Event::Ended(key, again(row, now));
                if row.too_small.is_none() {
                    ended
                } else {
                    self.pool.apply(ended, now)?;
                    Event::Changed(rows::job(row, &self.specs, &self.estimates))
                }
            }
            (JobState::Queued, Some(State::Queued { .. } | State::Delayed)) => {
                let job = rows::job(row, &self.specs, &self.estimates);
                if self.pool.job(key).is_some_and(|entry| is_same(&entry.job, &job)) {
                    return Ok(());
                }
                Event::Changed(job)
            }
            (
                JobState::Assigned | JobState::Running | JobState::Cancelling,
                Some(State::Running(attempt)),
            ) => {
                let same = row.worker_id.map(worker_key) == attempt.workers.first().copied();
                return if same { Ok(()) } else { Err(SyncError::Disagrees(row.id)) };
            }
            (JobState::Assigned | JobState::Running | JobState::Cancelling, _) => {
                return Err(SyncError::Disagrees(row.id));
            }
            (_, None) => return Ok(()),
            (_, Some(State::Running(_))) => {
                if let Some(seconds) = row.seconds {
                    self.estimates.record(&row.class, seconds);
                }
                Event::Ended(key, Ending::Done)
            }
            (_, Some(State::Queued { .. } | State::Delayed)) => Event::Cancelled(key),
        };
        Ok(self.pool.apply(event, now)?)
    }

    fn compare_worker(
        &mut self,
        id: WorkerId,
        row: Option<&WorkerRow>,
        now: Millis,
    ) -> Result<(), SyncError> {
        let spec = row.map(|row| self.specs.of(row));
        let known = self.sessions.get(&id).copied();
        let in_pool = self.pool.worker(worker_key(id)).map(|worker| worker.spec);
        // a worker of a new kind, or its process has reported other models: jobs accept other workers
        let is_other = row.is_some_and(|row| known == Some(row.session)) && spec.flatten() != in_pool;
        if spec == Some(None) || is_other {
            self.is_stale = true;
            return Ok(());
        }
        if known.is_some() && row.map(|row| row.session) != known {
            self.pool.apply(Event::WorkerRemoved(worker_key(id)), now)?;
            self.sessions.remove(&id);
            self.closed.remove(&id);
            self.ranks.remove(&id);
        }
        if let (Some(row), Some(spec)) = (row, spec.flatten())
            && !self.sessions.contains_key(&id)
        {
            if let Some(job) = row.current_job {
                return Err(SyncError::Disagrees(job));
            }
            self.pool.apply(Event::WorkerAdded(rows::worker(row, spec)), now)?;
            self.sessions.insert(id, row.session);
            self.ranks.insert(id, row.recall_rank);
        }
        if let Some(by) = row.and_then(|row| row.leave_by) {
            self.pool.apply(Event::WorkerRecalled(worker_key(id), rows::millis(by.to_jiff())), now)?;
        }
        Ok(())
    }

    /// Compares what workers of the pool have, or will have.
    pub async fn compare_models(&mut self, conn: &mut PgConnection) -> sqlx::Result<()> {
        self.is_stale |= base_model::of_pool(conn, self.id).await? != self.specs.pool();
        Ok(())
    }

    /// Lets lent workers return units as soon as they have no job.
    pub fn return_units(&mut self, wanted: Vec<WantedBack>, now: Millis) -> Result<(), SyncError> {
        Ok(self.pool.apply(Event::UnitsWanted(wanted), now)?)
    }

    /// Closes these workers for new jobs, and opens all others.
    pub fn cordon(&mut self, closed: BTreeSet<WorkerId>, now: Millis) -> Result<(), SyncError> {
        let known: BTreeSet<WorkerId> =
            closed.into_iter().filter(|id| self.sessions.contains_key(id)).collect();
        for id in known.symmetric_difference(&self.closed) {
            let key = worker_key(*id);
            let is_closed = self.pool.worker(key).is_some_and(|worker| worker.state != WorkerState::Ready);
            if is_closed != known.contains(id) {
                self.pool.apply(Event::WorkerCordoned(key, known.contains(id)), now)?;
            }
        }
        self.closed = known;
        Ok(())
    }
}

/// Whether the fields are the same that a user can change while the job waits.
fn is_same(known: &Job, job: &Job) -> bool {
    let changeable = |job: &Job| (job.shape.level, job.priority, job.deadline);
    changeable(known) == changeable(job)
}

/// How the attempt of a job that is queued again has ended.
fn again(row: &JobRow, now: Millis) -> Ending {
    match (row.reason, row.not_before) {
        // it does not count as preempted
        _ if row.hold.is_some() => Ending::Retry { not_before: now },
        (Some(QueuedReason::Preempted), _) => Ending::Preempted,
        (Some(QueuedReason::Recalled), _) => Ending::Recalled,
        (_, Some(at)) => Ending::Retry { not_before: rows::millis(at.to_jiff()) },
        (_, None) => Ending::Retry { not_before: now },
    }
}

//! External events: changes of jobs, attempts and units.

use std::sync::Arc;

use super::{
    Millis,
    account::{Account, SLICE},
    model::{
        Attempt, Entry, Hold, Job, JobId, Share, Slice, Spec, SpecId, State, Tenant, TenantId, Tenure,
        WantedBack, Worker, WorkerId, WorkerState,
    },
    pool::{Pool, Timer},
};

/// A job recalled this often runs on firm units only.
pub const FIRM_AFTER: u8 = 2;

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The job has ended, too.
    Done,
    /// The job is tried again, not before a time.
    Retry { not_before: Millis },
    /// The attempt left because it was told to; the job is queued again in its old place.
    Preempted,
    /// A user's claim took the unit; the job is queued again in its old place.
    Recalled,
}

/// A fact that changes a pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Submitted(Job),
    /// The job waits, and its priority, level, deadline, estimate or group is changed.
    Changed(Job),
    /// The waiting job is cancelled.
    Cancelled(JobId),
    /// The attempt has left its workers.
    Ended(JobId, Ending),
    /// Work done until now is kept.
    Checkpointed(JobId),
    WorkerAdded(Worker),
    /// The unit is gone. A job on it is tried again.
    WorkerRemoved(WorkerId),
    WorkerCordoned(WorkerId, bool),
    /// A user's claim took the unit; it must be empty at a time.
    WorkerRecalled(WorkerId, Millis),
    /// Weight, guarantee and limits of a tenant.
    ShareSet(TenantId, Share),
    /// Whether jobs of a tenant may run; none: they may.
    TenantHeld(TenantId, Option<Hold>),
    /// Price, idle stock and hold-back of a specification. Keeps the expected units.
    SpecSet(SpecId, Spec),
    /// Requested units will not come.
    LendRefused(SpecId, u32),
    /// All units that the stock wants back. Replaces the previous event.
    UnitsWanted(Vec<WantedBack>),
}

/// The event does not fit the state. The caller's view is outdated, and the pool is unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("the job is in the pool already")]
    DuplicateJob,
    #[error("unknown job")]
    UnknownJob,
    #[error("the job is running")]
    Running,
    #[error("the job is not running")]
    NotRunning,
    #[error("the worker is in the pool already")]
    DuplicateWorker,
    #[error("unknown worker")]
    UnknownWorker,
    #[error("the job asks for no worker or no specification")]
    AsksForNothing,
}

impl Pool {
    /// Applies an event at a time.
    ///
    /// # Errors
    /// Returns why the event does not fit; the pool is then as before.
    pub fn apply(&mut self, event: Event, now: Millis) -> Result<(), Refused> {
        self.advance(now);
        match event {
            Event::Submitted(job) => self.submit(job, now),
            Event::Changed(job) => {
                self.waiting(job.id)?;
                check(&job)?;
                self.clear_nominations(job.id);
                self.clear_reservation(job.id);
                let removed = self.remove_entry(job.id);
                let since = removed.as_ref().and_then(|entry| match entry.state {
                    State::Queued { since } => Some(since),
                    _ => None,
                });
                let shape = Arc::clone(&job.shape);
                self.submit(job, since.unwrap_or(now))?;
                // its former group may have no other job
                if let Some(entry) = removed
                    && entry.job.shape.group != shape.group
                {
                    self.close_group(&entry.job.shape, now);
                }
                Ok(())
            }
            Event::Cancelled(id) => {
                self.waiting(id)?;
                self.forget(id, now);
                Ok(())
            }
            Event::Ended(id, ending) => self.end(id, ending, now),
            Event::Checkpointed(id) => {
                self.attempt_mut(id)?.checkpoint = now;
                Ok(())
            }
            Event::WorkerAdded(worker) => self.add_worker(worker, now),
            Event::WorkerRemoved(id) => {
                let worker = self.workers.get(&id).ok_or(Refused::UnknownWorker)?;
                let node = worker.node;
                if let Some(job) = worker.current {
                    self.end(job, Ending::Retry { not_before: now }, now)?;
                }
                self.remove_worker(id);
                self.node_changed(node, now);
                Ok(())
            }
            Event::WorkerCordoned(id, cordoned) => {
                let worker = self.workers.get(&id).ok_or(Refused::UnknownWorker)?;
                if !matches!(worker.state, WorkerState::Recalled { .. }) {
                    let state = if cordoned { WorkerState::Cordoned } else { WorkerState::Ready };
                    self.change_worker(id, |worker| worker.state = state);
                }
                Ok(())
            }
            Event::WorkerRecalled(id, by) => {
                self.workers.get(&id).ok_or(Refused::UnknownWorker)?;
                self.change_worker(id, |worker| worker.state = WorkerState::Recalled { by });
                Ok(())
            }
            Event::ShareSet(id, share) => {
                self.accounts.entry(id).or_insert_with(|| Account::new(Tenant { id, share, usage: 0 }));
                self.change_account(id, |account| account.tenant.share = share);
                Ok(())
            }
            Event::TenantHeld(id, hold) => {
                self.set_hold(id, hold, now);
                Ok(())
            }
            Event::SpecSet(id, spec) => {
                self.set_spec(id, spec);
                Ok(())
            }
            Event::UnitsWanted(wanted) => {
                self.wanted_back = wanted;
                Ok(())
            }
            Event::LendRefused(id, units) => {
                if let Some(spec) = self.settings.specs.get_mut(&id) {
                    spec.expected = spec.expected.saturating_sub(units);
                }
                Ok(())
            }
        }
    }

    fn submit(&mut self, job: Job, now: Millis) -> Result<(), Refused> {
        if self.jobs.contains_key(&job.id) {
            return Err(Refused::DuplicateJob);
        }
        check(&job)?;
        self.open_group(&job.shape);
        let state = if job.not_before > now { State::Delayed } else { State::Queued { since: now } };
        self.put(Entry { job, state }, now);
        Ok(())
    }

    /// Adds a job that waits. A tenant that had none gets no credit for the pause.
    pub(super) fn put(&mut self, entry: Entry, now: Millis) {
        let tenant = entry.job.shape.tenant;
        let account = self.accounts.get(&tenant);
        if matches!(entry.state, State::Queued { .. })
            && account.is_none_or(|account| account.queued == 0 && account.held == 0)
        {
            self.lift(tenant, now);
        }
        self.insert_entry(entry);
    }

    /// Removes a waiting job, and the workers kept for it.
    pub(super) fn forget(&mut self, id: JobId, now: Millis) {
        self.clear_nominations(id);
        self.clear_reservation(id);
        if let Some(entry) = self.remove_entry(id) {
            self.close_group(&entry.job.shape, now);
        }
    }

    fn waiting(&self, id: JobId) -> Result<(), Refused> {
        match self.jobs.get(&id).map(|entry| &entry.state) {
            None => Err(Refused::UnknownJob),
            Some(State::Running(_)) => Err(Refused::Running),
            Some(_) => Ok(()),
        }
    }

    pub(super) fn attempt_mut(&mut self, id: JobId) -> Result<&mut Attempt, Refused> {
        match self.jobs.get_mut(&id).map(|entry| &mut entry.state) {
            None => Err(Refused::UnknownJob),
            Some(State::Running(attempt)) => Ok(attempt),
            Some(_) => Err(Refused::NotRunning),
        }
    }

    fn end(&mut self, id: JobId, ending: Ending, now: Millis) -> Result<(), Refused> {
        let attempt = self.attempt_mut(id)?.clone();
        let Some(Entry { mut job, .. }) = self.remove_entry(id) else { return Err(Refused::UnknownJob) };
        let refund = attempt.slice.unused(now);
        self.change_account(job.shape.tenant, |account| {
            account.tenant.usage = account.tenant.usage.saturating_sub(refund);
        });
        for worker in attempt.workers {
            self.change_worker(worker, |worker| {
                worker.current = None;
                worker.busy_until = 0;
                worker.idle_since = now;
            });
        }
        match ending {
            Ending::Done => {
                self.close_group(&job.shape, now);
                return Ok(());
            }
            Ending::Retry { not_before } => job.not_before = not_before,
            Ending::Preempted => job.preemptions = job.preemptions.saturating_add(1),
            Ending::Recalled => {
                job.recalls = job.recalls.saturating_add(1);
                if job.recalls >= FIRM_AFTER && !job.shape.firm_only {
                    Arc::make_mut(&mut job.shape).firm_only = true;
                }
            }
        }
        let state = if job.not_before > now { State::Delayed } else { State::Queued { since: now } };
        self.put(Entry { job, state }, now);
        Ok(())
    }

    fn add_worker(&mut self, mut worker: Worker, now: Millis) -> Result<(), Refused> {
        if self.workers.contains_key(&worker.id) {
            return Err(Refused::DuplicateWorker);
        }
        if worker.tenure == Tenure::Lent
            && let Some(spec) = self.settings.specs.get_mut(&worker.spec)
        {
            spec.expected = spec.expected.saturating_sub(1);
        }
        let node = worker.node;
        (worker.current, worker.busy_until, worker.nominated) = (None, 0, None);
        self.insert_worker(worker);
        self.node_changed(node, now);
        Ok(())
    }

    /// A price changes the free degree of nodes, so the workers are indexed again.
    fn set_spec(&mut self, id: SpecId, spec: Spec) {
        let workers: Vec<WorkerId> =
            self.workers.values().filter(|worker| worker.spec == id).map(|worker| worker.id).collect();
        let removed: Vec<Worker> = workers.into_iter().filter_map(|id| self.remove_worker(id)).collect();
        let known = self.settings.specs.entry(id).or_default();
        *known = Spec { expected: known.expected, ..spec };
        removed.into_iter().for_each(|worker| self.insert_worker(worker));
    }

    /// Charges an attempt for its next slice.
    pub(super) fn charge_slice(&mut self, id: JobId, length: Millis, now: Millis) {
        let Some(entry) = self.jobs.get(&id) else { return };
        let State::Running(attempt) = &entry.state else { return };
        let (tenant, spec, units) = (entry.job.shape.tenant, attempt.spec, attempt.workers.len() as u32);
        let before = attempt.slice.until;
        let length = length.clamp(1_000, SLICE);
        let charge = self.charge(tenant, units, self.price(spec), length, now);
        self.timers.remove(&(before, Timer::Slice(id)));
        self.timers.insert((now + length, Timer::Slice(id)));
        if let Ok(attempt) = self.attempt_mut(id) {
            attempt.slice = Slice { from: now, until: now + length, charge };
        }
    }
}

fn check(job: &Job) -> Result<(), Refused> {
    let asks = job.shape.gang > 0 && !job.shape.specs.is_empty();
    asks.then_some(()).ok_or(Refused::AsksForNothing)
}

impl Slice {
    /// The part of the charge for time that was not used.
    pub(super) fn unused(self, now: Millis) -> u128 {
        let length = self.until.saturating_sub(self.from).max(1);
        let rest = self.until.saturating_sub(now.max(self.from)).min(length);
        // the charge may be near the end of the range
        self.charge / u128::from(length) * u128::from(rest)
    }
}

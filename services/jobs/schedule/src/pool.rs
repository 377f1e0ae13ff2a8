//! The state of a pool: facts, and indexes derived from them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    Millis,
    account::{self, Account, Rank},
    fleet::Fleet,
    model::{
        Entry, Group, GroupId, GroupMode, Hold, Job, JobId, Level, NodeId, Reservation, Settings, Shape,
        SpecId, State, Tenant, TenantId, WantedBack, Worker, WorkerId,
    },
    queue::{Place, Queues, Turn},
};

/// A background job becomes ordinary when it has waited for this time.
const PROMOTE: Millis = 6 * 3_600_000;
/// A strict group keeps its node for this time after its last job, unless another group needs it.
pub(super) const GROUP_IDLE: Millis = 10 * 60_000;
/// A strict group leaves a node that has had no workers for this time.
pub(super) const GROUP_LOST: Millis = 60_000;

/// The facts of a pool: rows of the database, without derived values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snapshot {
    pub settings: Settings,
    pub tenants: Vec<Tenant>,
    pub workers: Vec<Worker>,
    pub jobs: Vec<Entry>,
    pub groups: BTreeMap<GroupId, Group>,
    pub reservations: BTreeMap<JobId, Reservation>,
    /// Tenants of which no job starts.
    pub holds: BTreeMap<TenantId, Hold>,
    /// How often a worker changed its model by the choice of the pool.
    pub switches: u64,
    /// For each specification, how many urgent jobs were started since the last ordinary one.
    pub urgent_in_a_row: BTreeMap<SpecId, u8>,
    /// The epoch of all charges.
    pub epoch: u64,
    /// The units that the stock wants back.
    pub wanted_back: Vec<WantedBack>,
}

/// Something that is due at a time without an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    Release(JobId),
    Expire(JobId),
    Promote(JobId),
    /// The charged part of an attempt ends.
    Slice(JobId),
    Unbind(GroupId),
}

/// Jobs and workers of one kind in one datacenter, with one scheduler.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pool {
    pub(super) settings: Settings,
    pub(super) jobs: BTreeMap<JobId, Entry>,
    pub(super) workers: BTreeMap<WorkerId, Worker>,
    pub(super) accounts: BTreeMap<TenantId, Account>,
    pub(super) groups: BTreeMap<GroupId, Group>,
    pub(super) reservations: BTreeMap<JobId, Reservation>,
    pub(super) holds: BTreeMap<TenantId, Hold>,
    pub(super) switches: u64,
    pub(super) urgent_in_a_row: BTreeMap<SpecId, u8>,
    pub(super) epoch: u64,
    pub(super) wanted_back: Vec<WantedBack>,
    // derived from the above
    pub(super) queues: Queues,
    pub(super) fleet: Fleet,
    pub(super) order: BTreeSet<(Rank, TenantId)>,
    pub(super) timers: BTreeSet<(Millis, Timer)>,
    /// Open jobs, and shapes with queued jobs, of each group.
    pub(super) members: BTreeMap<GroupId, Members>,
    /// Nodes of strict groups. A node without running jobs of its group goes to the next strict group that
    /// needs one.
    pub(super) held: BTreeMap<NodeId, GroupId>,
    /// The part of these on which jobs of the group run.
    pub(super) taken: BTreeSet<NodeId>,
    /// The part of these with groups that yield.
    pub(super) yielding: BTreeSet<NodeId>,
    pub(super) reserved: BTreeMap<WorkerId, JobId>,
    /// Running jobs of stopped tenants that were not told to leave yet.
    pub(super) to_stop: BTreeSet<JobId>,
}

/// Jobs of a group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Members {
    pub(super) open: u32,
    pub(super) running: u32,
    pub(super) queued: BTreeMap<Arc<Shape>, u32>,
}

impl Pool {
    /// Restores the pool of a snapshot. Equal to the pool that was kept by events.
    #[must_use]
    pub fn restore(snapshot: Snapshot) -> Self {
        let mut pool = Self {
            settings: snapshot.settings,
            groups: snapshot.groups,
            holds: snapshot.holds,
            switches: snapshot.switches,
            urgent_in_a_row: snapshot.urgent_in_a_row,
            epoch: snapshot.epoch,
            wanted_back: snapshot.wanted_back,
            ..Self::default()
        };
        for tenant in snapshot.tenants {
            pool.accounts.insert(tenant.id, Account::new(tenant));
        }
        for (id, group) in &pool.groups {
            if let (GroupMode::Strict, Some(node)) = (group.mode, group.node) {
                pool.held.insert(node, *id);
                if group.yields {
                    pool.yielding.insert(node);
                }
            }
        }
        let groups: Vec<GroupId> = pool.groups.keys().copied().collect();
        for group in groups {
            pool.set_group_timer(group);
        }
        for worker in snapshot.workers {
            pool.insert_worker(worker);
        }
        for (job, reservation) in snapshot.reservations {
            pool.reserved.extend(reservation.workers.iter().map(|worker| (*worker, job)));
            pool.reservations.insert(job, reservation);
        }
        for entry in snapshot.jobs {
            pool.insert_entry(entry);
        }
        pool
    }

    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            settings: self.settings.clone(),
            tenants: self.accounts.values().map(|account| account.tenant).collect(),
            workers: self.workers.values().cloned().collect(),
            jobs: self.jobs.values().cloned().collect(),
            groups: self.groups.clone(),
            reservations: self.reservations.clone(),
            holds: self.holds.clone(),
            switches: self.switches,
            urgent_in_a_row: self.urgent_in_a_row.clone(),
            epoch: self.epoch,
            wanted_back: self.wanted_back.clone(),
        }
    }

    #[must_use]
    pub fn job(&self, id: JobId) -> Option<&Entry> {
        self.jobs.get(&id)
    }

    #[must_use]
    pub fn worker(&self, id: WorkerId) -> Option<&Worker> {
        self.workers.get(&id)
    }

    #[must_use]
    pub fn tenant(&self, id: TenantId) -> Option<&Tenant> {
        self.accounts.get(&id).map(|account| &account.tenant)
    }

    /// Units that a tenant's jobs run on.
    #[must_use]
    pub fn held_by(&self, id: TenantId) -> u32 {
        self.accounts.get(&id).map_or(0, |account| account.held)
    }

    /// Number of different kinds of jobs that wait.
    #[must_use]
    pub fn shapes(&self) -> usize {
        self.queues.count()
    }

    pub(super) fn price(&self, spec: SpecId) -> u32 {
        self.settings.specs.get(&spec).copied().unwrap_or_default().price
    }

    pub(super) fn insert_worker(&mut self, worker: Worker) {
        self.fleet.insert(&worker, self.price(worker.spec));
        self.workers.insert(worker.id, worker);
    }

    /// Changes a worker and its indexes.
    pub(super) fn change_worker(&mut self, id: WorkerId, change: impl FnOnce(&mut Worker)) {
        if let Some(mut worker) = self.remove_worker(id) {
            change(&mut worker);
            self.insert_worker(worker);
        }
    }

    pub(super) fn remove_worker(&mut self, id: WorkerId) -> Option<Worker> {
        let worker = self.workers.remove(&id)?;
        self.fleet.remove(&worker, self.price(worker.spec));
        Some(worker)
    }

    /// Where the jobs of a shape may run now.
    pub(super) fn place(&self, shape: &Shape) -> Place {
        match shape.group {
            Some((group, GroupMode::Strict)) => match self.groups.get(&group).and_then(|group| group.node) {
                Some(node) => Place::Node(node),
                None => Place::Unheld,
            },
            _ => Place::Any,
        }
    }

    /// Adds a job in any state with its indexes.
    pub(super) fn insert_entry(&mut self, entry: Entry) {
        let Entry { mut job, state } = entry;
        job.shape = self.queues.intern(job.shape);
        if let Some((group, _)) = job.shape.group {
            self.members.entry(group).or_default().open += 1;
        }
        match &state {
            State::Delayed => {
                self.timers.insert((job.not_before, Timer::Release(job.id)));
            }
            State::Queued { .. } if self.is_held(job.shape.tenant) => {}
            State::Queued { .. } => self.enqueue(&job),
            State::Running(attempt) => {
                if self.is_stopped(job.shape.tenant) && !attempt.leaving {
                    self.to_stop.insert(job.id);
                }
                if let Some((group, _)) = job.shape.group {
                    self.members.entry(group).or_default().running += 1;
                    self.set_taken(group);
                }
                self.timers.insert((attempt.slice.until, Timer::Slice(job.id)));
                let units = attempt.workers.len() as u32;
                let (urgent, leaving) = (job.shape.level == Level::Urgent, attempt.leaving);
                self.change_account(job.shape.tenant, |account| {
                    account.running.insert(job.id);
                    account.held += units;
                    account.urgent += if urgent { units } else { 0 };
                    account.leaving += if leaving { units } else { 0 };
                });
            }
        }
        if let (Some(deadline), State::Delayed | State::Queued { .. }) = (job.deadline, &state) {
            self.timers.insert((deadline, Timer::Expire(job.id)));
        }
        self.jobs.insert(job.id, Entry { job, state });
    }

    /// Removes a job from the pool and all indexes.
    pub(super) fn remove_entry(&mut self, id: JobId) -> Option<Entry> {
        let Entry { job, state } = self.jobs.remove(&id)?;
        if let Some((group, _)) = job.shape.group
            && let Some(members) = self.members.get_mut(&group)
        {
            members.open -= 1;
            if members.open == 0 {
                self.members.remove(&group);
            }
        }
        match &state {
            State::Delayed => {
                self.timers.remove(&(job.not_before, Timer::Release(id)));
            }
            State::Queued { .. } if self.is_held(job.shape.tenant) => {}
            State::Queued { .. } => self.dequeue(&job),
            State::Running(attempt) => {
                self.to_stop.remove(&id);
                if let Some((group, _)) = job.shape.group {
                    if let Some(members) = self.members.get_mut(&group) {
                        members.running -= 1;
                    }
                    self.set_taken(group);
                }
                self.timers.remove(&(attempt.slice.until, Timer::Slice(id)));
                let units = attempt.workers.len() as u32;
                let (urgent, leaving) = (job.shape.level == Level::Urgent, attempt.leaving);
                self.change_account(job.shape.tenant, |account| {
                    account.running.remove(&id);
                    account.held -= units;
                    account.urgent -= if urgent { units } else { 0 };
                    account.leaving -= if leaving { units } else { 0 };
                });
            }
        }
        if let Some(deadline) = job.deadline {
            self.timers.remove(&(deadline, Timer::Expire(id)));
        }
        Some(Entry { job, state })
    }

    fn enqueue(&mut self, job: &Job) {
        let place = self.place(&job.shape);
        self.queues.insert(&job.shape, place, Turn::of(job));
        if let Some((group, _)) = job.shape.group {
            let members = self.members.entry(group).or_default();
            *members.queued.entry(Arc::clone(&job.shape)).or_default() += 1;
        }
        if job.shape.level == Level::Background {
            self.timers.insert((job.submitted + PROMOTE, Timer::Promote(job.id)));
        }
        self.change_account(job.shape.tenant, |account| account.queued += 1);
    }

    fn dequeue(&mut self, job: &Job) {
        let place = self.place(&job.shape);
        self.queues.remove(&job.shape, place, Turn::of(job));
        if let Some((group, _)) = job.shape.group
            && let Some(members) = self.members.get_mut(&group)
            && let Some(count) = members.queued.get_mut(&job.shape)
        {
            *count -= 1;
            if *count == 0 {
                members.queued.remove(&job.shape);
            }
        }
        self.timers.remove(&(job.submitted + PROMOTE, Timer::Promote(job.id)));
        self.change_account(job.shape.tenant, |account| account.queued -= 1);
    }

    /// Divides the charges of running slices when a new epoch begins.
    pub(super) fn shift_slices(&mut self, shift: u32) {
        for entry in self.jobs.values_mut() {
            if let State::Running(attempt) = &mut entry.state {
                attempt.slice.charge >>= shift;
            }
        }
    }

    /// Advances the time. Events and rounds must not go back in time.
    pub(super) fn advance(&mut self, now: Millis) {
        if account::epoch(now) > self.epoch {
            self.advance_epoch(now);
        }
    }
}

//! The facts that scheduling works on: jobs, workers, tenants, groups and settings of a pool.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use super::estimate::Estimate;

use super::Millis;
macro_rules! ids {
    ($(#[doc = $doc:literal] $name:ident;)*) => {$(
        #[doc = $doc]
        ///
        /// The bits of the UUID of the row. Ids that are equal in all else decide the order, so an older object is first.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u128);

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({:x})", stringify!($name), self.0)
            }
        }
    )*};
}

ids! {
    #[doc = "A job."]
    JobId;
    #[doc = "A tenant."]
    TenantId;
    #[doc = "A worker: one unit with a pod that runs jobs."]
    WorkerId;
    #[doc = "A node of the cluster."]
    NodeId;
    #[doc = "A GPU specification."]
    SpecId;
    #[doc = "What a worker has to load before a job: application version and base model."]
    ModelId;
    #[doc = "Jobs of a tenant that belong on one node."]
    GroupId;
}

/// The level of a job. It comes before everything else except a guarantee.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Limited by the tenant's allowance; above it, ordinary.
    Urgent,
    Ordinary,
    Background,
}

/// Whether a group's jobs may run on other nodes than its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GroupMode {
    /// One group to one node: bound at the first start, and only to a node on which no job of another strict group runs.
    Strict,
    /// The node of the group's last start is tried first.
    Prefer,
}

/// The common properties of jobs: rules distinguish jobs of one shape only by priority and age.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shape {
    pub tenant: TenantId,
    pub level: Level,
    /// Accepted GPU specifications, in order of preference.
    pub specs: Vec<SpecId>,
    /// The model that the worker must have loaded; `None` for a job with a container of its own.
    pub model: Option<ModelId>,
    /// Duration of loading it.
    pub load: Millis,
    /// Duration of the job, without loading.
    pub run: Estimate,
    /// Number of workers, all or none.
    pub gang: u32,
    /// The gang's workers are on one node.
    pub same_node: bool,
    pub group: Option<(GroupId, GroupMode)>,
    /// A preempted job continues at its last checkpoint.
    pub checkpoints: bool,
    /// Runs on firm units only. Set after two recalls.
    pub firm_only: bool,
}

/// A request for work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    pub id: JobId,
    pub shape: Arc<Shape>,
    /// 0–9, 9 first; orders the jobs of one tenant and level.
    pub priority: u8,
    pub submitted: Millis,
    pub not_before: Millis,
    /// A job that has not started by then expires.
    pub deadline: Option<Millis>,
    /// How often it was preempted; after three times it is not preempted again.
    pub preemptions: u8,
    /// How often a user's claim recalled its unit.
    pub recalls: u8,
}

/// A job and its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub job: Job,
    pub state: State,
}

/// The state of a job in scheduling. Ended jobs are not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Waits for `not_before`.
    Delayed,
    Queued {
        since: Millis,
    },
    Running(Attempt),
}

/// One try of a job on its workers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    pub spec: SpecId,
    pub workers: Vec<WorkerId>,
    pub started: Millis,
    /// Time until the model is loaded, 0 if it was.
    pub loading: Millis,
    /// Time up to which a preemption keeps the work; at first the start.
    pub checkpoint: Millis,
    pub slice: Slice,
    /// It was told to leave, and has not ended yet.
    pub leaving: bool,
}

/// The part of an attempt that was charged last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    pub from: Millis,
    pub until: Millis,
    /// In the scale of the epoch, see `share`.
    pub charge: u128,
}

/// How the pool got a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tenure {
    /// Claimed by the pool.
    Firm,
    /// Idle stock; a user's claim recalls it.
    Lent,
}

/// Whether a worker accepts jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerState {
    Ready,
    /// Its job may finish; no new ones.
    Cordoned,
    /// Recalled: the unit must be empty at this time.
    Recalled {
        by: Millis,
    },
}

/// A unit that can run jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worker {
    pub id: WorkerId,
    pub node: NodeId,
    pub spec: SpecId,
    pub tenure: Tenure,
    pub state: WorkerState,
    /// The loaded model.
    pub model: Option<ModelId>,
    /// Until then jobs of the loaded model go first on this worker.
    pub quantum_end: Millis,
    pub current: Option<JobId>,
    /// The p90 end of the current job.
    pub busy_until: Millis,
    pub idle_since: Millis,
    /// The job for which its last job was preempted. No other may use it.
    pub nominated: Option<JobId>,
}

impl Worker {
    /// A ready worker that has loaded nothing.
    #[must_use]
    pub fn new(id: WorkerId, node: NodeId, spec: SpecId, tenure: Tenure, now: Millis) -> Self {
        Self {
            id,
            node,
            spec,
            tenure,
            state: WorkerState::Ready,
            model: None,
            quantum_end: 0,
            current: None,
            busy_until: 0,
            idle_since: now,
            nominated: None,
        }
    }

    /// Whether any job may start on it.
    pub(super) fn is_free(&self) -> bool {
        self.state == WorkerState::Ready && self.current.is_none() && self.nominated.is_none()
    }
}

/// The share of a tenant in a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Proportion of the units that are not guaranteed, in thousandths; at least 1.
    pub weight: u32,
    /// Units that the tenant gets back within 30 s and a job's p90 when it needs them.
    pub guarantee: u32,
    /// Most units at a time.
    pub limit: u32,
    /// Most units at a time for urgent jobs.
    pub urgent: u32,
}

impl Default for Share {
    fn default() -> Self {
        Self { weight: 1_000, guarantee: 0, limit: u32::MAX, urgent: 1 }
    }
}

/// A tenant with its share and its use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tenant {
    pub id: TenantId,
    pub share: Share,
    /// Decayed use above the guarantee, in the scale of the epoch, see `share`.
    pub usage: u128,
}

/// Why no job of a tenant starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hold {
    /// It is suspended, or being deleted.
    TenantSuspended,
    /// It has spent its budget.
    BudgetExhausted,
    /// Its spending limit is not known. Running jobs continue.
    AllowanceExpired,
}

/// A group of jobs and its node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group {
    pub mode: GroupMode,
    pub node: Option<NodeId>,
    /// When it got its node.
    pub bound: Millis,
    /// None of its jobs starts, so that another strict group gets the node when the running ones have ended.
    pub yields: bool,
    /// Since when it has no open job.
    pub idle_since: Option<Millis>,
    /// Since when its node has no workers.
    pub lost_since: Option<Millis>,
}

/// Workers kept for a gang.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation {
    pub granted: Millis,
    /// When enough running jobs have ended, by their p90.
    pub at: Millis,
    pub spec: SpecId,
    pub workers: Vec<WorkerId>,
    /// How often jobs that took longer than their p90 postponed it.
    pub slips: u32,
}

/// Lent units that the stock wants back, so that users' starts find free ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WantedBack {
    pub units: u32,
    /// The workers that may return theirs.
    pub workers: BTreeSet<WorkerId>,
}

/// A GPU specification in the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spec {
    /// Price of a unit, in thousandths of the cheapest, so that GPUs of different kinds compare.
    pub price: u32,
    /// Idle units of the stock.
    pub idle_stock: u32,
    /// Idle units that stay with the stock, so that a user's start finds one.
    pub hold_back: u32,
    /// Most lent units.
    pub lent_limit: u32,
    /// Units asked for that are not workers yet.
    pub expected: u32,
}

impl Default for Spec {
    fn default() -> Self {
        Self { price: 1_000, idle_stock: 0, hold_back: 0, lent_limit: 0, expected: 0 }
    }
}

/// Settings of a pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// How long a worker keeps serving a loaded model.
    pub quantum: Millis,
    /// And at least this multiple of the load time.
    pub quantum_loads: u64,
    /// The pool asks for units until the queue takes about this long.
    pub target_wait: Millis,
    /// A lent worker without work is returned after this time.
    pub keep_warm: Millis,
    pub specs: BTreeMap<SpecId, Spec>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            quantum: 120_000,
            quantum_loads: 5,
            target_wait: 60_000,
            keep_warm: 300_000,
            specs: BTreeMap::new(),
        }
    }
}

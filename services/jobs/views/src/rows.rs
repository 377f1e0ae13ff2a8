//! Rows as facts of [`schedule`].

use std::sync::Arc;

use ids::{GpuSpecId, JobId, ModelId, TenantId, WorkerId};
use jiff::Timestamp;
use jobs_core::{
    kind::{self, GroupMode},
    needs::Needs,
    status::{JobState, QueuedReason},
    worker,
};
use records::share;
use schedule::{
    Attempt, Entry, FIRM_AFTER, Hold, Job, Millis, NodeId, Shape, Slice, SpecId, State, Tenure, Worker,
    WorkerState,
};

use super::{estimates::Estimates, specs::Specs, store::JobRow, worker_store::WorkerRow};

/// Weights are in hundredths, those of the scheduler in thousandths.
const WEIGHT: u32 = 10;
/// Duration of loading a model.
const LOAD: Millis = 20_000;

pub fn millis(at: Timestamp) -> Millis {
    Millis::try_from(at.as_millisecond()).unwrap_or_default()
}

fn of(at: Option<jiff_sqlx::Timestamp>) -> Option<Millis> {
    at.map(|at| millis(at.to_jiff()))
}

pub fn timestamp(at: Millis) -> Timestamp {
    i64::try_from(at).ok().and_then(|at| Timestamp::from_millisecond(at).ok()).unwrap_or(Timestamp::MAX)
}

pub fn job_key(id: JobId) -> schedule::JobId {
    schedule::JobId(id.uuid().as_u128())
}

pub fn job_id(key: schedule::JobId) -> JobId {
    JobId::from_uuid(uuid::Uuid::from_u128(key.0))
}

/// Bits of an id below its time in milliseconds (UUID version 7).
const RANDOM_BITS: u32 = 80;

/// An id before those of jobs that were submitted at this time.
pub fn first_id(at: Millis) -> JobId {
    job_id(schedule::JobId(u128::from(at) << RANDOM_BITS))
}

/// When the id of a job was given.
pub fn time_of(id: JobId) -> Millis {
    Millis::try_from(job_key(id).0 >> RANDOM_BITS).unwrap_or_default()
}

pub fn worker_key(id: WorkerId) -> schedule::WorkerId {
    schedule::WorkerId(id.uuid().as_u128())
}

pub fn worker_id(key: schedule::WorkerId) -> WorkerId {
    WorkerId::from_uuid(uuid::Uuid::from_u128(key.0))
}

pub fn tenant_key(id: TenantId) -> schedule::TenantId {
    schedule::TenantId(id.uuid().as_u128())
}

pub fn tenant_id(key: schedule::TenantId) -> TenantId {
    TenantId::from_uuid(uuid::Uuid::from_u128(key.0))
}

/// The scheduler's form of a share.
pub fn share(of: share::Share) -> schedule::Share {
    schedule::Share {
        weight: of.weight.saturating_mul(WEIGHT),
        guarantee: of.guarantee,
        limit: of.limit.unwrap_or(u32::MAX),
        urgent: of.urgent,
    }
}

pub fn node_key(name: &str) -> NodeId {
    NodeId(GpuSpecId::derived(&["node", name]).uuid().as_u128())
}

/// A group of a tenant. Groups of one name and different modes are different groups.
pub fn group_key(tenant: TenantId, name: &str, mode: GroupMode) -> schedule::GroupId {
    let mode = match mode {
        GroupMode::Strict => "strict",
        GroupMode::Prefer => "prefer",
    };
    schedule::GroupId(GpuSpecId::derived(&["group", &tenant.to_string(), mode, name]).uuid().as_u128())
}

fn group(row: &JobRow) -> Option<(schedule::GroupId, schedule::GroupMode)> {
    Some(key_of_group(row.tenant_id, row.group_name.as_deref()?, row.group_mode?))
}

fn key_of_group(tenant: TenantId, name: &str, mode: GroupMode) -> (schedule::GroupId, schedule::GroupMode) {
    let kind = match mode {
        GroupMode::Strict => schedule::GroupMode::Strict,
        GroupMode::Prefer => schedule::GroupMode::Prefer,
    };
    (group_key(tenant, name, mode), kind)
}

fn level(level: kind::Level) -> schedule::Level {
    match level {
        kind::Level::Urgent => schedule::Level::Urgent,
        kind::Level::Ordinary => schedule::Level::Ordinary,
        kind::Level::Background => schedule::Level::Background,
    }
}

pub fn level_of(level: schedule::Level) -> kind::Level {
    match level {
        schedule::Level::Urgent => kind::Level::Urgent,
        schedule::Level::Ordinary => kind::Level::Ordinary,
        schedule::Level::Background => kind::Level::Background,
    }
}

/// Why no job of a tenant starts.
pub fn hold(reason: QueuedReason) -> Option<Hold> {
    match reason {
        QueuedReason::TenantSuspended => Some(Hold::TenantSuspended),
        QueuedReason::BudgetExhausted => Some(Hold::BudgetExhausted),
        QueuedReason::AllowanceExpired => Some(Hold::AllowanceExpired),
        QueuedReason::Retry | QueuedReason::WorkerLost | QueuedReason::Preempted | QueuedReason::Recalled => {
            None
        }
    }
}

/// The properties that decide the shape of a job.
struct Traits<'a> {
    tenant: TenantId,
    level: kind::Level,
    model: Option<ModelId>,
    class: &'a str,
    gang: Option<kind::Gang>,
    group: Option<(schedule::GroupId, schedule::GroupMode)>,
    firm_only: bool,
}

/// The shape of a job that accepts these workers.
fn shape(of: &Traits<'_>, specs: Vec<SpecId>, estimates: &Estimates) -> Arc<Shape> {
    Arc::new(Shape {
        tenant: tenant_key(of.tenant),
        level: level(of.level),
        specs,
        model: of.model.map(|model| schedule::ModelId(model.uuid().as_u128())),
        load: LOAD,
        run: estimates.get(of.class),
        gang: of.gang.map_or(1, |gang| gang.size.into()),
        same_node: of.gang.is_some_and(|gang| gang.same_node),
        group: of.group,
        checkpoints: false,
        firm_only: of.firm_only,
    })
}

/// The job of a row, in a pool with these workers.
pub fn job(row: &JobRow, specs: &Specs, estimates: &Estimates) -> Job {
    let recalls = u8::try_from(row.recalls).unwrap_or(u8::MAX);
    let traits = Traits {
        tenant: row.tenant_id,
        level: row.level,
        model: row.model,
        class: &row.class,
        gang: kind::Gang::of(row.gang_size, row.same_node),
        group: group(row),
        firm_only: recalls >= FIRM_AFTER,
    };
    Job {
        id: job_key(row.id),
        shape: shape(&traits, specs.accepted(row.needs().as_ref(), row.too_small.as_deref()), estimates),
        priority: u8::try_from(row.priority).unwrap_or(5),
        submitted: millis(row.created_at),
        not_before: of(row.not_before).unwrap_or_default(),
        deadline: of(row.deadline),
        preemptions: u8::try_from(row.preemptions).unwrap_or(u8::MAX),
        recalls,
    }
}

/// A job that is not submitted.
#[derive(Debug, Clone)]
pub struct Probe {
    pub tenant: TenantId,
    pub level: kind::Level,
    pub priority: u8,
    pub group: Option<kind::Group>,
    pub model: Option<ModelId>,
    pub needs: Option<Needs>,
    pub class: String,
    pub gang: Option<kind::Gang>,
}

/// The job of a probe as if it was submitted now.
pub fn probe(probe: &Probe, specs: &Specs, estimates: &Estimates, now: Millis) -> Job {
    let traits = Traits {
        tenant: probe.tenant,
        level: probe.level,
        model: probe.model,
        class: &probe.class,
        gang: probe.gang,
        group: probe.group.as_ref().map(|group| key_of_group(probe.tenant, &group.name, group.mode)),
        firm_only: false,
    };
    Job {
        id: job_key(JobId::new()),
        shape: shape(&traits, specs.accepted(probe.needs.as_ref(), None), estimates),
        priority: probe.priority,
        submitted: now,
        not_before: 0,
        deadline: None,
        preemptions: 0,
        recalls: 0,
    }
}

/// A waiting job as it would be in a pool where it accepts these workers, with this level, if it was submitted there now.
pub fn moved(waiting: &Job, to: kind::Level, specs: Vec<SpecId>, now: Millis) -> Job {
    let shape = Shape { level: level(to), specs, ..(*waiting.shape).clone() };
    Job { id: job_key(JobId::new()), shape: Arc::new(shape), submitted: now, ..waiting.clone() }
}

/// A waiting job as it would be in another pool where it accepts these workers.
pub fn in_pool(waiting: &Job, specs: Vec<SpecId>) -> Job {
    let shape = Shape { specs, ..(*waiting.shape).clone() };
    Job { shape: Arc::new(shape), ..waiting.clone() }
}

/// The open job of a row. None if it has ended, is delivering, or its worker is not in the pool.
pub fn entry(
    row: &JobRow,
    job: Job,
    worker_spec: impl Fn(WorkerId) -> Option<SpecId>,
    now: Millis,
) -> Option<Entry> {
    if row.is_delivering {
        return None;
    }
    let state = match row.state {
        JobState::Queued if job.not_before > now => State::Delayed,
        JobState::Queued => State::Queued { since: millis(row.queued_at) },
        JobState::Assigned | JobState::Running | JobState::Cancelling => {
            let worker = row.worker_id?;
            let started = of(row.assigned_at).unwrap_or(now);
            let workers = if row.members.is_empty() { vec![worker] } else { row.members.clone() };
            State::Running(Attempt {
                spec: worker_spec(worker)?,
                workers: workers.into_iter().map(worker_key).collect(),
                started,
                loading: 0,
                checkpoint: started,
                slice: slice(row, now),
                leaving: row.leave_by.is_some(),
            })
        }
        JobState::Succeeded | JobState::Failed | JobState::Cancelled | JobState::Expired => return None,
    };
    Some(Entry { job, state })
}

/// The stored slice, or an empty one: the next is charged at once.
fn slice(row: &JobRow, now: Millis) -> Slice {
    let stored = || {
        let charge = row.slice_charge.as_ref()?.parse().ok()?;
        Some(Slice { from: of(row.slice_from)?, until: of(row.slice_until)?, charge })
    };
    stored().unwrap_or(Slice { from: now, until: now, charge: 0 })
}

/// The worker of a row.
pub fn worker(row: &WorkerRow, spec: SpecId) -> Worker {
    let mut worker = Worker::new(
        worker_key(row.id),
        node_key(&row.node),
        spec,
        match row.tenure {
            worker::Tenure::Firm => Tenure::Firm,
            worker::Tenure::Lent => Tenure::Lent,
        },
        millis(row.idle_since),
    );
    if let Some(by) = of(row.leave_by) {
        worker.state = WorkerState::Recalled { by };
    }
    worker.model = row.model.map(|model| schedule::ModelId(model.uuid().as_u128()));
    worker.quantum_end = of(row.quantum_end).unwrap_or_default();
    worker.busy_until = of(row.busy_until).unwrap_or_default();
    worker.current = row.current_job.map(job_key);
    worker
}

//! Builders of small pools.

use std::sync::Arc;

use atelier_schedule::{
    Decision, Ending, Estimate, Event, Job, JobId, Level, Millis, ModelId, NodeId, Pool, Settings, Shape,
    Share, Snapshot, Spec, SpecId, State, TenantId, Tenure, Worker, WorkerId,
};

pub(crate) const SECOND: Millis = 1_000;
pub(crate) const MINUTE: Millis = 60_000;
pub(crate) const HOUR: Millis = 3_600_000;
/// A time well after 1970 that is not the beginning of an epoch.
pub(crate) const START: Millis = 1_700_000_000_000;
pub(crate) const SPEC: SpecId = SpecId(1);
pub(crate) const OTHER: SpecId = SpecId(2);

/// A pool with this number of workers of [`SPEC`], four to a node.
pub(crate) fn pool(workers: u32) -> Pool {
    let mut settings = Settings::default();
    settings.specs.insert(SPEC, Spec::default());
    settings.specs.insert(OTHER, Spec { price: 2_000, ..Spec::default() });
    let mut pool = Pool::restore(Snapshot { settings, ..Snapshot::default() });
    for number in 0..workers {
        add(&mut pool, number, number / 4, SPEC, Tenure::Firm);
    }
    pool
}

pub(crate) fn add(pool: &mut Pool, worker: u32, node: u32, spec: SpecId, tenure: Tenure) {
    let (worker, node) = (WorkerId(u128::from(worker)), NodeId(u128::from(node)));
    pool.apply(Event::WorkerAdded(Worker::new(worker, node, spec, tenure, START)), START).unwrap();
}

pub(crate) fn share(pool: &mut Pool, tenant: u128, share: Share) {
    pool.apply(Event::ShareSet(TenantId(tenant), share), START).unwrap();
}

/// An ordinary job of 10 s, changed by `change`.
pub(crate) fn job(id: u128, tenant: u128, change: impl FnOnce(&mut Job, &mut Shape)) -> Job {
    let mut shape = Shape {
        tenant: TenantId(tenant),
        level: Level::Ordinary,
        specs: vec![SPEC],
        model: None,
        load: 0,
        run: Estimate::exactly(10 * SECOND),
        gang: 1,
        same_node: false,
        group: None,
        checkpoints: false,
        firm_only: false,
    };
    let mut job = Job {
        id: JobId(id),
        shape: Arc::new(shape.clone()),
        priority: 5,
        submitted: START,
        not_before: 0,
        deadline: None,
        preemptions: 0,
        recalls: 0,
    };
    change(&mut job, &mut shape);
    Job { shape: Arc::new(shape), ..job }
}

/// A job that runs for an hour.
pub(crate) fn long(id: u128, tenant: u128) -> Job {
    job(id, tenant, |_, shape| shape.run = Estimate::exactly(HOUR))
}

pub(crate) fn model(shape: &mut Shape, model: u128, load: Millis) {
    (shape.model, shape.load) = (Some(ModelId(model)), load);
}

pub(crate) fn submit(pool: &mut Pool, job: Job) {
    let now = job.submitted;
    pool.apply(Event::Submitted(job), now).unwrap();
}

/// The jobs that decisions start, in order.
pub(crate) fn started(decisions: &[Decision]) -> Vec<u128> {
    let started = decisions.iter().filter_map(|decision| match decision {
        Decision::Start { job, .. } => Some(job.0),
        _ => None,
    });
    started.collect()
}

/// The jobs that decisions preempt.
pub(crate) fn preempted(decisions: &[Decision]) -> Vec<u128> {
    let preempted = decisions.iter().filter_map(|decision| match decision {
        Decision::Preempt { job, .. } => Some(job.0),
        _ => None,
    });
    preempted.collect()
}

/// The workers of a running job.
pub(crate) fn workers_of(pool: &Pool, job: u128) -> Vec<u128> {
    match &pool.job(JobId(job)).unwrap().state {
        State::Running(attempt) => attempt.workers.iter().map(|worker| worker.0).collect(),
        state => panic!("job {job} is {state:?}"),
    }
}

pub(crate) fn end(pool: &mut Pool, id: u128, now: Millis) {
    pool.apply(Event::Ended(JobId(id), Ending::Done), now).unwrap();
}

/// Ends an attempt that was preempted.
pub(crate) fn leave(pool: &mut Pool, id: u128, now: Millis) {
    pool.apply(Event::Ended(JobId(id), Ending::Preempted), now).unwrap();
}

//! The decisions of the pool, and their reasons.

use super::{
    Millis,
    model::{GroupId, JobId, Level, NodeId, SpecId, WorkerId},
};

/// Why a job was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// Its tenant holds less than its guarantee.
    Guarantee,
    /// The first of its level, of the tenant with the least use for its weight.
    Share(Level),
    /// The worker has its model loaded and is in its quantum.
    Quantum,
    /// The worker was kept for it.
    Reservation,
    /// The worker's last job was preempted for it.
    Nomination,
}

/// Why a running job has to leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Another tenant is below its guarantee, and the job's tenant above its own.
    Guarantee,
    /// An urgent job of a tenant that uses less for its weight.
    Urgent,
    /// It runs longer than its p90 on a worker that is reserved for a gang of a higher level.
    Overrun,
}

/// A decision to carry out. The pool that returned it contains it already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Assign the job to these workers; `load` if a worker has to load its model first.
    Start {
        job: JobId,
        workers: Vec<WorkerId>,
        load: bool,
        rule: Rule,
    },
    /// Tell the attempt to leave. It counts when it has ended.
    Preempt {
        job: JobId,
        taker: JobId,
        cause: Cause,
    },
    /// No job of its tenant may run: tell the attempt to leave.
    Stop {
        job: JobId,
    },
    /// The gang can start at this time if jobs end within their p90.
    Reserve {
        job: JobId,
        spec: SpecId,
        workers: Vec<WorkerId>,
        at: Millis,
    },
    /// The deadline of a job that waits has passed. It is no longer in the pool.
    Expire {
        job: JobId,
    },
    /// A background job has waited for six hours and is ordinary now.
    Promote {
        job: JobId,
    },
    Bind {
        group: GroupId,
        node: NodeId,
    },
    Unbind {
        group: GroupId,
        node: NodeId,
    },
    /// Ask the stock for this number of idle units.
    Lend {
        spec: SpecId,
        units: u32,
    },
    /// Returns a lent unit. The worker no longer accepts jobs.
    Return {
        worker: WorkerId,
    },
}

//! The capacity of a pool, as JSON.

use std::collections::BTreeMap;

use ids::PoolId;
use jiff::Timestamp;
use jobs_core::kind::Level;
use schedule::{NodeCapacity, SpecCapacity, SpecId};
use serde::Serialize;
use utoipa::ToSchema;

use crate::view::Capacity;

/// Jobs of one level that wait for a worker.
#[derive(Debug, Clone, Serialize, ToSchema)]
struct QueuedJobs {
    level: Level,
    /// Number of jobs, of all tenants.
    #[schema(example = 12)]
    jobs: u32,
}

/// Workers of one GPU specification.
#[derive(Debug, Clone, Serialize, ToSchema)]
struct SpecWorkers {
    /// Name of the GPU specification.
    #[schema(example = "3080-small-4-1")]
    gpu_spec: String,
    /// Workers whose GPUs are the pool's own.
    #[schema(example = 4)]
    firm: u32,
    /// Workers on idle GPUs that are lent to the pool until an instance needs them.
    #[schema(example = 2)]
    lent: u32,
    /// Workers without a job, ready for one.
    #[schema(example = 1)]
    idle: u32,
    /// Workers with a job.
    #[schema(example = 4)]
    busy: u32,
    /// Workers reserved for a job that waits for several workers, or for which other jobs are stopped.
    #[schema(example = 0)]
    reserved: u32,
    /// Workers that get no jobs: they do not respond, are drained or recalled, or run on a node that loses workers.
    #[schema(example = 1)]
    closed: u32,
}

/// Workers of one node.
#[derive(Debug, Clone, Serialize, ToSchema)]
struct NodeWorkers {
    /// The part of its GPUs that is free, 0 to 1, weighted by price. A job goes to the node where this is least, so that whole
    /// nodes stay free for jobs of several workers.
    #[schema(example = 0.25)]
    free_degree: f64,
    /// By GPU specification.
    workers: Vec<SpecWorkers>,
}

/// Jobs that start and end within the next hour.
#[derive(Debug, Clone, Serialize, ToSchema)]
struct ExpectedJobs {
    /// Name of the GPU specification.
    #[schema(example = "3080-small-4-1")]
    gpu_spec: String,
    level: Level,
    /// How many start.
    #[schema(example = 40)]
    starts: u32,
    /// How many end.
    #[schema(example = 38)]
    ends: u32,
}

/// The workers of a pool, the jobs that wait, and the jobs expected to start and end.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct PoolCapacity {
    /// Pool id.
    pool_id: PoolId,
    /// The time of these numbers: at most a second ago.
    at: Timestamp,
    /// Jobs that wait for a worker, urgent ones first.
    queued: Vec<QueuedJobs>,
    /// All workers, by GPU specification.
    workers: Vec<SpecWorkers>,
    /// Its nodes, the fullest first.
    nodes: Vec<NodeWorkers>,
    /// Jobs that start and end within the next hour if no more come and all take their median time, by GPU
    /// specification and level. Null if the pool has too many jobs for a forecast.
    next_hour: Option<Vec<ExpectedJobs>>,
}

impl PoolCapacity {
    pub(super) fn new(pool_id: PoolId, mut found: Capacity) -> Self {
        let names = &found.spec_names;
        let name = |spec: &SpecId| names.get(spec).cloned().unwrap_or_default();
        let workers = |specs: &BTreeMap<SpecId, SpecCapacity>| {
            specs.iter().map(|(spec, counts)| spec_workers(name(spec), counts)).collect()
        };
        found.nodes.sort_by_key(|node| node.free_degree);
        let expected = |((spec, level), (starts, ends)): (&(SpecId, Level), &(u32, u32))| ExpectedJobs {
            gpu_spec: name(spec),
            level: *level,
            starts: *starts,
            ends: *ends,
        };
        Self {
            pool_id,
            at: found.at,
            queued: found
                .queued
                .iter()
                .map(|(level, jobs)| QueuedJobs { level: *level, jobs: *jobs })
                .collect(),
            workers: workers(&total(&found.nodes)),
            nodes: found
                .nodes
                .iter()
                .map(|node| NodeWorkers {
                    free_degree: part(node.free_degree),
                    workers: workers(&node.specs),
                })
                .collect(),
            next_hour: found.soon.as_ref().map(|soon| soon.iter().map(expected).collect()),
        }
    }
}

fn spec_workers(gpu_spec: String, counts: &SpecCapacity) -> SpecWorkers {
    let SpecCapacity { firm, lent, idle, busy, reserved, closed } = *counts;
    SpecWorkers { gpu_spec, firm, lent, idle, busy, reserved, closed }
}

/// The workers of all nodes.
fn total(nodes: &[NodeCapacity]) -> BTreeMap<SpecId, SpecCapacity> {
    let mut total: BTreeMap<SpecId, SpecCapacity> = BTreeMap::new();
    for (spec, counts) in nodes.iter().flat_map(|node| &node.specs) {
        *total.entry(*spec).or_default() += *counts;
    }
    total
}

/// Thousandths as a fraction.
#[expect(clippy::cast_precision_loss, reason = "at most a thousand")]
fn part(thousandths: u64) -> f64 {
    thousandths as f64 / 1_000.0
}

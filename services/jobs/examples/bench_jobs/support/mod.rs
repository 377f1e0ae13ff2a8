//! Shared parts of the scheduling benchmarks: seeded numbers, pools, quantiles.

use std::sync::Arc;

use schedule::{
    Estimate, Event, Job, JobId, Level, Millis, ModelId, NodeId, Pool, Settings, Shape, Snapshot, SpecId,
    TenantId, Tenure, Worker, WorkerId,
};

pub(crate) mod baselines;
pub(crate) mod gang_core;
pub(crate) mod gang_report;
pub(crate) mod gangs;
pub(crate) mod philly;
pub(crate) mod trace;

/// 2026-01-01.
pub(crate) const START: Millis = 1_767_225_600_000;
pub(crate) const SPEC: SpecId = SpecId(1);
pub(crate) const SECOND: Millis = 1_000;
pub(crate) const MINUTE: Millis = 60_000;

/// Seeded numbers (`SplitMix64`).
#[derive(Debug, Clone)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// A number of [0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number of a distribution that is given by quantiles, linear between them.
    pub(crate) fn quantile(&mut self, table: &[(f64, f64)]) -> f64 {
        let at = self.unit();
        let after = table.iter().position(|(part, _)| *part > at).unwrap_or(table.len() - 1).max(1);
        let ((from, low), (to, high)) = (table[after - 1], table[after]);
        low + (high - low) * ((at - from) / (to - from)).clamp(0.0, 1.0)
    }

    /// An index with a probability proportional to its weight.
    pub(crate) fn weighted(&mut self, weights: &[f64]) -> usize {
        let mut at = self.unit() * weights.iter().sum::<f64>();
        for (index, weight) in weights.iter().enumerate() {
            at -= weight;
            if at < 0.0 {
                return index;
            }
        }
        weights.len() - 1
    }
}

/// A pool of workers of one specification, eight to a node.
pub(crate) fn pool(workers: u64, settings: Settings) -> Pool {
    let mut settings = settings;
    settings.specs.entry(SPEC).or_default();
    let mut pool = Pool::restore(Snapshot { settings, ..Snapshot::default() });
    for number in 0..workers {
        add_worker(&mut pool, number, SPEC);
    }
    pool
}

pub(crate) fn add_worker(pool: &mut Pool, number: u64, spec: SpecId) {
    let (id, node) = (WorkerId(u128::from(number)), NodeId(u128::from(number / 8)));
    let worker = Worker::new(id, node, spec, Tenure::Firm, START);
    pool.apply(Event::WorkerAdded(worker), START).expect("a new worker");
}

/// An ordinary job of one unit.
pub(crate) fn shape(tenant: u64, run: Estimate) -> Shape {
    Shape {
        tenant: TenantId(u128::from(tenant)),
        level: Level::Ordinary,
        specs: vec![SPEC],
        model: None,
        load: 0,
        run,
        gang: 1,
        same_node: false,
        group: None,
        checkpoints: false,
        firm_only: false,
    }
}

pub(crate) fn with_model(shape: Shape, model: u64, load: Millis) -> Shape {
    Shape { model: Some(ModelId(u128::from(model))), load, ..shape }
}

pub(crate) fn job(id: u64, shape: &Arc<Shape>, submitted: Millis) -> Job {
    Job {
        id: JobId(u128::from(id)),
        shape: Arc::clone(shape),
        priority: 5,
        submitted,
        not_before: 0,
        deadline: None,
        preemptions: 0,
        recalls: 0,
    }
}

/// The value that this share of the values does not exceed.
pub(crate) fn percentile<T: Copy + Ord + Default>(values: &mut [T], part: f64) -> T {
    values.sort_unstable();
    let at = (values.len() as f64 * part) as usize;
    values.get(at.min(values.len().saturating_sub(1))).copied().unwrap_or_default()
}

pub(crate) fn mean(values: &[Millis]) -> f64 {
    values.iter().sum::<Millis>() as f64 / values.len().max(1) as f64
}

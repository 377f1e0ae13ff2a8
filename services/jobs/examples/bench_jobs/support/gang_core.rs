//! Jobs on several GPUs with the scheduling core.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
    sync::Arc,
};

use schedule::{Decision, Ending, Event, JobId, Settings, Shape, Share, TenantId, WorkerId};

use super::{
    MINUTE, SECOND, START,
    gangs::{NODE, Outcome},
    job,
    philly::{Ended, Training},
    pool, shape,
};

/// An attempt that runs: its number, its start and its workers.
struct Attempt {
    number: u64,
    started: u64,
    workers: Vec<WorkerId>,
}

/// Runs a trace; a tenant's jobs are those of a virtual cluster, or there is one tenant. A job that is preempted leaves a
/// second later, and starts from its beginning. Tenants without a share have the default one.
pub(crate) fn run(jobs: &[Training], nodes: usize, tenants: bool, shares: &BTreeMap<u64, Share>) -> Outcome {
    let mut outcome = Outcome::of(jobs);
    let mut pool = pool(nodes as u64 * u64::from(NODE), Settings::default());
    for (tenant, share) in shares {
        pool.apply(Event::ShareSet(TenantId(u128::from(*tenant)), *share), START).expect("a share");
    }
    let mut known = Ended::default();
    let mut running: BTreeMap<JobId, Attempt> = BTreeMap::new();
    let mut users: BTreeMap<WorkerId, JobId> = BTreeMap::new();
    // time, job, number of the attempt, preempted
    let mut ends: BinaryHeap<Reverse<(u64, JobId, u64, bool)>> = BinaryHeap::new();
    let mut arrivals = jobs.iter().enumerate().peekable();
    let (mut attempts, mut last) = (0, 0);
    loop {
        let arrival = arrivals.peek().map(|(_, job)| job.at);
        let end = ends.peek().map(|Reverse((at, ..))| *at);
        if arrival.is_none() && end.is_none() {
            return outcome;
        }
        // rounds without an event: at most one a minute
        let wake = pool.next_wake(START + last).map(|at| (at - START).max(last + MINUTE));
        let at = arrival.into_iter().chain(end).chain(wake).min().unwrap_or(last);
        last = at;
        let now = START + at;
        while let Some(Reverse((end, id, number, preempted))) = ends.peek().copied()
            && end <= at
        {
            ends.pop();
            if running.get(&id).is_none_or(|attempt| attempt.number != number) {
                continue;
            }
            let Some(attempt) = running.remove(&id) else { continue };
            attempt.workers.iter().for_each(|worker| assert_eq!(users.remove(worker), Some(id)));
            let job = &jobs[id.0 as usize];
            if preempted {
                outcome.lost += (at - attempt.started) * u64::from(job.gpus);
                pool.apply(Event::Ended(id, Ending::Preempted), now).expect("a running job");
            } else {
                outcome.completions[id.0 as usize] = at - job.at;
                known.record(job);
                pool.apply(Event::Ended(id, Ending::Done), now).expect("a running job");
            }
        }
        while let Some((number, training)) = arrivals.next_if(|(_, job)| job.at <= at) {
            let run = known.estimate(training);
            let shape = Shape {
                gang: training.gpus,
                same_node: training.gpus <= NODE,
                ..shape(if tenants { training.cluster } else { 0 }, run)
            };
            pool.apply(Event::Submitted(job(number as u64, &Arc::new(shape), now)), now).expect("a new job");
        }
        for decision in pool.round(now) {
            match decision {
                Decision::Start { job: id, workers, .. } => {
                    let job = &jobs[id.0 as usize];
                    check(job, &workers);
                    for worker in &workers {
                        assert_eq!(users.insert(*worker, id), None, "{worker:?} has two jobs");
                    }
                    attempts += 1;
                    ends.push(Reverse((at + job.run, id, attempts, false)));
                    let before = running.insert(id, Attempt { number: attempts, started: at, workers });
                    assert!(before.is_none(), "{id:?} runs twice");
                }
                Decision::Preempt { job: id, .. } => {
                    outcome.preemptions += 1;
                    ends.push(Reverse((at + SECOND, id, running[&id].number, true)));
                }
                _ => {}
            }
        }
    }
}

/// A gang has all its workers, on one node if it fits there.
fn check(job: &Training, workers: &[WorkerId]) {
    assert_eq!(workers.len(), job.gpus as usize);
    let node = |worker: &WorkerId| worker.0 / u128::from(NODE);
    assert!(job.gpus > NODE || workers.iter().all(|worker| node(worker) == node(&workers[0])));
}

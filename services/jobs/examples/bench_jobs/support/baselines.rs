//! Simple schedulers of single jobs, to compare with.

use std::collections::{BinaryHeap, VecDeque};

use super::{MINUTE, trace::Request};

/// Which job an idle worker gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    /// The oldest, on any worker.
    Fifo,
    /// The oldest, on a worker that has its model loaded if one is idle.
    FifoPlaced,
    /// The oldest whose model is loaded, unless the oldest of all waits for more than a minute.
    LoadedFirst,
    /// The shortest by its true time with loading.
    Shortest,
}

/// The outcome of a trace.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Completion times.
    pub(crate) completions: Vec<u64>,
    pub(crate) waits: Vec<u64>,
    pub(crate) working: u64,
    pub(crate) loading: u64,
    pub(crate) preemptions: u64,
}

impl Outcome {
    pub(crate) fn load_share(&self) -> f64 {
        self.loading as f64 / (self.loading + self.working).max(1) as f64
    }
}

/// Runs a trace, in the order of its arrivals, on workers.
pub(crate) fn run(policy: Policy, requests: &[Request], workers: usize) -> Outcome {
    let mut outcome = Outcome::default();
    let mut models = vec![None; workers];
    let mut idle: Vec<usize> = (0..workers).collect();
    let mut ends: BinaryHeap<(std::cmp::Reverse<u64>, usize)> = BinaryHeap::new();
    let mut queue: VecDeque<usize> = VecDeque::new();
    let mut arrivals = requests.iter().enumerate().peekable();
    loop {
        let arrival = arrivals.peek().map(|(_, request)| request.at);
        let end = ends.peek().map(|(std::cmp::Reverse(at), _)| *at);
        let Some(now) = arrival.into_iter().chain(end).min() else { return outcome };
        while let Some((std::cmp::Reverse(at), worker)) = ends.peek().copied()
            && at <= now
        {
            ends.pop();
            idle.push(worker);
        }
        while let Some((number, _)) = arrivals.next_if(|(_, request)| request.at <= now) {
            queue.push_back(number);
        }
        while !idle.is_empty() && !queue.is_empty() {
            let (position, slot) = choose(policy, &queue, &idle, &models, requests, now);
            let (number, worker) = (queue[position], idle[slot]);
            queue.remove(position);
            idle.swap_remove(slot);
            let request = &requests[number];
            let loading = if models[worker] == Some(request.model) { 0 } else { request.load };
            models[worker] = Some(request.model);
            let end = now + loading + request.run;
            outcome.completions.push(end - request.at);
            outcome.waits.push(now - request.at);
            outcome.loading += loading;
            outcome.working += request.run;
            ends.push((std::cmp::Reverse(end), worker));
        }
    }
}

/// Positions in the queue and among the idle workers.
fn choose(
    policy: Policy,
    queue: &VecDeque<usize>,
    idle: &[usize],
    models: &[Option<u64>],
    requests: &[Request],
    now: u64,
) -> (usize, usize) {
    let loaded =
        |number: usize| idle.iter().position(|worker| models[*worker] == Some(requests[number].model));
    let slot = |number: usize| loaded(number).unwrap_or(0);
    match policy {
        Policy::Fifo => (0, 0),
        Policy::FifoPlaced => (0, slot(queue[0])),
        Policy::LoadedFirst => {
            if now - requests[queue[0]].at > MINUTE {
                return (0, slot(queue[0]));
            }
            let first =
                queue.iter().enumerate().find_map(|(at, number)| loaded(*number).map(|slot| (at, slot)));
            first.unwrap_or((0, 0))
        }
        Policy::Shortest => {
            let time = |number: usize| {
                let request = &requests[number];
                request.run + if loaded(number).is_some() { 0 } else { request.load }
            };
            let shortest = queue.iter().enumerate().min_by_key(|(at, number)| (time(**number), *at));
            shortest.map_or((0, 0), |(at, number)| (at, slot(*number)))
        }
    }
}

//! Simple schedulers of jobs on several GPUs, to compare with.
//!
//! A job of at most eight GPUs runs on one node: the one with the fewest idle GPUs that are enough. A larger
//! job runs on the nodes with the most idle GPUs.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, BinaryHeap},
};

use super::philly::{Ended, Training};

/// GPUs of a node.
pub(crate) const NODE: u32 = 8;

/// Which job is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    /// The oldest; while it does not fit, none.
    Fifo,
    /// EASY: younger jobs pass the oldest if they do not delay it, by the p90 of durations, which are learned
    /// as for the core.
    Easy,
    /// EASY with the true durations.
    EasyTrue,
    /// The shortest by its true duration; jobs that do not fit are skipped.
    Shortest,
}

/// Idle GPUs of each node.
type Idle = Vec<u32>;
/// Nodes with a number of GPUs of each.
type Place = Vec<(usize, u32)>;

/// The outcome of a trace.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Times from submission to end, in milliseconds, by number of the job.
    pub(crate) completions: Vec<u64>,
    pub(crate) preemptions: u64,
    /// Time of attempts that were preempted, in unit milliseconds.
    pub(crate) lost: u64,
}

impl Outcome {
    pub(crate) fn of(jobs: &[Training]) -> Self {
        Self { completions: vec![0; jobs.len()], ..Self::default() }
    }
}

/// Runs a trace on nodes.
pub(crate) fn run(policy: Policy, jobs: &[Training], nodes: usize) -> Outcome {
    let mut cluster = Cluster {
        policy,
        jobs,
        idle: vec![NODE; nodes],
        queue: BTreeMap::new(),
        running: BTreeSet::new(),
        places: BTreeMap::new(),
        ends: BinaryHeap::new(),
        ended: Ended::default(),
    };
    let mut outcome = Outcome::of(jobs);
    let mut arrivals = jobs.iter().enumerate().peekable();
    loop {
        let arrival = arrivals.peek().map(|(_, job)| job.at);
        let end = cluster.ends.peek().map(|(Reverse(at), _)| *at);
        let Some(now) = arrival.into_iter().chain(end).min() else { return outcome };
        while let Some((Reverse(at), number)) = cluster.ends.peek().copied()
            && at <= now
        {
            cluster.ends.pop();
            cluster.end(number);
            outcome.completions[number] = at - jobs[number].at;
        }
        while let Some((number, job)) = arrivals.next_if(|(_, job)| job.at <= now) {
            cluster.submit(number, job);
        }
        cluster.serve(now);
    }
}

struct Cluster<'a> {
    policy: Policy,
    jobs: &'a [Training],
    idle: Idle,
    /// Job and expected duration, by the order of the policy.
    queue: BTreeMap<(u64, usize), u64>,
    /// By expected end.
    running: BTreeSet<(u64, usize)>,
    /// Running jobs: the expected end, and the place.
    places: BTreeMap<usize, (u64, Place)>,
    ends: BinaryHeap<(Reverse<u64>, usize)>,
    ended: Ended,
}

impl Cluster<'_> {
    fn submit(&mut self, number: usize, job: &Training) {
        let expected = if self.policy == Policy::Easy { self.ended.estimate(job).p90 } else { job.run };
        let key = if self.policy == Policy::Shortest { job.run } else { job.at };
        self.queue.insert((key, number), expected);
    }

    fn end(&mut self, number: usize) {
        let Some((expected, place)) = self.places.remove(&number) else { return };
        self.running.remove(&(expected, number));
        self.ended.record(&self.jobs[number]);
        place.iter().for_each(|(node, gpus)| self.idle[*node] += gpus);
    }

    fn start(&mut self, key: (u64, usize), place: Place, now: u64) {
        let number = key.1;
        let Some(expected) = self.queue.remove(&key) else { return };
        take(&mut self.idle, &place);
        self.running.insert((now + expected, number));
        self.places.insert(number, (now + expected, place));
        self.ends.push((Reverse(now + self.jobs[number].run), number));
    }

    fn serve(&mut self, now: u64) {
        while let Some((key, _)) = self.queue.first_key_value()
            && let key = *key
            && let Some(place) = fit(&self.idle, self.jobs[key.1].gpus)
        {
            self.start(key, place, now);
        }
        match self.policy {
            Policy::Fifo => {}
            Policy::Easy | Policy::EasyTrue => self.backfill(now),
            Policy::Shortest => {
                let mut full = Full::default();
                for key in self.queue.keys().copied().collect::<Vec<_>>() {
                    if let Some(place) = full.fit(&self.idle, self.jobs[key.1].gpus) {
                        self.start(key, place, now);
                    }
                }
            }
        }
    }

    /// Starts jobs that leave the GPUs on which the oldest job can start first.
    fn backfill(&mut self, now: u64) {
        let Some(((_, oldest), _)) = self.queue.first_key_value() else { return };
        if self.idle.iter().all(|gpus| *gpus == 0) {
            return;
        }
        let wanted = self.jobs[*oldest].gpus;
        // the idle GPUs when the oldest starts
        let mut then = self.idle.clone();
        let mut start = None;
        for (end, number) in &self.running {
            self.places[number].1.iter().for_each(|(node, gpus)| then[*node] += gpus);
            if let Some(place) = fit(&then, wanted) {
                take(&mut then, &place);
                start = Some((*end).max(now));
                break;
            }
        }
        let Some(start) = start else { return };
        let (mut before, mut after) = (Full::default(), Full::default());
        let waiting: Vec<_> = self.queue.iter().skip(1).map(|(key, expected)| (*key, *expected)).collect();
        for (key, expected) in waiting {
            let gpus = self.jobs[key.1].gpus;
            if now + expected <= start {
                if let Some(place) = before.fit(&self.idle, gpus) {
                    self.start(key, place, now);
                }
            } else if after.may_fit(gpus) {
                let both: Idle = self.idle.iter().zip(&then).map(|(now, then)| *now.min(then)).collect();
                if let Some(place) = after.fit(&both, gpus) {
                    take(&mut then, &place);
                    self.start(key, place, now);
                }
            }
        }
    }
}

fn take(idle: &mut Idle, place: &Place) {
    place.iter().for_each(|(node, gpus)| idle[*node] -= gpus);
}

fn fit(idle: &Idle, gpus: u32) -> Option<Place> {
    let nodes = idle.iter().copied().enumerate();
    if gpus <= NODE {
        let (_, node) = nodes.filter(|(_, idle)| *idle >= gpus).map(|(node, idle)| (idle, node)).min()?;
        return Some(vec![(node, gpus)]);
    }
    let mut most: Vec<_> = nodes.filter(|(_, idle)| *idle > 0).collect();
    most.sort_by_key(|(node, idle)| (Reverse(*idle), *node));
    let mut left = gpus;
    let mut place = Vec::new();
    for (node, idle) in most {
        let taken = idle.min(left);
        place.push((node, taken));
        left -= taken;
        if left == 0 {
            return Some(place);
        }
    }
    None
}

/// Sizes that did not fit. They do not fit later in a round either, as a round only takes GPUs.
#[derive(Debug, Default)]
struct Full {
    on_a_node: Option<u32>,
    on_nodes: Option<u32>,
}

impl Full {
    fn of(&mut self, gpus: u32) -> &mut Option<u32> {
        if gpus <= NODE { &mut self.on_a_node } else { &mut self.on_nodes }
    }

    fn may_fit(&mut self, gpus: u32) -> bool {
        self.of(gpus).is_none_or(|least| gpus < least)
    }

    fn fit(&mut self, idle: &Idle, gpus: u32) -> Option<Place> {
        if !self.may_fit(gpus) {
            return None;
        }
        let place = fit(idle, gpus);
        if place.is_none() {
            *self.of(gpus) = Some(gpus);
        }
        place
    }
}

//! An endless queue of background jobs: pictures of seconds, some of minutes, and trainings of hours with
//! checkpoints.

use std::collections::VecDeque;

use super::random::Random;

/// A picture takes 15 s (GenTD26: 15.1 s of inference), a few take minutes.
const PICTURE: (f64, f64) = (15.0, 1.0);
/// A training.
const TRAINING: (f64, f64) = (1.5 * 3600.0, 0.5);
/// Seconds of work between two checkpoints of a training.
const CHECKPOINT: f64 = 120.0;
/// A job that was recalled this often waits for a firm worker (`FIRM_AFTER` of the scheduler).
const FIRM_AFTER: u32 = 2;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Job {
    is_training: bool,
    /// Remaining seconds of work.
    pub(crate) work: f64,
    recalls: u32,
}

impl Job {
    /// Whether it was started before: its model, and its checkpoint, must be loaded.
    pub(crate) fn is_repeated(&self) -> bool {
        self.recalls > 0
    }

    /// Returns how much of `worked` seconds is kept at a recall.
    pub(crate) fn kept(&self, worked: f64) -> f64 {
        if self.is_training { (worked / CHECKPOINT).floor() * CHECKPOINT } else { 0.0 }
    }
}

pub(crate) struct Queue {
    random: Random,
    /// Share of jobs that are trainings.
    trainings: f64,
    /// Jobs that were recalled, in their old places.
    again: VecDeque<Job>,
}

impl Queue {
    pub(crate) fn new(seed: u64, trainings: f64) -> Self {
        Self { random: Random::new(seed), trainings, again: VecDeque::new() }
    }

    pub(crate) fn next(&mut self) -> Job {
        if let Some(job) = self.again.pop_front() {
            return job;
        }
        let is_training = self.random.uniform() < self.trainings;
        let (median, sigma) = if is_training { TRAINING } else { PICTURE };
        Job { is_training, work: self.random.lognormal(median, sigma), recalls: 0 }
    }

    /// Takes back a job with `kept` seconds of finished work.
    pub(crate) fn put_back(&mut self, job: Job, kept: f64) {
        let recalls = job.recalls + 1;
        if recalls < FIRM_AFTER {
            self.again.push_front(Job { work: job.work - kept, recalls, ..job });
        }
    }
}

//! Expected arrivals of jobs: like those of the last minutes.

use super::{
    Millis,
    chance::Chance,
    model::{Job, JobId},
};

const MINUTE: Millis = 60_000;
/// How far ahead arrivals are predicted.
const AHEAD: Millis = 2 * 3_600_000;
/// Maximum number of predicted arrivals in a course.
const MOST: u32 = 1_000;
/// With fewer minutes, the busiest one cannot be told from the usual.
const FEW: usize = 3;

/// Recent arrivals of jobs, by minute.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arrivals(Vec<Vec<Job>>);

impl Arrivals {
    /// For how long jobs are remembered.
    pub const WINDOW: Millis = 10 * MINUTE;

    /// Returns all jobs that were submitted since a time, in the whole minutes before `now`. The busiest
    /// minute is left out, so that one large batch does not count as usual.
    pub fn new(jobs: impl IntoIterator<Item = Job>, since: Millis, now: Millis) -> Self {
        let length = usize::try_from(now.saturating_sub(since) / MINUTE).unwrap_or_default();
        let mut minutes = vec![Vec::new(); length];
        for job in jobs {
            let age = now.checked_sub(job.submitted).and_then(|age| usize::try_from(age / MINUTE).ok());
            if let Some(minute) = age.and_then(|age| minutes.get_mut(age)) {
                minute.push(job);
            }
        }
        if length >= FEW
            && let Some(busiest) = (0..length).max_by_key(|minute| minutes[*minute].len())
        {
            minutes.swap_remove(busiest);
        }
        for minute in &mut minutes {
            minute.sort_unstable_by_key(|job| (job.submitted, job.id));
        }
        Self(minutes)
    }

    /// Returns a possible future: each coming minute is like a randomly drawn one of the past.
    pub(super) fn future(&self, now: Millis, chance: Chance) -> Future<'_> {
        Future { arrivals: self, now, chance, minute: 0, coming: Vec::new(), count: 0 }
    }
}

/// Arriving jobs, in the order of their times.
#[derive(Debug)]
pub(super) struct Future<'a> {
    arrivals: &'a Arrivals,
    now: Millis,
    chance: Chance,
    /// Minutes that have been drawn.
    minute: Millis,
    /// Arrivals of the drawn minute, the next one last.
    coming: Vec<Job>,
    count: u32,
}

impl Iterator for Future<'_> {
    type Item = Job;

    fn next(&mut self) -> Option<Job> {
        let past = &self.arrivals.0;
        while self.coming.is_empty() {
            let begin = self.minute * MINUTE;
            if past.iter().all(Vec::is_empty) || begin >= AHEAD || self.count >= MOST {
                return None;
            }
            let drawn = &past[self.chance.below(past.len())];
            let again = |job: &Job| {
                // at the same offset within its minute
                let submitted = self.now + begin + MINUTE - self.now.saturating_sub(job.submitted) % MINUTE;
                Job { submitted, not_before: 0, deadline: None, preemptions: 0, recalls: 0, ..job.clone() }
            };
            self.coming = drawn.iter().map(again).collect();
            self.coming.sort_unstable_by_key(|job| std::cmp::Reverse(job.submitted));
            self.minute += 1;
        }
        let job = self.coming.pop()?;
        self.count += 1;
        // no id of a row is this large
        Some(Job { id: JobId(u128::MAX - u128::from(self.count)), ..job })
    }
}

//! Starts of users, drawn: a rhythm of day and week, a class at the same times of each week, and bursts at
//! unpredictable times. Times are seconds since a Monday, 00:00.

use super::random::Random;

pub(crate) const MINUTE: f64 = 60.0;
pub(crate) const HOUR: f64 = 3600.0;
pub(crate) const DAY: f64 = 24.0 * HOUR;
pub(crate) const WEEK: f64 = 7.0 * DAY;

/// Starts an hour at the busiest time, without class and bursts.
const BUSIEST: f64 = 60.0;
/// Share of it in each hour of a weekday.
const HOURS: [f64; 24] = [
    0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.2, 0.6, 1.0, 1.0, 1.0, 0.7, 1.0, 1.0, 1.0, 1.0, 0.6, 0.3,
    0.3, 0.3, 0.15, 0.15, 0.15,
];
/// Share of that on Saturdays and Sundays.
const WEEKEND: f64 = 0.25;
/// Lengths of runs are lognormal: a median of an hour, a mean of 1.65 hours.
const RUN: (f64, f64) = (HOUR, 1.0);

/// A class begins at 10:00 on Tuesdays and Thursdays: 20 designers start within 2 minutes, and end after about 90 minutes.
const CLASS_DAYS: [f64; 2] = [1.0, 3.0];
const CLASS_HOUR: f64 = 10.0;
const CLASS_SIZE: usize = 20;
const CLASS_STARTS: f64 = 2.0 * MINUTE;
const CLASS_RUN: (f64, f64) = (1.5 * HOUR, 5.0 * MINUTE);

/// Irregular bursts a week, on average: between 9:00 and 17:00 of a weekday, 5 to 20 starts within 3 minutes.
const BURSTS: f64 = 3.0;
const BURST_SIZE: (f64, f64) = (5.0, 21.0);
const BURST_STARTS: f64 = 3.0 * MINUTE;

/// Why a user starts an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Single,
    Class,
    Burst,
}

/// A start of a user.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start {
    pub(crate) at: f64,
    /// Seconds for which the instance runs.
    pub(crate) run: f64,
    pub(crate) kind: Kind,
}

/// Draws the starts of `weeks` weeks, ordered by time.
pub(crate) fn starts(random: &mut Random, weeks: u32) -> Vec<Start> {
    let end = f64::from(weeks) * WEEK;
    let mut starts = Vec::new();
    let mut at = random.exponential(HOUR / BUSIEST);
    while at < end {
        // of the starts of the busiest time, keep the share of this time
        if random.uniform() < share(at) {
            starts.push(Start { at, run: random.lognormal(RUN.0, RUN.1), kind: Kind::Single });
        }
        at += random.exponential(HOUR / BUSIEST);
    }
    for week in 0..weeks {
        let monday = f64::from(week) * WEEK;
        for day in CLASS_DAYS {
            let begin = monday + day * DAY + CLASS_HOUR * HOUR;
            for _ in 0..CLASS_SIZE {
                let run = (CLASS_RUN.0 + CLASS_RUN.1 * random.normal()).max(MINUTE);
                starts.push(Start { at: begin + random.between(0.0, CLASS_STARTS), run, kind: Kind::Class });
            }
        }
    }
    let mut at = random.exponential(WEEK / BURSTS);
    while at < end {
        // spread over the working hours of the week
        let week = (at / WEEK).floor() * WEEK;
        let day = random.between(0.0, 5.0).floor() * DAY;
        let begin = week + day + random.between(9.0, 17.0) * HOUR;
        let size = random.between(BURST_SIZE.0, BURST_SIZE.1) as usize;
        for _ in 0..size {
            let run = random.lognormal(RUN.0, RUN.1);
            starts.push(Start { at: begin + random.between(0.0, BURST_STARTS), run, kind: Kind::Burst });
        }
        at += random.exponential(WEEK / BURSTS);
    }
    starts.sort_by(|a, b| a.at.total_cmp(&b.at));
    starts
}

/// Share of the busiest hour's starts at this time of the week.
fn share(at: f64) -> f64 {
    let of_day = HOURS[(at % DAY / HOUR) as usize];
    if at % WEEK < 5.0 * DAY { of_day } else { of_day * WEEKEND }
}

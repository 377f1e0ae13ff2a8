//! Information about the queue, for waiting instances and for quotes. Pure.

use jiff::{SignedDuration, Timestamp};
use stock_api::Estimate;

/// Minimum number of releases for an estimate.
const MIN_RELEASES: i64 = 3;

/// Recent releases of units.
#[derive(Debug, Clone, Copy)]
pub(super) struct Releases {
    /// Number.
    pub(super) count: i64,
    /// Time of the oldest.
    pub(super) oldest: Option<Timestamp>,
    /// Current time.
    pub(super) now: Timestamp,
}

/// Returns the estimate for a place in the queue, which counts from one. The time since the last release
/// counts as one more interval, so the estimate grows while nothing is released.
pub(super) fn estimate(position: i64, releases: &Releases) -> Option<Estimate> {
    let Releases { count, oldest, now } = *releases;
    let period = now.duration_since(oldest?).as_secs().max(1);
    if count < MIN_RELEASES {
        return None;
    }
    let seconds = period.checked_mul(position)? / (count - 1);
    let starts_at = now.checked_add(SignedDuration::from_secs(seconds)).ok()?;
    Some(Estimate { starts_at, releases: count, period_seconds: period })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn an_estimate_is_the_place_times_the_mean_interval() {
        // released at 0, 30 and 60; now 60: one each 30 s
        let releases = Releases { count: 3, oldest: Some(at(0)), now: at(60) };
        let first = estimate(1, &releases).unwrap();
        assert_eq!(first, Estimate { starts_at: at(90), releases: 3, period_seconds: 60 });
        assert_eq!(estimate(4, &releases).unwrap().starts_at, at(180));
        // nothing for a while: the interval grows
        let later = Releases { now: at(600), ..releases };
        assert_eq!(estimate(1, &later).unwrap().starts_at, at(900));
    }

    #[test]
    fn too_few_releases_are_no_basis() {
        let releases = Releases { count: 2, oldest: Some(at(0)), now: at(60) };
        assert_eq!(estimate(1, &releases), None);
        assert_eq!(estimate(1, &Releases { count: 0, oldest: None, now: at(60) }), None);
        // any number is answered
        let many = Releases { count: 100, oldest: Some(at(0)), now: at(60) };
        assert_eq!(estimate(i64::MAX, &many), None);
    }
}

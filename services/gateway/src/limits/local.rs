//! Limits counted by this process.

use std::time::Duration;

use dashmap::DashMap;
use tokio::time::Instant;

use super::{Count, Rule, Verdict};

/// The time, since the start of the process, until which each caller's allowance is used. An allowance that
/// is used until `now + interval * burst` is exhausted.
pub(super) struct Local {
    used_until: DashMap<(&'static str, u128), Duration>,
    begun: Instant,
}

impl Default for Local {
    fn default() -> Self {
        Self { used_until: DashMap::new(), begun: Instant::now() }
    }
}

impl Local {
    pub(super) fn check(&self, counts: &[Count<'_>]) -> Verdict {
        let now = self.begun.elapsed();
        let mut tightest = (0, u32::MAX);
        for (n, count) in counts.iter().enumerate() {
            let key = (count.rule.name, count.key);
            let mut used_until = self.used_until.entry(key).or_default();
            match step(count.rule, *used_until, now) {
                Ok((next, remaining)) => {
                    *used_until = next;
                    if remaining < tightest.1 {
                        tightest = (n, remaining);
                    }
                }
                Err(wait) => {
                    drop(used_until);
                    self.take_back(&counts[..n]);
                    return Verdict::Refused { limit: n, wait };
                }
            }
        }
        Verdict::Allowed { limit: tightest.0, remaining: tightest.1 }
    }

    fn take_back(&self, counts: &[Count<'_>]) {
        for count in counts {
            if let Some(mut used_until) = self.used_until.get_mut(&(count.rule.name, count.key)) {
                *used_until = used_until.saturating_sub(count.rule.interval);
            }
        }
    }

    pub(super) fn forget_idle(&self) {
        let now = self.begun.elapsed();
        self.used_until.retain(|_, used_until| *used_until > now);
        self.used_until.shrink_to_fit();
    }
}

/// Counts one request of a caller whose allowance is used until `used_until`. Returns the new time and how
/// many more requests fit now; or the time to wait.
fn step(rule: &Rule, used_until: Duration, now: Duration) -> Result<(Duration, u32), Duration> {
    let next = used_until.max(now) + rule.interval;
    let full = now + rule.interval * rule.burst;
    if next > full {
        return Err(next - full);
    }
    let remaining = (full - next).as_nanos() / rule.interval.as_nanos().max(1);
    Ok((next, u32::try_from(remaining).unwrap_or(u32::MAX)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// In any span of time, at most the burst and one request per interval are allowed; and a caller who keeps to the
        /// interval is never refused.
        #[test]
        fn no_span_of_time_has_more_than_the_burst_and_the_rate(
            burst in 1_u32..10,
            pauses in prop::collection::vec(0_u64..3_000, 1..200),
        ) {
            let rule = Rule::of("user", burst, Duration::from_millis(1_000));
            let (mut used_until, mut now, mut allowed) = (Duration::ZERO, Duration::ZERO, Vec::new());
            for pause in pauses {
                now += Duration::from_millis(pause);
                match step(&rule, used_until, now) {
                    Ok((next, _)) => {
                        used_until = next;
                        allowed.push(now);
                    }
                    Err(wait) => {
                        prop_assert!(wait > Duration::ZERO && wait <= rule.interval);
                        prop_assert!(step(&rule, used_until, now + wait).is_ok());
                    }
                }
            }
            for (first, begin) in allowed.iter().enumerate() {
                for (last, end) in allowed.iter().enumerate().skip(first) {
                    let most = u64::from(burst) + u64::try_from((*end - *begin).as_millis()).unwrap() / 1_000;
                    prop_assert!(u64::try_from(last - first + 1).unwrap() <= most);
                }
            }
            for pair in allowed.windows(2).filter(|pair| pair[1] - pair[0] >= rule.interval) {
                prop_assert!(pair[1] > pair[0]);
            }
        }
    }
}

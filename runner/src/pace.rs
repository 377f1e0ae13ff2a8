//! The pace of an attempt, and when it counts as stuck.

use std::time::Duration;

use tokio::time::Instant;

use crate::{engine::Steps, limits::Limits};

/// A step may take this multiple of its usual time.
const PATIENCE: u32 = 5;

/// The steps of an attempt.
pub(crate) struct Pace {
    /// When the steps last changed.
    changed: Instant,
    last: Option<Steps>,
    /// When the first steps were seen, and which.
    first: Option<(Instant, u32)>,
}

impl Pace {
    pub(crate) fn new(begun: Instant) -> Self {
        Self { changed: begun, last: None, first: None }
    }

    /// Takes note of the steps; none while the engine works on none, or does not answer. Returns for how long there has been
    /// no progress, if that is too long.
    pub(crate) fn hangs(&mut self, steps: Option<Steps>, now: Instant, limits: Limits) -> Option<Duration> {
        if let Some(steps) = steps.filter(|steps| self.last != Some(*steps)) {
            self.last = Some(steps);
            self.changed = now;
            self.first.get_or_insert((now, steps.step));
        }
        let still = now.duration_since(self.changed);
        let limit = match (self.first, self.last) {
            (Some((first, at)), Some(last)) => {
                let usual = self.changed.duration_since(first) / last.step.saturating_sub(at).max(1);
                limits.step.max(usual * PATIENCE)
            }
            _ => limits.start,
        };
        (still >= limit).then_some(still)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows steps at seconds. Returns when it hangs, in seconds, if nothing more comes.
    fn hangs_at(seen: &[(u64, u32)]) -> u64 {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let (mut pace, limits) = (Pace::new(begun), Limits::default());
        for (seconds, step) in seen {
            let steps = Some(Steps { step: *step, steps: 100 });
            assert_eq!(pace.hangs(steps, at(*seconds), limits), None);
        }
        let last = seen.last().map(|(_, step)| Steps { step: *step, steps: 100 });
        (0..3_000).find(|seconds| pace.hangs(last, at(*seconds), limits).is_some()).unwrap()
    }

    #[test]
    fn an_engine_hangs_after_a_minute_or_five_usual_steps() {
        assert_eq!(hangs_at(&[]), 600, "it may load a model");
        assert_eq!(hangs_at(&[(100, 0)]), 160);
        assert_eq!(hangs_at(&[(1, 0), (2, 1), (3, 2)]), 63);
        assert_eq!(hangs_at(&[(0, 0), (40, 1), (80, 2)]), 80 + 200);
        assert_eq!(hangs_at(&[(0, 0), (40, 4)]), 40 + 60, "four steps between two looks");
    }
}

//! How long jobs take: two quantiles, and the histogram they are learned from.

use super::Millis;

/// Quantiles of a duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Estimate {
    pub p50: Millis,
    pub p90: Millis,
}

impl Estimate {
    /// The estimate of a duration that is known.
    #[must_use]
    pub fn exactly(duration: Millis) -> Self {
        Self { p50: duration, p90: duration }
    }

    /// The duration below which `permille` of the jobs end: linear between five points. p10 is as far below p50 as p90 is
    /// above, by ratio.
    pub(super) fn quantile(self, permille: u64) -> Millis {
        let p10 = (self.p50 * self.p50 / self.p90.max(1)).min(self.p50);
        let line = |from: Millis, to: Millis, at: u64, length: u64| from + (to - from) * at / length;
        match permille {
            0..100 => line(p10 * p10 / self.p50.max(1), p10, permille, 100),
            100..500 => line(p10, self.p50, permille - 100, 400),
            500..900 => line(self.p50, self.p90, permille - 500, 400),
            _ => line(self.p90, self.p90 + (self.p90 - self.p50), permille.min(1_000) - 900, 100),
        }
    }
}

/// 100 ms to about 35 hours.
const BUCKETS: usize = 64;
/// A full histogram halves its counts, so that newer durations count more.
const FULL: u32 = 512;
/// With fewer durations than this there is no estimate.
const ENOUGH: u32 = 8;

/// Durations seen, in buckets that are each a quarter wider than the one before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    counts: [u32; BUCKETS],
    total: u32,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: [0; BUCKETS], total: 0 }
    }
}

impl Histogram {
    /// The upper end of a bucket: 100 ms × 1.25ⁿ, rounded.
    fn end(bucket: usize) -> Millis {
        (0..bucket).fold(100, |end, _| end + end / 4)
    }

    fn bucket(duration: Millis) -> usize {
        let mut end = 100;
        let mut bucket = 0;
        while end < duration && bucket + 1 < BUCKETS {
            end += end / 4;
            bucket += 1;
        }
        bucket
    }

    pub fn record(&mut self, duration: Millis) {
        if self.total >= FULL {
            self.counts.iter_mut().for_each(|count| *count /= 2);
            self.total = self.counts.iter().sum();
        }
        self.counts[Self::bucket(duration)] += 1;
        self.total += 1;
    }

    fn quantile(&self, permille: u32) -> Millis {
        let wanted = (u64::from(self.total) * u64::from(permille)).div_ceil(1_000).max(1);
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            if *count == 0 {
                continue;
            }
            let (end, before) = (Self::end(bucket), seen);
            seen += u64::from(*count);
            if seen >= wanted {
                let begin = if bucket == 0 { 0 } else { Self::end(bucket - 1) };
                return begin + (end - begin) * (wanted - before) / u64::from(*count);
            }
        }
        0
    }

    /// p50 and p90, or `None` with too few durations; callers then use a wider class. Rounded down to four
    /// binary digits, so that jobs of a class keep one shape while the histogram changes a little.
    #[must_use]
    pub fn estimate(&self) -> Option<Estimate> {
        let quantile = |permille| rounded(self.quantile(permille).max(1));
        (self.total >= ENOUGH).then(|| Estimate { p50: quantile(500), p90: quantile(900) })
    }
}

fn rounded(duration: Millis) -> Millis {
    let drop = (Millis::BITS - duration.leading_zeros()).saturating_sub(4);
    duration >> drop << drop
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_finds_quantiles_within_a_bucket() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.estimate(), None);
        for duration in 1..=400 {
            histogram.record(duration * 100);
        }
        let Estimate { p50, p90 } = histogram.estimate().unwrap();
        assert!(p50.abs_diff(20_000) < 5_000, "{p50}");
        assert!(p90.abs_diff(36_000) < 9_000, "{p90}");
    }

    #[test]
    fn a_histogram_follows_what_changes() {
        let mut histogram = Histogram::default();
        (0..2_000).for_each(|_| histogram.record(1_000));
        (0..2_000).for_each(|_| histogram.record(60_000));
        assert!(histogram.estimate().unwrap().p50 > 40_000);
    }

    #[test]
    fn quantiles_of_an_estimate_grow() {
        let estimate = Estimate { p50: 15_000, p90: 26_000 };
        let quantiles: Vec<_> = (0..=1_000).step_by(50).map(|permille| estimate.quantile(permille)).collect();
        assert!(quantiles.is_sorted(), "{quantiles:?}");
        assert_eq!((estimate.quantile(500), estimate.quantile(900)), (15_000, 26_000));
        assert_eq!(Estimate::exactly(7).quantile(999), 7);
    }
}

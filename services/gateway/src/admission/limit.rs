//! How many requests a service works on at a time, found from its own latency.
//!
//! Requests that began while the service was nearly idle show how long a route takes without load. While
//! requests take about as long, the limit grows when it is reached; when they take twice as long, the service
//! only queues them, and the limit shrinks. If the service itself becomes slower, its latency is learned
//! again, as it is nearly idle at the smallest limit.

use std::{collections::HashMap, time::Duration};

use axum::http::request::Parts;
use service::RouteName;
use tokio::time::Instant;

/// A service with at most this many requests counts as nearly idle.
const SMALLEST: f64 = 4.0;
const LARGEST: f64 = 1024.0;
const INITIAL: f64 = 32.0;
/// Weight of a new sample in the unloaded latency of a route.
const LEARNING: f64 = 0.05;
/// Shorter times differ only by chance.
const SHORTEST: f64 = 0.000_5;
/// A window of samples ends after this time, with enough samples.
const WINDOW: Duration = Duration::from_millis(100);
const SAMPLES: u32 = 10;
/// The largest slowness of one sample, and that of a request without a response.
const WORST: f64 = 10.0;
/// Slowness below which the limit may grow, and above the second of which it shrinks.
const AS_ALONE: f64 = 1.5;
const QUEUEING: f64 = 2.0;

/// Requests that take about the same time: reads or writes of one path template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Work {
    is_read: bool,
    template: &'static str,
}

impl Work {
    #[cfg(test)]
    pub(super) const TEST: Self = Self { is_read: true, template: "/v1/instances" };

    /// Returns none for a long poll (`wait_seconds`): its duration does not depend on the load of the service.
    pub(crate) fn of(request: &Parts) -> Option<Self> {
        let waits = request.uri.query().is_some_and(|query| query.contains("wait_seconds="));
        let template = request.extensions.get::<RouteName>().map_or("none", |name| name.0);
        (!waits).then(|| Self { is_read: request.method.is_safe(), template })
    }
}

/// The limit of one service.
pub(super) struct AdaptiveLimit {
    limit: f64,
    /// Unloaded latency of each route, in seconds.
    alone: HashMap<Work, f64>,
    window: Option<Window>,
}

struct Window {
    begun: Instant,
    samples: u32,
    slowness: f64,
    /// The most requests that were at the service.
    peak: usize,
}

impl Default for AdaptiveLimit {
    fn default() -> Self {
        Self { limit: INITIAL, alone: HashMap::new(), window: None }
    }
}

impl AdaptiveLimit {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 4 and 1024")]
    pub(super) fn get(&self) -> usize {
        self.limit as usize
    }

    /// The most requests of one share.
    pub(super) fn of_one_share(&self) -> usize {
        self.get() - (self.get() / 8).max(1)
    }

    /// Records a request that took `took`. `in_flight` is the number of requests at the service, itself included, when it
    /// began or when it ended, whichever is larger.
    pub(super) fn record(
        &mut self,
        work: Work,
        took: Duration,
        in_flight: usize,
        failed: bool,
        now: Instant,
    ) {
        let took = took.as_secs_f64().max(SHORTEST);
        let alone = self.alone.entry(work).or_insert(took);
        #[expect(clippy::cast_precision_loss, reason = "a small number")]
        let has_little_to_do = in_flight as f64 <= SMALLEST;
        if has_little_to_do && !failed {
            *alone += (took - *alone) * LEARNING;
        }
        let slowness = if failed { WORST } else { (took / *alone).min(WORST) };
        let window = self.window.get_or_insert(Window { begun: now, samples: 0, slowness: 0.0, peak: 0 });
        window.samples += 1;
        window.slowness += slowness;
        window.peak = window.peak.max(in_flight);
        if window.samples < SAMPLES || now.saturating_duration_since(window.begun) < WINDOW {
            return;
        }
        let (slowness, peak) = (window.slowness / f64::from(window.samples), window.peak);
        self.window = None;
        if slowness > QUEUEING {
            self.limit = (self.limit * (AS_ALONE / slowness).max(0.7)).max(SMALLEST);
        } else if slowness < AS_ALONE && peak >= self.of_one_share() {
            self.limit = (self.limit + (self.limit * 0.1).max(1.0)).min(LARGEST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A service that works on `cores` requests at a time, for a millisecond each; the rest queue in it.
    async fn simulate(limit: &mut AdaptiveLimit, cores: usize, alone: Duration, offered: usize, rounds: u32) {
        for _ in 0..rounds {
            let in_flight = offered.min(limit.get());
            let took = alone.mul_f64((in_flight as f64 / cores as f64).max(1.0));
            for _ in 0..in_flight {
                limit.record(Work::TEST, took, in_flight, false, Instant::now());
            }
            tokio::time::advance(took.max(Duration::from_millis(5))).await;
        }
    }

    const MILLISECOND: Duration = Duration::from_millis(1);

    #[tokio::test(start_paused = true)]
    async fn the_limit_finds_what_the_service_can_do() {
        let mut limit = AdaptiveLimit::default();
        simulate(&mut limit, 8, MILLISECOND, 2, 200).await;
        assert_eq!(limit.get(), 32, "without load there is nothing to learn");
        simulate(&mut limit, 8, MILLISECOND, 500, 3000).await;
        assert!((8..=24).contains(&limit.get()), "8 at a time: {}", limit.get());
        simulate(&mut limit, 64, MILLISECOND, 500, 3000).await;
        assert!((64..=192).contains(&limit.get()), "64 at a time: {}", limit.get());
    }

    #[tokio::test(start_paused = true)]
    async fn a_service_that_became_slower_by_itself_is_learned_anew() {
        let mut limit = AdaptiveLimit::default();
        simulate(&mut limit, 8, MILLISECOND, 500, 1000).await;
        simulate(&mut limit, 8, 10 * MILLISECOND, 500, 3000).await;
        assert!((8..=24).contains(&limit.get()), "{}", limit.get());
    }

    #[tokio::test(start_paused = true)]
    async fn requests_without_a_response_shrink_the_limit() {
        let mut limit = AdaptiveLimit::default();
        for _ in 0..500 {
            limit.record(Work::TEST, MILLISECOND, 5, true, Instant::now());
            tokio::time::advance(Duration::from_millis(20)).await;
        }
        assert_eq!(limit.get(), 4);
    }
}

//! The limit of one share's requests at a service while others have some, found from the latency of the others.
//!
//! The limit of the service ([`super::limit`]) lets requests take up to twice as long as without load,
//! regardless of their sender. Here, requests of a share that has no more requests at the service than the
//! others together are compared with the same share's requests while nothing else was at the service. While
//! they take longer, the limit of each share shrinks; otherwise it grows. A share without neighbours is not
//! limited.

use std::{collections::HashMap, time::Duration};

use tokio::time::Instant;

use super::{Share, limit::Work};

/// How long after its last request a share counts as a neighbour of the others.
const RECENT: Duration = Duration::from_secs(2);
const FEWEST: f64 = 1.0;
const MOST: f64 = 1024.0;
/// Initial limit: rather too low than too high.
const INITIAL: f64 = 2.0;
/// Slowness below which a share may have more requests, and above the second of which it may have fewer.
const UNNOTICED: f64 = 1.1;
const NOTICED: f64 = 1.2;
/// The largest slowness of one sample, and the shortest time that is compared: shorter ones differ only by
/// chance.
const WORST: f64 = 10.0;
const SHORTEST: f64 = 0.001;
/// A window of samples ends after this time, with enough samples.
const WINDOW: Duration = Duration::from_millis(100);
const SAMPLES: u32 = 5;
/// Weight of a new sample in the unloaded latency of a request.
const LEARNING: f64 = 0.1;
/// Maximum number of stored latencies. If there are more, all are measured again.
const REMEMBERED: usize = 20_000;

/// The requests at the service when one began or when it ended, whichever were more.
#[derive(Debug, Clone, Copy)]
pub(super) struct Company {
    /// Requests of the same share, including this one.
    pub(super) own: usize,
    pub(super) others: usize,
}

impl Company {
    pub(super) fn total(self) -> usize {
        self.own + self.others
    }

    pub(super) fn max(self, other: Self) -> Self {
        Self { own: self.own.max(other.own), others: self.others.max(other.others) }
    }
}

/// The limit of each share.
pub(super) struct Neighbours {
    most: f64,
    /// Unloaded latency of requests of a share, in seconds.
    alone: HashMap<(Share, Work), f64>,
    window: Option<Window>,
    /// The last request, and the last one of another share.
    last: Option<(Share, Instant)>,
    other: Option<(Share, Instant)>,
}

struct Window {
    begun: Instant,
    samples: u32,
    slowness: f64,
}

impl Default for Neighbours {
    fn default() -> Self {
        Self { most: INITIAL, alone: HashMap::new(), window: None, last: None, other: None }
    }
}

impl Neighbours {
    /// The most requests of one share, of at most `alone`, while these are at the service.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 1 and 1024")]
    pub(super) fn get(&self, alone: usize, in_flight: &HashMap<Share, usize>, now: Instant) -> usize {
        let is_recent = |(_, at): &(Share, Instant)| now.saturating_duration_since(*at) < RECENT;
        let recent = [self.last, self.other].into_iter().flatten().filter(is_recent).map(|(share, _)| share);
        let mut shares = in_flight.keys().copied().chain(recent);
        let has_neighbours = shares.next().is_some_and(|one| shares.any(|other| other != one));
        if has_neighbours { alone.min(self.most as usize) } else { alone }
    }

    /// A share has sent a request.
    pub(super) fn sent(&mut self, share: Share, now: Instant) {
        if let Some(last) = self.last
            && last.0 != share
        {
            self.other = Some(last);
        }
        self.last = Some((share, now));
    }

    /// Records a request of a share that took `took`, at a service that lets one share have at most `alone`.
    pub(super) fn record(
        &mut self,
        (share, work): (Share, Work),
        took: Duration,
        company: Company,
        alone: usize,
        now: Instant,
    ) {
        let took = took.as_secs_f64().max(SHORTEST);
        if company.others == 0 {
            if company.own == 1 {
                if self.alone.len() >= REMEMBERED {
                    self.alone.clear();
                }
                let known = self.alone.entry((share, work)).or_insert(took);
                *known += (took - *known) * LEARNING;
            }
            return;
        }
        // a share with most of the requests slows itself down
        if company.own > company.others {
            return;
        }
        let Some(known) = self.alone.get(&(share, work)) else { return };
        let window = self.window.get_or_insert(Window { begun: now, samples: 0, slowness: 0.0 });
        window.samples += 1;
        window.slowness += (took / known).min(WORST);
        if window.samples < SAMPLES || now.saturating_duration_since(window.begun) < WINDOW {
            return;
        }
        let slowness = window.slowness / f64::from(window.samples);
        self.window = None;
        #[expect(clippy::cast_precision_loss, reason = "a small number")]
        let present = self.most.min(alone as f64);
        if slowness > NOTICED {
            self.most = (present * (UNNOTICED / slowness).max(0.5)).max(FEWEST);
        } else if slowness < UNNOTICED {
            self.most = (present + (present * 0.1).max(0.5)).min(MOST);
        }
    }
}

#[cfg(test)]
mod tests {
    use ids::TenantId;

    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    fn share() -> Share {
        Share::Tenant(TenantId::new())
    }

    /// A service that works on `cores` requests at a time, for 5 ms each; the rest queue in it. One share always has as many requests
    /// there as it may, up to `offered`; the other has one every 20 ms. Returns how slow its last ones are in the mean.
    async fn simulate(
        limit: &mut Neighbours,
        (heavy, light): (Share, Share),
        cores: usize,
        offered: usize,
    ) -> f64 {
        let mut slowness = 0.0;
        for n in 0..500 {
            limit.sent(heavy, Instant::now());
            limit.sent(light, Instant::now());
            let others = get(limit, offered);
            let took = (5 * MILLISECOND).mul_f64(((others + 1) as f64 / cores as f64).max(1.0));
            if n >= 400 {
                slowness += took.as_secs_f64() / 0.005 / 100.0;
            }
            let company = Company { own: 1, others };
            limit.record((light, Work::TEST), took, company, offered, Instant::now());
            limit.record(
                (heavy, Work::TEST),
                took,
                Company { own: others, others: 1 },
                offered,
                Instant::now(),
            );
            tokio::time::advance(20 * MILLISECOND).await;
        }
        slowness
    }

    /// The limit while nothing is at the service.
    fn get(limit: &Neighbours, alone: usize) -> usize {
        limit.get(alone, &HashMap::new(), Instant::now())
    }

    fn learn(limit: &mut Neighbours, light: Share) {
        let company = Company { own: 1, others: 0 };
        limit.record((light, Work::TEST), 5 * MILLISECOND, company, 28, Instant::now());
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_many_requests_may_have_as_many_as_the_others_do_not_notice() {
        for (cores, fewest, most) in [(2, 1, 2), (16, 10, 20), (64, 28, 28)] {
            let (mut limit, heavy, light) = (Neighbours::default(), share(), share());
            learn(&mut limit, light);
            let slowness = simulate(&mut limit, (heavy, light), cores, 28).await;
            let got = get(&limit, 28);
            assert!((fewest..=most).contains(&got), "{cores} cores: {got}");
            assert!(slowness < 1.25, "{cores} cores: {slowness}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_is_limited_without_neighbours() {
        let (mut limit, heavy, light) = (Neighbours::default(), share(), share());
        learn(&mut limit, light);
        simulate(&mut limit, (heavy, light), 2, 28).await;
        assert!(get(&limit, 28) < 3);
        tokio::time::advance(RECENT).await;
        limit.sent(heavy, Instant::now());
        limit.sent(heavy, Instant::now());
        assert_eq!(get(&limit, 28), 28, "the other one has gone");
        limit.sent(light, Instant::now());
        assert!(get(&limit, 28) < 3, "it is back");
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_never_alone_says_nothing() {
        let (mut limit, heavy, light) = (Neighbours::default(), share(), share());
        simulate(&mut limit, (heavy, light), 2, 28).await;
        assert_eq!(get(&limit, 28), 2);
    }
}

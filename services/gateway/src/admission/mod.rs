//! Admission of requests to a service: how many are processed at the same time, and which request is next at
//! the limit.
//!
//! Each service has a [`Gate`]. It admits requests up to a limit that follows the service's own latency ([`limit`]).
//! Further requests wait in a queue that is fair between tenants and ranks urgent requests before others ([`queue`]); a
//! request that has waited for as long as its class allows, or finds the queue full, is shed.

mod class;
mod limit;
mod neighbours;
mod queue;

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use ids::TenantId;
use tokio::{sync::oneshot, time::Instant};

pub(crate) use self::{class::Class, limit::Work};
use self::{
    limit::AdaptiveLimit,
    neighbours::{Company, Neighbours},
    queue::FairQueue,
};

/// Requests of all tenants that wait for one service.
const MOST_WAITING: usize = 4096;
/// Requests of one tenant that wait for one service.
const MOST_WAITING_OF_TENANT: usize = 256;

/// The share of a service to which a request belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Share {
    /// Members of a tenant.
    Tenant(TenantId),
    /// Callers without a tenant: administrators, and callers who are not signed in.
    Platform,
}

/// The request was not admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Shed {
    #[error("too many requests wait")]
    Full,
    #[error("the request waited for too long")]
    TimedOut,
}

/// The work of a service.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    /// Requests at the service.
    pub(crate) in_flight: usize,
    /// The most requests at the service.
    pub(crate) limit: usize,
    /// The most of one share, now.
    pub(crate) of_one_share: usize,
    /// Requests that wait.
    pub(crate) waiting: usize,
    /// Requests that were shed since the start.
    pub(crate) shed: usize,
}

/// The admission to one service. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    limit: AdaptiveLimit,
    neighbours: Neighbours,
    in_flight: usize,
    of_share: HashMap<Share, usize>,
    waiting: FairQueue<oneshot::Sender<Permit>>,
    shed: usize,
}

/// The right of one request to be at the service. Ends when it is dropped.
pub(crate) struct Permit {
    gate: Gate,
    share: Share,
    begun: Instant,
    /// Requests at the service when this one began.
    company: Company,
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.load().fmt(f)
    }
}

impl Gate {
    /// Waits until the request may be sent, for as long as its class allows.
    ///
    /// # Errors
    /// If it is shed.
    pub(crate) async fn enter(&self, class: Class, share: Share) -> Result<Permit, Shed> {
        let (mut receiver, ticket) = {
            let mut state = self.lock();
            state.neighbours.sent(share, Instant::now());
            if state.waiting.is_empty() && state.has_room(share) {
                return Ok(self.permit(&mut state, share));
            }
            if state.waiting.len() >= MOST_WAITING || state.waiting.len_of(share) >= MOST_WAITING_OF_TENANT {
                state.shed += 1;
                return Err(Shed::Full);
            }
            let (sender, receiver) = oneshot::channel();
            let in_flight = state.of_share.get(&share).copied().unwrap_or(0);
            (receiver, state.waiting.push(class, share, in_flight, sender))
        };
        self.admit();
        let entered = tokio::time::timeout(class.patience(), &mut receiver).await;
        if let Ok(Ok(permit)) = entered {
            return Ok(permit);
        }
        let mut state = self.lock();
        state.waiting.remove(class, share, ticket);
        // it may have been admitted at the last moment
        receiver.try_recv().map_err(|_| {
            state.shed += 1;
            Shed::TimedOut
        })
    }

    pub(crate) fn load(&self) -> Load {
        let state = self.lock();
        Load {
            in_flight: state.in_flight,
            limit: state.limit.get(),
            of_one_share: state.of_one_share(),
            waiting: state.waiting.len(),
            shed: state.shed,
        }
    }

    /// Admits waiting requests while there is room.
    fn admit(&self) {
        loop {
            let mut state = self.lock();
            let Some((share, sender)) = state.next() else { return };
            let permit = self.permit(&mut state, share);
            // a dropped receiver drops its permit, which takes the lock
            drop(state);
            drop(sender.send(permit));
        }
    }

    fn permit(&self, state: &mut State, share: Share) -> Permit {
        state.in_flight += 1;
        *state.of_share.entry(share).or_default() += 1;
        state.changed(share);
        Permit { gate: self.clone(), share, begun: Instant::now(), company: state.company(share) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// A share alone never takes the last places, so that the first request of another share is admitted at
    /// once.
    fn has_room(&self, share: Share) -> bool {
        let own = self.of_share.get(&share).copied().unwrap_or(0);
        self.in_flight < self.limit.get() && own < self.of_one_share()
    }

    fn of_one_share(&self) -> usize {
        self.neighbours.get(self.limit.of_one_share(), &self.of_share, Instant::now())
    }

    fn company(&self, share: Share) -> Company {
        let own = self.of_share.get(&share).copied().unwrap_or(0);
        Company { own, others: self.in_flight - own }
    }

    fn next(&mut self) -> Option<(Share, oneshot::Sender<Permit>)> {
        if self.in_flight >= self.limit.get() {
            return None;
        }
        self.waiting.pop(self.of_one_share())
    }

    /// Tells the queue how many requests of the share are at the service.
    fn changed(&mut self, share: Share) {
        let in_flight = self.of_share.get(&share).copied().unwrap_or(0);
        if in_flight == 0 {
            self.of_share.remove(&share);
        }
        self.waiting.set_in_flight(share, in_flight);
    }
}

impl Permit {
    /// Ends the request with the latency that the limit follows. `failed` is whether the service did not respond.
    pub(crate) fn answered(self, work: Work, failed: bool) {
        let took: Duration = self.begun.elapsed();
        let mut state = self.gate.lock();
        let (now, then, since) = (Instant::now(), state.company(self.share), self.company);
        state.limit.record(work, took, since.total().max(then.total()), failed, now);
        if !failed {
            let most = state.limit.of_one_share();
            state.neighbours.record((self.share, work), took, since.max(then), most, now);
        }
        // `self` is dropped after the lock
        drop(state);
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut state = self.gate.lock();
        state.in_flight -= 1;
        if let Some(own) = state.of_share.get_mut(&self.share) {
            *own -= 1;
        }
        let share = self.share;
        state.changed(share);
        let idle = state.waiting.is_empty();
        drop(state);
        if !idle {
            self.gate.admit();
        }
    }
}

#[cfg(test)]
mod tests {
    use ids::TenantId;

    use super::*;

    fn tenant() -> Share {
        Share::Tenant(TenantId::new())
    }

    /// Enters until the gate is full for `share`.
    async fn fill(gate: &Gate, share: Share) -> Vec<Permit> {
        let mut permits = Vec::new();
        while gate.lock().has_room(share) {
            permits.push(gate.enter(Class::Ordinary, share).await.unwrap());
        }
        permits
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_request_of_another_tenant_enters_at_once() {
        let (gate, heavy) = (Gate::default(), tenant());
        let _held = fill(&gate, heavy).await;
        assert_eq!(gate.enter(Class::Ordinary, heavy).await.err(), Some(Shed::TimedOut));
        let begun = Instant::now();
        let _permit = gate.enter(Class::Background, tenant()).await.unwrap();
        assert_eq!(begun.elapsed(), Duration::ZERO);
    }

    /// A request that the service answers after this time.
    async fn answered(gate: &Gate, share: Share, after: Duration) {
        let permit = gate.enter(Class::Ordinary, share).await.unwrap();
        tokio::time::advance(after).await;
        permit.answered(Work::TEST, false);
    }

    #[tokio::test(start_paused = true)]
    async fn a_tenant_has_no_more_requests_at_the_service_than_others_bear() {
        let (gate, heavy, light) = (Gate::default(), tenant(), tenant());
        for _ in 0..10 {
            answered(&gate, light, Duration::from_millis(5)).await;
        }
        let mut held = fill(&gate, heavy).await;
        assert_eq!(held.len(), 2);
        for _ in 0..60 {
            answered(&gate, light, Duration::from_millis(50)).await;
        }
        assert_eq!(gate.load().of_one_share, 1);
        held.truncate(1);
        let waits = gate.enter(Class::Urgent, heavy);
        tokio::pin!(waits);
        assert!(futures::poll!(waits.as_mut()).is_pending());
        // the other one enters beside those that wait, and while it notices nothing they may enter, too
        for _ in 0..100 {
            answered(&gate, light, Duration::from_millis(5)).await;
        }
        assert!(futures::poll!(waits.as_mut()).is_ready());
        assert!(gate.load().of_one_share > 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_gives_up_leaves_nothing_behind() {
        let (gate, heavy) = (Gate::default(), tenant());
        let held = fill(&gate, heavy).await;
        assert_eq!(gate.enter(Class::Background, heavy).await.err(), Some(Shed::TimedOut));
        {
            let waiting = gate.enter(Class::Urgent, heavy);
            tokio::pin!(waiting);
            assert!(futures::poll!(waiting.as_mut()).is_pending());
        }
        drop(held);
        assert_eq!(gate.load().in_flight, 0);
        let _permit = gate.enter(Class::Ordinary, heavy).await.unwrap();
        assert_eq!(gate.load().in_flight, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_queue_sheds_at_once_and_only_the_tenant_that_filled_it() {
        let (gate, heavy) = (Gate::default(), tenant());
        let mut held = fill(&gate, heavy).await;
        let mut others = fill(&gate, tenant()).await;
        others.extend(fill(&gate, tenant()).await);
        let waiting: Vec<_> = (0..MOST_WAITING_OF_TENANT)
            .map(|_| {
                let gate = gate.clone();
                tokio::spawn(async move { gate.enter(Class::Urgent, heavy).await.map(drop) })
            })
            .collect();
        while gate.load().waiting < MOST_WAITING_OF_TENANT {
            tokio::task::yield_now().await;
        }
        assert_eq!(gate.enter(Class::Urgent, heavy).await.err(), Some(Shed::Full));
        let light = tenant();
        let entering = tokio::spawn({
            let gate = gate.clone();
            async move { gate.enter(Class::Ordinary, light).await.map(drop) }
        });
        while gate.load().waiting <= MOST_WAITING_OF_TENANT {
            tokio::task::yield_now().await;
        }
        drop(others);
        assert_eq!(entering.await.unwrap(), Ok(()), "it is not behind those of the heavy tenant");
        held.clear();
        for one in waiting {
            assert_eq!(one.await.unwrap(), Ok(()));
        }
        assert_eq!((gate.load().in_flight, gate.load().waiting), (0, 0));
    }
}

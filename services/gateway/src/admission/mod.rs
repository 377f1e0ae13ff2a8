//! Admission of requests to a service: how many it works on at a time, and who is next when it works on as many as it
//! can.
//!
//! Each service has a [`Gate`]. It admits requests up to a limit that follows the service's own latency ([`limit`]).
//! Further requests wait in a queue that is fair between tenants and ranks urgent requests before others ([`queue`]); a
//! request that has waited for as long as its class allows, or finds the queue full, is shed.

mod class;
mod limit;
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
use self::{limit::AdaptiveLimit, queue::FairQueue};

/// Requests of all tenants that wait for one service.
const MOST_WAITING: usize = 4096;
/// Requests of one tenant that wait for one service.
const MOST_WAITING_OF_TENANT: usize = 256;

/// Whose share of a service a request takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Share {
    /// Members of a tenant.
    Tenant(TenantId),
    /// Callers without a tenant: administrators, and whoever is not signed in.
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

/// What a service has to do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    /// Requests at the service.
    pub(crate) in_flight: usize,
    /// The most requests at the service.
    pub(crate) limit: usize,
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
    /// Requests at the service when this one began, itself included.
    in_flight: usize,
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
            waiting: state.waiting.len(),
            shed: state.shed,
        }
    }

    /// Lets requests enter that wait, as long as there is room.
    fn admit(&self) {
        loop {
            let mut state = self.lock();
            let Some((share, sender)) = state.next() else { return };
            let permit = self.permit(&mut state, share);
            // a receiver that is gone drops its permit, which takes the lock
            drop(state);
            drop(sender.send(permit));
        }
    }

    fn permit(&self, state: &mut State, share: Share) -> Permit {
        state.in_flight += 1;
        *state.of_share.entry(share).or_default() += 1;
        state.changed(share);
        Permit { gate: self.clone(), share, begun: Instant::now(), in_flight: state.in_flight }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// A share never takes the last places alone, so that the first request of another one enters at once.
    fn has_room(&self, share: Share) -> bool {
        let own = self.of_share.get(&share).copied().unwrap_or(0);
        self.in_flight < self.limit.get() && own < self.limit.of_one_share()
    }

    fn next(&mut self) -> Option<(Share, oneshot::Sender<Permit>)> {
        if self.in_flight >= self.limit.get() {
            return None;
        }
        self.waiting.pop(self.limit.of_one_share())
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
        let in_flight = self.in_flight.max(state.in_flight);
        state.limit.record(work, took, in_flight, failed, Instant::now());
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
        let others = fill(&gate, tenant()).await;
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

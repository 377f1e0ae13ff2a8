//! Faults: parts of the cluster that are stopped, as a kill of their processes would do. All parts share one process and
//! one store, so each of them asks here before it reads or writes.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use objects::store::{Event, Feed};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// A part of the cluster that can be stopped and started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// While it is stopped, connections break, and no other part can read or write. Processes of pods keep running.
    ApiServer,
    Scheduler,
    /// All controllers, as in one kube-controller-manager.
    Controllers,
    /// The kubelet of a node. Its pods keep running, but it reports nothing and notices nothing.
    Kubelet(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Scheduler {
    #[default]
    Running,
    /// Started, but it has not read the objects yet.
    Starting,
    Stopped,
    /// Exited after an inconsistency in its cache (see `scheduler/mod.rs`).
    Dead,
}

#[derive(Debug, Clone, Default)]
struct State {
    api_stopped: bool,
    /// Number of restarts.
    api_returns: u64,
    controllers_stopped: bool,
    scheduler: Scheduler,
    silent: HashSet<String>,
}

impl State {
    /// Whether the part runs and reaches the API server.
    fn reaches(&self, part: &Part) -> bool {
        !self.api_stopped
            && match part {
                Part::ApiServer => true,
                Part::Scheduler => matches!(self.scheduler, Scheduler::Running | Scheduler::Starting),
                Part::Controllers => !self.controllers_stopped,
                Part::Kubelet(node) => !self.silent.contains(node),
            }
    }
}

/// The stopped parts.
#[derive(Default)]
pub(crate) struct Faults {
    state: watch::Sender<State>,
    /// Cancelled when the API server is stopped.
    connections: Mutex<CancellationToken>,
}

impl Faults {
    /// Stops a part. With the store locked, nothing that the part has begun follows.
    pub(crate) fn stop(&self, part: &Part) {
        self.state.send_modify(|state| match part {
            Part::ApiServer => state.api_stopped = true,
            Part::Scheduler => state.scheduler = Scheduler::Stopped,
            Part::Controllers => state.controllers_stopped = true,
            Part::Kubelet(node) => drop(state.silent.insert(node.clone())),
        });
        if *part == Part::ApiServer {
            self.connections().cancel();
        }
    }

    pub(crate) fn start(&self, part: &Part) {
        if *part == Part::ApiServer {
            *self.connections() = CancellationToken::new();
        }
        self.state.send_modify(|state| match part {
            Part::ApiServer => {
                state.api_stopped = false;
                state.api_returns += 1;
            }
            Part::Scheduler => match state.scheduler {
                Scheduler::Stopped | Scheduler::Dead => state.scheduler = Scheduler::Starting,
                Scheduler::Running | Scheduler::Starting => {}
            },
            Part::Controllers => state.controllers_stopped = false,
            Part::Kubelet(node) => drop(state.silent.remove(node)),
        });
    }

    /// The scheduler has read the objects.
    pub(crate) fn scheduler_has_started(&self) {
        self.state.send_if_modified(|state| {
            let starting = state.scheduler == Scheduler::Starting;
            if starting {
                state.scheduler = Scheduler::Running;
            }
            starting
        });
    }

    /// The scheduler has exited.
    pub(crate) fn scheduler_has_died(&self) {
        self.state.send_modify(|state| state.scheduler = Scheduler::Dead);
    }

    /// Started; has not listed the objects yet.
    pub(crate) fn scheduler_is_starting(&self) -> bool {
        self.state.borrow().scheduler == Scheduler::Starting
    }

    /// Number of times that the API server has returned after an outage.
    pub(crate) fn api_returns(&self) -> u64 {
        self.state.borrow().api_returns
    }

    pub(crate) fn scheduler_is_running(&self) -> bool {
        self.state.borrow().scheduler == Scheduler::Running
    }

    /// Completes when the scheduler has read the objects, has exited or was stopped.
    pub(crate) async fn scheduler_start(&self) {
        // the sender lives as long as self
        let _ = self.state.subscribe().wait_for(|state| state.scheduler != Scheduler::Starting).await;
    }

    /// Whether the part runs and reaches the API server.
    pub(crate) fn reaches(&self, part: &Part) -> bool {
        self.state.borrow().reaches(part)
    }

    /// Whether the kubelet of a node reaches the API server.
    pub(crate) fn kubelet_reaches(&self, node: &str) -> bool {
        let state = self.state.borrow();
        !state.api_stopped && !state.silent.contains(node)
    }

    /// Completes when the part reaches the API server, or when it does not.
    pub(crate) async fn until(&self, part: &Part, reaches: bool) {
        let _ = self.state.subscribe().wait_for(|state| state.reaches(part) == reaches).await;
    }

    /// Follows the changes; see [`Changes::next`].
    pub(crate) fn follow(&self) -> Changes {
        Changes(self.state.subscribe())
    }

    /// The next change of a feed for a part, while the part reaches the API server. Cancel-safe.
    pub(crate) async fn next(&self, part: &Part, feed: &mut Feed) -> Event {
        loop {
            self.until(part, true).await;
            tokio::select! {
                biased;
                () = self.until(part, false) => {}
                event = feed.next() => return event,
            }
        }
    }

    /// The token that breaks the connections accepted now.
    pub(crate) fn connection(&self) -> CancellationToken {
        self.connections().clone()
    }

    fn connections(&self) -> std::sync::MutexGuard<'_, CancellationToken> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells that a part was stopped or started.
pub(crate) struct Changes(watch::Receiver<State>);

impl Changes {
    /// Waits for a change. Cancel-safe.
    pub(crate) async fn next(&mut self) {
        // the sender lives as long as the cluster
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

//! The life of one replica: watch always, lead when the lease is ours, work while leading.

use std::sync::Arc;
use std::time::Duration;

use crds::{GpuUnit, names};
use jiff::Timestamp;
use kube::Client;
use kube::ResourceExt as _;
use kube::runtime::events::{Recorder, Reporter};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::apply::{Applier, ApplyError, Hook};
use super::cache::{Cache, Key};
use super::leader::{Candidate, Fence, LeaseSettings};
use super::metrics::Metrics;
use super::queue::Queue;
use super::reconcile::Reconciler;
use super::system;
use super::watch::Watches;
use crate::settings::Settings;

/// How a replica runs.
#[derive(Clone)]
pub struct Options {
    /// Its name in the election; must differ between replicas.
    pub identity: String,
    /// How many objects are looked at at a time.
    pub workers: usize,
    /// The lease.
    pub lease: LeaseSettings,
    /// Where the time comes from.
    pub clock: fn() -> Timestamp,
    /// For tests: asked around every write.
    pub hook: Option<Hook>,
}

/// What a replica knows of the units, as its watch has told.
#[derive(Clone)]
pub struct Units(Cache);

impl Units {
    /// All of them.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<GpuUnit>> {
        self.0.units()
    }

    /// Those of a specification that were made through the Operator API.
    #[must_use]
    pub fn made_here(&self, spec: &str) -> Vec<Arc<GpuUnit>> {
        let mut units = self.all();
        units.retain(|unit| {
            let by = unit.labels().get(names::LABEL_MANAGED_BY);
            unit.spec.gpu_spec == spec && by.is_some_and(|by| by == names::MANAGED_BY_OPERATOR_API)
        });
        units
    }
}

/// One replica of the operator.
pub struct Operator {
    client: Client,
    options: Options,
    cache: Cache,
    queue: Arc<Queue<Key>>,
    metrics: Metrics,
    fence: Fence,
    settings: Arc<Settings>,
    leads: watch::Sender<bool>,
}

impl Operator {
    /// A replica that does not run yet.
    #[must_use]
    pub fn new(client: Client, settings: Settings, options: Options, metrics: Metrics) -> Self {
        Self {
            client,
            options,
            cache: Cache::default(),
            queue: Arc::new(Queue::new()),
            metrics,
            fence: Fence::default(),
            settings: Arc::new(settings),
            leads: watch::Sender::new(false),
        }
    }

    /// What this replica knows of the units, whether it leads or not.
    #[must_use]
    pub fn units(&self) -> Units {
        Units(self.cache.clone())
    }

    /// Tells whether this replica leads.
    #[must_use]
    pub fn leads(&self) -> watch::Receiver<bool> {
        self.leads.subscribe()
    }

    /// Runs until `shutdown`, then gives the lease back. Dropping the future is as good as killing the
    /// process: nothing is given back and nothing more is written.
    pub async fn run(self, shutdown: CancellationToken) {
        let mut watching = JoinSet::new();
        let watches = Watches {
            client: self.client.clone(),
            cache: self.cache.clone(),
            queue: Arc::clone(&self.queue),
            metrics: self.metrics.clone(),
            clock: self.options.clock,
        };
        let synced = watches.start(&mut watching);
        let mut candidate = Candidate::new(
            self.client.clone(),
            self.options.lease.clone(),
            self.options.identity.clone(),
            self.fence.clone(),
            self.options.clock,
        );
        while !shutdown.is_cancelled() {
            let held = match candidate.try_hold().await {
                Ok(held) => held,
                Err(error) => {
                    // the namespace of the lease may not exist yet on a new cluster
                    if matches!(&error, kube::Error::Api(status) if status.code == 404)
                        && let Err(error) = system::ensure(&self.client).await
                    {
                        tracing::warn!(%error, "system objects not ready");
                    }
                    tracing::warn!(%error, "lease not available");
                    false
                }
            };
            if held {
                tracing::info!(identity = self.options.identity, "leading");
                if self.lead(&mut candidate, &synced, &shutdown).await == Ended::Killed {
                    return;
                }
                tracing::info!(identity = self.options.identity, "not leading any more");
            } else {
                let pause = candidate.pace().min(Duration::from_secs(1));
                tokio::select! {
                    () = tokio::time::sleep(pause) => {}
                    () = shutdown.cancelled() => {}
                }
            }
        }
        if let Err(error) = candidate.give_back().await {
            tracing::warn!(%error, "lease not given back");
        }
    }

    /// Works while the lease can be renewed.
    async fn lead(
        &self,
        candidate: &mut Candidate,
        synced: &[watch::Receiver<bool>],
        shutdown: &CancellationToken,
    ) -> Ended {
        let work = self.work(synced.to_vec());
        tokio::pin!(work);
        self.metrics.leads(true);
        let ended = loop {
            tokio::select! {
                () = &mut work => break Ended::Killed,
                () = shutdown.cancelled() => break Ended::Lost,
                () = tokio::time::sleep(candidate.pace()) => {}
            }
            let in_time = self.fence.is_open();
            let renewed = tokio::select! {
                () = &mut work => break Ended::Killed,
                renewed = tokio::time::timeout(candidate.pace(), candidate.try_hold()) => renewed,
            };
            match renewed {
                Ok(Ok(true)) if in_time => {}
                Ok(Ok(true)) => self.cache.begin((self.options.clock)()),
                Ok(Ok(false)) => break Ended::Lost,
                // the fence stays open for as long as nobody else can have taken the lease
                Ok(Err(error)) if self.fence.is_open() => {
                    tracing::warn!(%error, "lease not renewed, trying again");
                }
                Err(_) if self.fence.is_open() => tracing::warn!("lease not renewed in time, trying again"),
                Ok(Err(_)) | Err(_) => break Ended::Lost,
            }
        };
        candidate.stop_writing();
        self.leads.send_replace(false);
        self.metrics.leads(false);
        ended
    }

    /// Keeps the workers busy; ends only when a hook kills one. Dropping it stops all of them.
    async fn work(&self, synced: Vec<watch::Receiver<bool>>) {
        for mut told in synced {
            // an error means that the watch task is gone, and with it the runtime
            if told.wait_for(|synced| *synced).await.is_err() {
                return;
            }
        }
        while let Err(error) = system::ensure(&self.client).await {
            tracing::warn!(%error, "system objects not ready, trying again");
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        self.cache.begin((self.options.clock)());
        self.leads.send_replace(true);
        self.queue.reset();
        for key in self.cache.keys() {
            self.queue.add(key);
        }
        let reporter = Reporter {
            controller: crds::names::MANAGER_OPERATOR.to_owned(),
            instance: Some(self.options.identity.clone()),
        };
        let reconciler = Reconciler {
            applier: Applier {
                client: self.client.clone(),
                cache: self.cache.clone(),
                settings: Arc::clone(&self.settings),
                metrics: self.metrics.clone(),
                fence: self.fence.clone(),
                hook: self.options.hook.clone(),
            },
            recorder: Recorder::new(self.client.clone(), reporter),
            clock: self.options.clock,
        };
        let mut workers = JoinSet::new();
        for _ in 0..self.options.workers.max(1) {
            workers.spawn(worker(reconciler.clone(), Arc::clone(&self.queue), self.metrics.clone()));
        }
        // a worker ends only when it is killed
        workers.join_next().await;
    }
}

#[derive(PartialEq, Eq)]
enum Ended {
    Lost,
    Killed,
}

async fn worker(reconciler: Reconciler, queue: Arc<Queue<Key>>, metrics: Metrics) {
    loop {
        let key = queue.next().await;
        metrics.queue_depth(queue.depth());
        let begun = tokio::time::Instant::now();
        let result = reconciler.look(&key).await;
        let kind = match &key {
            Key::Unit(_) => "unit",
            Key::Storage(_) => "storage",
            Key::Tenant(_) => "tenant",
        };
        metrics.reconciled(kind, matches!(result, Err(ApplyError::Api(_))), begun.elapsed());
        match result {
            Ok(again) => {
                queue.done(&key);
                if let Some(after) = again {
                    queue.add_after(key, after);
                }
            }
            Err(ApplyError::Killed) => return,
            Err(ApplyError::Stale) => {
                tracing::debug!(?key, "changed meanwhile, deciding anew");
                queue.failed(&key);
            }
            Err(ApplyError::Fenced) => queue.failed(&key),
            Err(error) => {
                tracing::warn!(?key, %error, "failed, trying again");
                queue.failed(&key);
            }
        }
    }
}

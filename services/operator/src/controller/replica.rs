//! One replica of the operator: its tasks and what they share.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use crds::{GpuUnit, names};
use futures::FutureExt as _;
use jiff::Timestamp;
use kube::Client;
use kube::ResourceExt as _;
use kube::runtime::events::{Recorder, Reporter};
use plans::settings::Settings;
use service::{Duty, Task, Tracer, panic_message};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::apply::{Applier, Hook, WriteError};
use super::cache::{Cache, Key};
use super::election::{Election, Fence, LeaseSettings};
use super::metrics::{Metrics, ReconcileResult};
use super::queue::Queue;
use super::reconcile::{Outcome, Reconciler};
use super::system;
use super::watch::{Synced, Watches};

/// How a replica runs.
#[derive(Clone)]
pub struct Options {
    /// Name of the replica in the election, unique among replicas.
    pub identity: String,
    /// Number of objects that are reconciled at the same time.
    pub concurrency: usize,
    /// The lease of the election.
    pub lease: LeaseSettings,
    /// Source of the time.
    pub clock: fn() -> Timestamp,
    /// Called around every write, for tests.
    pub hook: Option<Hook>,
    /// Spans of reconciles.
    pub tracer: Tracer,
}

/// The units as the watch of this replica has seen them.
#[derive(Clone)]
pub struct Units(Cache);

impl Units {
    /// All units.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<GpuUnit>> {
        self.0.units()
    }

    /// The units of a specification that were created through the Operator API.
    #[must_use]
    pub fn created_by_api(&self, spec: &str) -> Vec<Arc<GpuUnit>> {
        let mut units = self.all();
        units.retain(|unit| {
            let by = unit.labels().get(names::LABEL_MANAGED_BY);
            unit.spec.gpu_spec == spec && by.is_some_and(|by| by == names::MANAGED_BY_OPERATOR_API)
        });
        units
    }
}

/// One replica of the operator. Clones share its state.
#[derive(Clone)]
pub struct Replica(Arc<Inner>);

struct Inner {
    client: Client,
    options: Options,
    settings: Arc<Settings>,
    metrics: Metrics,
    cache: Cache,
    queue: Arc<Queue<Key>>,
    fence: Fence,
    leads: watch::Sender<bool>,
    synced: Synced,
}

impl Replica {
    /// A replica without workers.
    #[must_use]
    pub fn new(client: Client, settings: Settings, options: Options, metrics: Metrics) -> Self {
        Self(Arc::new(Inner {
            client,
            options,
            settings: Arc::new(settings),
            metrics,
            cache: Cache::default(),
            queue: Arc::new(Queue::new()),
            fence: Fence::default(),
            leads: watch::Sender::new(false),
            synced: Synced::default(),
        }))
    }

    /// The units that this replica has seen, whether it leads or not.
    #[must_use]
    pub fn units(&self) -> Units {
        Units(self.0.cache.clone())
    }

    /// Whether this replica leads.
    #[must_use]
    pub fn leads(&self) -> watch::Receiver<bool> {
        self.0.leads.subscribe()
    }

    /// Whether every watch has had its first complete list.
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.0.synced.is_complete()
    }

    /// The tasks: a watch of each kind, the election, and the reconciliation of what is queued.
    #[must_use]
    pub fn tasks(&self) -> Vec<Task> {
        let this = &self.0;
        let watches = Watches {
            client: this.client.clone(),
            cache: this.cache.clone(),
            queue: Arc::clone(&this.queue),
            metrics: this.metrics.clone(),
            clock: this.options.clock,
            synced: this.synced.clone(),
        };
        let election = Election {
            client: this.client.clone(),
            settings: this.options.lease.clone(),
            identity: this.options.identity.clone(),
            fence: this.fence.clone(),
            cache: this.cache.clone(),
            metrics: this.metrics.clone(),
            clock: this.options.clock,
            leads: this.leads.clone(),
        };
        let mut tasks = watches.tasks();
        tasks.push(Task::until_stop("election", Duty::Reconcile, &election, Election::run));
        tasks.push(Task::until_stop("objects", Duty::Reconcile, self, Self::reconcile));
        tasks
    }

    /// Reconciles while this replica leads, until `shutdown`.
    async fn reconcile(self, shutdown: CancellationToken) -> anyhow::Result<()> {
        let mut leads = self.leads();
        loop {
            tokio::select! {
                () = shutdown.cancelled() => return Ok(()),
                led = leads.wait_for(|leads| *leads) => drop(led?),
            }
            tokio::select! {
                () = shutdown.cancelled() => return Ok(()),
                lost = leads.wait_for(|leads| !*leads) => drop(lost?),
                failed = self.0.reconcile_queued() => failed?,
            }
        }
    }
}

impl Inner {
    /// Reconciles everything once, then whatever is queued. Ends only with an error; dropping the future aborts the
    /// reconciles in progress.
    async fn reconcile_queued(&self) -> anyhow::Result<()> {
        self.synced.wait().await?;
        while let Err(error) = system::ensure(&self.client).await {
            tracing::warn!(%error, "cannot create the system objects, retrying");
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        self.cache.begin((self.options.clock)());
        self.queue.reset();
        for key in self.cache.keys() {
            self.queue.add(key);
        }
        let reconciler = self.reconciler();
        let mut lanes = JoinSet::new();
        for _ in 0..self.options.concurrency.max(1) {
            lanes.spawn(lane(reconciler.clone(), Arc::clone(&self.queue), self.metrics.clone()));
        }
        match lanes.join_next().await {
            Some(Err(error)) => Err(error.into()),
            Some(Ok(())) | None => anyhow::bail!("a lane of the reconciler returned"),
        }
    }

    fn reconciler(&self) -> Reconciler {
        let reporter = Reporter {
            controller: names::MANAGER_OPERATOR.to_owned(),
            instance: Some(self.options.identity.clone()),
        };
        Reconciler {
            applier: Applier {
                client: self.client.clone(),
                cache: self.cache.clone(),
                settings: Arc::clone(&self.settings),
                metrics: self.metrics.clone(),
                fence: self.fence.clone(),
                hook: self.options.hook.clone(),
            },
            recorder: Recorder::new(self.client.clone(), reporter),
            tracer: self.options.tracer.clone(),
            clock: self.options.clock,
        }
    }
}

/// Reconciles one queued object after another. A panic counts as a failure of its object alone.
async fn lane(reconciler: Reconciler, queue: Arc<Queue<Key>>, metrics: Metrics) {
    loop {
        let key = queue.next().await;
        metrics.queue_depth(queue.depth());
        let begun = tokio::time::Instant::now();
        let reconcile = AssertUnwindSafe(reconciler.reconcile(&key)).catch_unwind();
        let ended = Box::pin(reconcile).await;
        let counted = match &ended {
            Ok(Ok(_) | Err(WriteError::Conflict | WriteError::Fenced)) => ReconcileResult::Ok,
            Ok(Err(_)) => ReconcileResult::Error,
            Err(_) => ReconcileResult::Panic,
        };
        metrics.reconciled(key.kind(), counted, begun.elapsed());
        match ended {
            Ok(Ok(outcome)) => {
                queue.done(&key);
                if let Outcome::RequeueAfter(delay) = outcome {
                    queue.add_after(key, delay);
                }
                continue;
            }
            Ok(Err(WriteError::Conflict)) => tracing::debug!(?key, "object changed during the reconcile"),
            Ok(Err(WriteError::Fenced)) => tracing::debug!(?key, "reconcile stopped: not the leader"),
            Ok(Err(error)) => {
                tracing::warn!(?key, %error, "reconcile failed");
                metrics.failed(&error.to_string());
            }
            Err(panic) => {
                let cause = panic_message(&*panic);
                tracing::error!(?key, cause, "reconcile panicked");
                metrics.failed(&cause);
            }
        }
        queue.failed(&key);
    }
}

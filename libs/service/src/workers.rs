//! Supervised background tasks. A worker that panics, fails or returns early is logged with its cause, counted,
//! and started again with backoff. `/readyz` and `/healthz` report workers that stay down.

use std::{
    collections::BTreeMap,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicU64},
    time::{Duration, SystemTime},
};

use backon::{BackoffBuilder, ExponentialBuilder};
use futures::{FutureExt, future::BoxFuture};
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
};
use tokio::{sync::Notify, time::Instant};
use tokio_util::sync::CancellationToken;

use crate::{
    Metrics, Shutdown,
    clock::now_in_seconds,
    health::{self, LastError, WorkerState},
    panic::panic_message,
};

/// A worker that ran this long without a failure has recovered.
const RECOVERED: Duration = Duration::from_secs(60);
/// Failures in a row after which the process is not ready.
const NOT_READY: u32 = 3;
/// A worker that ran this long no longer keeps the process from being ready. After an outage of Postgres all
/// replicas wait for this, so it must be short.
const READY_AGAIN: Duration = Duration::from_secs(5);
/// A worker that has not recovered for this long makes the process unhealthy, so that it is restarted.
const UNHEALTHY: Duration = Duration::from_secs(300);

/// Longest pause after a round that failed. The module is degraded until a round succeeds.
const RETRY: Duration = Duration::from_secs(30);

/// The result of one round of a periodic worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Round {
    /// Nothing is left to do until the next tick.
    Done,
    /// More work is due: the next round starts at once.
    More,
}

impl Round {
    /// [`Round::More`] if a batch limited to `limit` rows was full.
    #[must_use]
    pub fn of(rows: u64, limit: u64) -> Self {
        if rows >= limit { Self::More } else { Self::Done }
    }
}

/// Starts and supervises the workers of one process. Clones share them.
#[derive(Clone)]
pub struct Workers(Arc<Inner>);

struct Inner {
    shutdown: Shutdown,
    failures: Family<FailureLabels, Counter>,
    up: Family<WorkerLabels, Gauge>,
    rounds: Family<WorkerLabels, Counter>,
    periods: Family<WorkerLabels, Gauge<f64, AtomicU64>>,
    last_successes: Family<WorkerLabels, Gauge<f64, AtomicU64>>,
    workers: Mutex<BTreeMap<String, Arc<Worker>>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WorkerLabels {
    worker: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FailureLabels {
    worker: String,
    cause: &'static str,
}

#[derive(Default)]
struct Worker {
    state: Mutex<State>,
    /// Makes the running worker panic; see [`Workers::inject_panic`].
    panic: Notify,
}

#[derive(Debug, Clone, Default)]
struct State {
    running: bool,
    failures_in_a_row: u32,
    failed_in_all: u64,
    failing_since: Option<Instant>,
    last_cause: Option<String>,
    last_error: Option<LastError>,
    /// For a periodic worker: its period, and when a round last succeeded.
    rounds: Option<(Duration, SystemTime)>,
    /// Whether the last round failed.
    round_failed: bool,
    failed_rounds: u64,
}

/// Why a worker is down.
struct Failure {
    kind: &'static str,
    cause: String,
}

impl Workers {
    /// A supervisor whose workers end with `shutdown`.
    #[must_use]
    pub fn new(shutdown: &Shutdown, metrics: &Metrics) -> Self {
        let inner = Inner {
            shutdown: shutdown.clone(),
            failures: Family::default(),
            up: Family::default(),
            rounds: Family::default(),
            periods: Family::default(),
            last_successes: Family::default(),
            workers: Mutex::default(),
        };
        metrics.register(|registry| {
            registry.register(
                "worker_failures",
                "Panics, errors and early returns of background workers",
                &["worker", "cause"],
                inner.failures.clone(),
            );
            registry.register(
                "worker_up",
                "1 while the worker runs, 0 in backoff",
                &["worker"],
                inner.up.clone(),
            );
            registry.register(
                "worker_rounds",
                "Rounds of periodic workers that succeeded",
                &["worker"],
                inner.rounds.clone(),
            );
            registry.register(
                "worker_period_seconds",
                "Time between two rounds of a periodic worker",
                &["worker"],
                inner.periods.clone(),
            );
            registry.register(
                "worker_last_success_timestamp_seconds",
                "When a round of a periodic worker last succeeded, or the worker was first started",
                &["worker"],
                inner.last_successes.clone(),
            );
        });
        Self(Arc::new(inner))
    }

    /// Runs a worker until shutdown. `run` gets the token that shutdown cancels, and is called again after each
    /// failure: a panic, an error, or a return before the token was cancelled. Shutdown waits for it to return.
    ///
    /// # Panics
    /// If a worker of this name exists.
    pub fn spawn<R>(
        &self,
        name: impl Into<String>,
        run: impl Fn(CancellationToken) -> R + Send + Sync + 'static,
    ) where
        R: Future<Output = anyhow::Result<()>> + Send + 'static,
    {
        self.supervise(name.into(), Arc::new(Worker::default()), run);
    }

    fn supervise<R>(
        &self,
        name: String,
        worker: Arc<Worker>,
        run: impl Fn(CancellationToken) -> R + Send + Sync + 'static,
    ) where
        R: Future<Output = anyhow::Result<()>> + Send + 'static,
    {
        let taken = lock(&self.0.workers).insert(name.clone(), Arc::clone(&worker)).is_some();
        assert!(!taken, "two workers are named {name}");
        let (inner, token) = (Arc::clone(&self.0), self.0.shutdown.token());
        let start = move || -> BoxFuture<'static, anyhow::Result<()>> { run(token.clone()).boxed() };
        self.0.shutdown.track(async move { inner.supervise(name, worker, start).await });
    }

    /// Runs `round` at once and then every `period`, after which it waits for `rest`, until shutdown; the
    /// pause is skipped after [`Round::More`]. Two rounds are at most `longest` apart. A round that returns
    /// an error is logged, counted and repeated after `period`, but after 30 s at the latest.
    ///
    /// # Panics
    /// If a worker of this name exists.
    pub(crate) fn spawn_paced<R, W>(
        &self,
        name: impl Into<String>,
        (period, longest): (Duration, Duration),
        rest: impl Fn() -> W + Send + Sync + 'static,
        round: impl Fn() -> R + Send + Sync + 'static,
    ) where
        R: Future<Output = anyhow::Result<Round>> + Send + 'static,
        W: Future<Output = ()> + Send + 'static,
    {
        let (name, round, rest) = (name.into(), Arc::new(round), Arc::new(rest));
        let (inner, label) = (Arc::clone(&self.0), name.clone());
        let worker = Arc::new(Worker::default());
        lock(&worker.state).rounds = Some((longest, SystemTime::now()));
        let rounds = Arc::clone(&worker);
        let labels = WorkerLabels { worker: name.clone() };
        inner.periods.get_or_create(&labels).set(longest.as_secs_f64());
        inner.last_successes.get_or_create(&labels).set(now_in_seconds());
        self.supervise(name, worker, move |token| {
            let (round, inner, label) = (Arc::clone(&round), Arc::clone(&inner), label.clone());
            let (rounds, rest) = (Arc::clone(&rounds), Arc::clone(&rest));
            async move {
                while !token.is_cancelled() {
                    let pause = match token.run_until_cancelled(round()).await {
                        None => return Ok(()),
                        Some(Ok(ended)) => {
                            inner.succeeded(&label);
                            rounds.round_succeeded(longest);
                            if ended == Round::More {
                                continue;
                            }
                            period
                        }
                        Some(Err(error)) => {
                            inner.count(&label, "error");
                            rounds.round_failed(&error);
                            tracing::warn!(worker = label, error = format!("{error:#}"), "round failed");
                            period.min(RETRY)
                        }
                    };
                    token
                        .run_until_cancelled(async {
                            tokio::time::sleep(pause).await;
                            rest().await;
                        })
                        .await;
                }
                Ok(())
            }
        });
    }

    /// Whether all workers can do their work.
    ///
    /// # Errors
    /// Names a worker that has failed several times in a row.
    pub fn ready(&self) -> Result<(), String> {
        self.check(|state| state.failures_in_a_row >= NOT_READY)
    }

    /// Whether the process should continue.
    ///
    /// # Errors
    /// Names a worker that has been failing for minutes.
    pub fn healthy(&self) -> Result<(), String> {
        self.check(|state| state.failing_since.is_some_and(|since| since.elapsed() >= UNHEALTHY))
    }

    fn check(&self, down: impl Fn(&State) -> bool) -> Result<(), String> {
        for (name, worker) in lock(&self.0.workers).iter() {
            let state = lock(&worker.state);
            if down(&state) {
                let cause = state.last_cause.as_deref().unwrap_or("unknown cause");
                return Err(format!("worker {name} keeps failing: {cause}"));
            }
        }
        Ok(())
    }

    /// Returns the state of all workers, for the report of the process.
    #[must_use]
    pub fn report(&self) -> Vec<health::Worker> {
        let now = SystemTime::now();
        lock(&self.0.workers).iter().map(|(name, worker)| lock(&worker.state).report(name, now)).collect()
    }

    /// Names of all workers, for tests and drills.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        lock(&self.0.workers).keys().cloned().collect()
    }

    /// Whether the worker runs now (and is not in backoff), and how often it has failed.
    #[must_use]
    pub fn status(&self, name: &str) -> Option<(bool, u64)> {
        let worker = lock(&self.0.workers).get(name).cloned()?;
        let state = lock(&worker.state);
        Some((state.running, state.failed_in_all))
    }

    /// Makes the worker panic at its current await point, for tests and drills.
    pub fn inject_panic(&self, name: &str) {
        if let Some(worker) = lock(&self.0.workers).get(name) {
            worker.panic.notify_one();
        }
    }
}

impl Inner {
    async fn supervise(
        self: Arc<Self>,
        name: String,
        worker: Arc<Worker>,
        start: impl Fn() -> BoxFuture<'static, anyhow::Result<()>>,
    ) {
        let token = self.shutdown.token();
        let up = self.up.get_or_create(&WorkerLabels { worker: name.clone() }).clone();
        let mut delays = backoff();
        while !token.is_cancelled() {
            lock(&worker.state).running = true;
            up.set(1);
            let started = Instant::now();
            let attempt = async {
                let run = AssertUnwindSafe(async { start().await });
                tokio::select! {
                    biased;
                    () = worker.panic.notified() => panic!("injected"),
                    ended = run => ended,
                    () = recovered(&worker) => unreachable!("never completes"),
                }
            };
            let ended = AssertUnwindSafe(attempt).catch_unwind().await;
            lock(&worker.state).running = false;
            up.set(0);
            let failure = match ended {
                Ok(_) if token.is_cancelled() => return,
                Ok(Ok(())) => Failure { kind: "returned", cause: "returned before shutdown".to_owned() },
                Ok(Err(error)) => Failure { kind: "error", cause: format!("{error:#}") },
                Err(panic) => Failure { kind: "panic", cause: panic_message(&*panic) },
            };
            if started.elapsed() >= RECOVERED {
                delays = backoff();
            }
            let delay = delays.next().unwrap_or(MAX_DELAY);
            self.count(&name, failure.kind);
            worker.failed(&failure);
            tracing::error!(
                worker = name,
                kind = failure.kind,
                cause = failure.cause,
                restart_in_ms = delay.as_millis(),
                "worker failed"
            );
            token.run_until_cancelled(tokio::time::sleep(delay)).await;
        }
    }

    fn succeeded(&self, worker: &str) {
        let labels = WorkerLabels { worker: worker.to_owned() };
        self.rounds.get_or_create(&labels).inc();
        self.last_successes.get_or_create(&labels).set(now_in_seconds());
    }

    fn count(&self, worker: &str, cause: &'static str) {
        self.failures.get_or_create(&FailureLabels { worker: worker.to_owned(), cause }).inc();
    }
}

impl Worker {
    fn failed(&self, failure: &Failure) {
        let mut state = lock(&self.state);
        state.failures_in_a_row += 1;
        state.failed_in_all += 1;
        state.failing_since.get_or_insert_with(Instant::now);
        state.last_cause = Some(failure.cause.clone());
        state.last_error = Some(LastError::now(&failure.cause));
    }

    fn round_succeeded(&self, period: Duration) {
        let mut state = lock(&self.state);
        (state.rounds, state.round_failed) = (Some((period, SystemTime::now())), false);
    }

    fn round_failed(&self, error: &anyhow::Error) {
        let mut state = lock(&self.state);
        state.round_failed = true;
        state.failed_rounds += 1;
        state.last_error = Some(LastError::now(&format!("{error:#}")));
    }
}

impl State {
    fn report(&self, name: &str, now: SystemTime) -> health::Worker {
        let late = |(period, last): (Duration, SystemTime)| {
            now.duration_since(last).unwrap_or_default().saturating_sub(period).as_secs_f64()
        };
        // it runs only after it was polled; until then it has not failed
        let is_down = self.failures_in_a_row > 0 && !self.running || self.round_failed;
        health::Worker {
            name: name.to_owned(),
            state: if is_down { WorkerState::Failing } else { WorkerState::Running },
            lag_seconds: self.rounds.map_or(0.0, late),
            failures: self.failed_in_all + self.failed_rounds,
            last_error: self.last_error.clone(),
        }
    }
}

/// Clears the record of failures once the worker has run for a while. Never completes.
async fn recovered(worker: &Worker) {
    tokio::time::sleep(READY_AGAIN).await;
    lock(&worker.state).failures_in_a_row = 0;
    tokio::time::sleep(RECOVERED - READY_AGAIN).await;
    lock(&worker.state).failing_since = None;
    std::future::pending::<()>().await;
}

/// The longest backoff: the maximum wait of the platform after the end of an outage.
const MAX_DELAY: Duration = Duration::from_secs(10);

fn backoff() -> impl Iterator<Item = Duration> {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(100))
        .with_max_delay(MAX_DELAY)
        .with_factor(2.0)
        .with_jitter()
        .without_max_times()
        .build()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    fn workers() -> (Workers, Shutdown, Metrics) {
        let (shutdown, metrics) = (Shutdown::default(), Metrics::default());
        (Workers::new(&shutdown, &metrics), shutdown, metrics)
    }

    #[tokio::test(start_paused = true)]
    async fn each_kind_of_failure_is_counted_and_followed_by_a_restart() {
        let (workers, shutdown, metrics) = workers();
        let (counter, mut starts) = tokio::sync::watch::channel(0);
        workers.spawn("fragile", move |token| {
            let start = *counter.borrow();
            counter.send_replace(start + 1);
            async move {
                match start {
                    0 => panic!("first start"),
                    1 => anyhow::bail!("second start"),
                    2 => Ok(()),
                    _ => {
                        token.cancelled().await;
                        Ok(())
                    }
                }
            }
        });
        starts.wait_for(|starts| *starts == 4).await.unwrap();
        let text = metrics.text();
        for cause in ["panic", "error", "returned"] {
            let line = format!("worker_failures_total{{worker=\"fragile\",cause=\"{cause}\"}} 1");
            assert!(text.contains(&line), "{line} is missing in {text}");
        }
        assert!(text.contains("worker_up{worker=\"fragile\"} 1"), "{text}");
        assert_eq!(workers.status("fragile"), Some((true, 3)));
        assert!(workers.ready().unwrap_err().contains("fragile"), "three failures in a row");
        assert_eq!(workers.healthy(), Ok(()));
        tokio::time::sleep(READY_AGAIN + Duration::from_millis(1)).await;
        assert_eq!(workers.ready(), Ok(()), "it has been running");
        shutdown.begin();
        shutdown.finish().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_worker_that_stays_down_makes_the_process_unhealthy() {
        let (workers, shutdown, _) = workers();
        workers.spawn("broken", |_| async { anyhow::bail!("no disk") });
        workers.spawn("sound", |token| async move {
            token.cancelled().await;
            Ok(())
        });
        tokio::time::sleep(UNHEALTHY + MAX_DELAY).await;
        let unhealthy = workers.healthy().unwrap_err();
        assert!(unhealthy.contains("broken") && unhealthy.contains("no disk"), "{unhealthy}");
        assert_eq!(workers.status("sound"), Some((true, 0)));
        shutdown.begin();
        shutdown.finish().await;
    }

    #[tokio::test(start_paused = true)]
    async fn an_injected_panic_restarts_the_worker() {
        let (workers, shutdown, _) = workers();
        workers.spawn("sound", |token| async move {
            token.cancelled().await;
            Ok(())
        });
        tokio::time::sleep(Duration::from_millis(1)).await;
        workers.inject_panic("sound");
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(workers.status("sound"), Some((true, 1)));
        shutdown.begin();
        shutdown.finish().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_periodic_worker_survives_errors_and_continues_at_once_while_there_is_more() {
        let (workers, shutdown, metrics) = workers();
        let rounds = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&rounds);
        let period = Duration::from_secs(60);
        workers.spawn_paced(
            "sweep",
            (period, period),
            || std::future::ready(()),
            move || {
                let round = counted.fetch_add(1, Ordering::SeqCst);
                async move {
                    match round {
                        0 | 1 => Ok(Round::More),
                        2 => anyhow::bail!("database away"),
                        _ => Ok(Round::Done),
                    }
                }
            },
        );
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(rounds.load(Ordering::SeqCst), 3);
        tokio::time::sleep(RETRY).await;
        assert_eq!(rounds.load(Ordering::SeqCst), 4, "it does not wait for the next period");
        assert_eq!(workers.status("sweep"), Some((true, 0)), "a failed round is no failed worker");
        let text = metrics.text();
        assert!(text.contains("worker_failures_total{worker=\"sweep\",cause=\"error\"} 1"), "{text}");
        assert!(text.contains("worker_rounds_total{worker=\"sweep\"} 3"), "the failed round is none: {text}");
        assert!(text.contains("worker_period_seconds{worker=\"sweep\"} 60.0"), "{text}");
        assert!(text.contains("worker_last_success_timestamp_seconds{worker=\"sweep\"} 1"), "{text}");
        shutdown.begin();
        shutdown.finish().await;
    }
}

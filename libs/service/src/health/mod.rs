//! The health of a process beyond [`crate::Front`]'s readiness check: the dependencies that it calls and the
//! queues that it processes. Parts of a process register theirs; `/statusz` reports them for the platform's
//! health.
//!
//! Dependencies are called when the report is read, in parallel and within [`TIMEOUT`]; a report of the last second is
//! reused. Texts of errors pass [`redact`] before they are kept.

pub mod redact;
mod report;

use std::{
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use futures::future::join_all;
use tokio::time::Instant;

pub(crate) use report::Parts;
pub use report::{
    Dependency, DependencyKind, DependencyState, HealthState, LastError, Queue, Report, Worker, WorkerState,
};

use crate::Metrics;

/// Time for a dependency to answer.
const TIMEOUT: Duration = Duration::from_millis(700);
/// How long the answers of the dependencies are reused.
const REUSE: Duration = Duration::from_secs(1);

type Probe = Box<dyn Fn() -> Pin<Box<dyn Future<Output = Result<(), String>> + Send>> + Send + Sync>;

/// The dependencies and queues of one process. Clones share them.
#[derive(Clone, Default)]
pub struct Health(Arc<Inner>);

#[derive(Default)]
struct Inner {
    module: OnceLock<&'static str>,
    dependencies: Mutex<Vec<Arc<Registered>>>,
    queues: Mutex<Vec<Arc<QueueHealth>>>,
    checked: tokio::sync::Mutex<Option<(Instant, Vec<Dependency>)>>,
}

struct Registered {
    name: String,
    kind: DependencyKind,
    probe: Probe,
    last_error: Mutex<Option<LastError>>,
}

/// The state of one queue, which its worker measures.
#[derive(Debug)]
pub struct QueueHealth {
    name: &'static str,
    state: Mutex<QueueState>,
}

#[derive(Debug, Default)]
struct QueueState {
    due: i64,
    lag_seconds: f64,
    last_error: Option<LastError>,
}

impl QueueHealth {
    /// Records how many rows are due, and for how many seconds the oldest.
    pub fn measured(&self, due: i64, lag_seconds: f64) {
        let mut state = lock(&self.state);
        (state.due, state.lag_seconds) = (due, lag_seconds);
    }

    /// Records the failure of a reconcile, or of a measurement.
    pub fn failed(&self, error: &str) {
        lock(&self.state).last_error = Some(LastError::now(error));
    }
}

impl Health {
    /// Returns the health of the process with these metrics.
    #[must_use]
    pub fn of(metrics: &Metrics) -> Self {
        metrics.shared(|_| Self::default())
    }

    /// Names the module. The first name counts.
    pub(crate) fn name(&self, module: &'static str) {
        let _ = self.0.module.set(module);
    }

    pub(crate) fn module(&self) -> &'static str {
        self.0.module.get().copied().unwrap_or_default()
    }

    /// Adds a dependency, unless there is one of this name. `probe` returns why it does not answer.
    pub fn depends_on<R>(
        &self,
        name: impl Into<String>,
        kind: DependencyKind,
        probe: impl Fn() -> R + Send + Sync + 'static,
    ) where
        R: Future<Output = Result<(), String>> + Send + 'static,
    {
        let name = name.into();
        let mut all = lock(&self.0.dependencies);
        if all.iter().any(|known| known.name == name) {
            return;
        }
        let probe: Probe = Box::new(move || Box::pin(probe()));
        all.push(Arc::new(Registered { name, kind, probe, last_error: Mutex::default() }));
    }

    /// Adds a service of the platform, whose readiness is read.
    pub fn depends_on_service(&self, name: &str, http: &reqwest::Client, base: &str) {
        let url = format!("{}/readyz", base.trim_end_matches('/'));
        self.depends_on_http(name, DependencyKind::Service, http, url);
    }

    /// Adds a server over HTTP. Any response except a server error shows that it works.
    pub fn depends_on_http(&self, name: &str, kind: DependencyKind, http: &reqwest::Client, url: String) {
        let http = http.clone();
        self.depends_on(name, kind, move || {
            let request = http.get(&url).timeout(TIMEOUT);
            async move {
                // the URL may have credentials
                let answer = request.send().await.map_err(|error| cause(&error.without_url()))?;
                let status = answer.status();
                if !status.is_server_error() {
                    return Ok(());
                }
                Err(format!("{status}: {}", answer.text().await.unwrap_or_default().trim()))
            }
        });
    }

    /// Returns the queue of this name, which the first call adds.
    #[must_use]
    pub fn queue(&self, name: &'static str) -> Arc<QueueHealth> {
        let mut queues = lock(&self.0.queues);
        if let Some(known) = queues.iter().find(|queue| queue.name == name) {
            return Arc::clone(known);
        }
        let queue = Arc::new(QueueHealth { name, state: Mutex::default() });
        queues.push(Arc::clone(&queue));
        queue
    }

    pub(crate) fn queues(&self) -> Vec<Queue> {
        let of = |queue: &Arc<QueueHealth>| {
            let state = lock(&queue.state);
            Queue {
                name: queue.name.to_owned(),
                due: state.due,
                lag_seconds: state.lag_seconds,
                last_error: state.last_error.clone(),
            }
        };
        lock(&self.0.queues).iter().map(of).collect()
    }

    /// Calls all dependencies, unless that was done within the last second. Callers at the same time share the answers.
    pub(crate) async fn dependencies(&self) -> Vec<Dependency> {
        let mut checked = self.0.checked.lock().await;
        if let Some((at, answers)) = &*checked
            && at.elapsed() < REUSE
        {
            return answers.clone();
        }
        let all = lock(&self.0.dependencies).clone();
        let answers = join_all(all.iter().map(|one| one.check())).await;
        *checked = Some((Instant::now(), answers.clone()));
        answers
    }
}

impl Registered {
    async fn check(&self) -> Dependency {
        let begun = Instant::now();
        let answer = tokio::time::timeout(TIMEOUT, (self.probe)()).await;
        let answer = answer.unwrap_or_else(|_| Err(format!("no answer within {} ms", TIMEOUT.as_millis())));
        let latency_ms = answer.is_ok().then(|| milliseconds(begun.elapsed()));
        if let Err(error) = &answer {
            *lock(&self.last_error) = Some(LastError::now(error));
        }
        Dependency {
            name: self.name.clone(),
            kind: self.kind,
            state: if answer.is_ok() { DependencyState::Ok } else { DependencyState::Failed },
            latency_ms,
            last_error: lock(&self.last_error).clone(),
        }
    }
}

/// An error with its causes, in one line.
#[must_use]
pub fn cause(error: &(dyn std::error::Error + 'static)) -> String {
    api::ErrorChain(error).to_string()
}

/// To a hundredth: smaller differences change with each call and have no meaning.
fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 100_000.0).round() / 100.0
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_dependency_that_hangs_delays_the_report_by_its_timeout_only() {
        let health = Health::default();
        health.depends_on("hung", DependencyKind::Cluster, std::future::pending);
        health.depends_on("well", DependencyKind::Postgres, || async { Ok(()) });
        let begun = Instant::now();
        let [hung, well] = health.dependencies().await.try_into().unwrap();
        assert_eq!(begun.elapsed(), TIMEOUT);
        assert_eq!((hung.state, hung.latency_ms), (DependencyState::Failed, None));
        assert!(hung.last_error.unwrap().message.starts_with("no answer"));
        assert_eq!((well.state, well.last_error), (DependencyState::Ok, None));
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_error_stays_and_answers_are_reused_for_a_second() {
        let (health, calls) = (Health::default(), Arc::new(AtomicU32::new(0)));
        let called = Arc::clone(&calls);
        health.depends_on("flaky", DependencyKind::Service, move || {
            let call = called.fetch_add(1, Ordering::SeqCst);
            async move { if call == 0 { Err("password=hunter22 refused".to_owned()) } else { Ok(()) } }
        });
        for _ in 0..10 {
            let [flaky] = health.dependencies().await.try_into().unwrap();
            assert_eq!(flaky.state, DependencyState::Failed);
        }
        assert_eq!(calls.load(Ordering::SeqCst), 1);
        tokio::time::advance(REUSE).await;
        let [flaky] = health.dependencies().await.try_into().unwrap();
        assert_eq!(flaky.state, DependencyState::Ok);
        let error = flaky.last_error.unwrap().message;
        assert!(error.ends_with("refused") && !error.contains("hunter22"), "{error}");
    }
}

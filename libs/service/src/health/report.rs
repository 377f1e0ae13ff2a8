//! The report of one process, as `/statusz` returns it and `GET /v1/platform/health` passes it on.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::redact::redact;
use crate::clock::now;

/// Lag in seconds from which a process counts as degraded.
const LATE: f64 = 60.0;

/// How a module or one of its replicas is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum HealthState {
    /// It works.
    Ok,
    /// It ends in an orderly way: it serves, and gets no new requests.
    ShuttingDown,
    /// It serves, but a dependency does not answer, a worker fails, or work is late.
    Degraded,
    /// It cannot serve.
    Unavailable,
    /// It did not answer in time.
    Unreachable,
}

/// What a dependency is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DependencyKind {
    /// The Postgres of the service.
    Postgres,
    /// Another service of the platform.
    Service,
    /// The Kubernetes API of a datacenter.
    Cluster,
    /// The object store: Ceph RGW.
    ObjectStore,
    /// A Valkey or Redis.
    Cache,
}

/// Whether a dependency answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DependencyState {
    /// It answered.
    Ok,
    /// It did not answer, or with an error.
    Failed,
}

/// Whether a background worker runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkerState {
    /// It runs.
    Running,
    /// It failed, or its last round did, and it is tried again.
    Failing,
}

/// An error and when it happened. The text has no secrets; the complete one is in the log of the process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LastError {
    /// What went wrong.
    pub message: String,
    /// When it happened last.
    pub at: Timestamp,
}

impl LastError {
    pub(crate) fn now(message: &str) -> Self {
        Self { message: redact(message), at: now() }
    }
}

/// Something that a process calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Dependency {
    /// Its name: `postgres`, `stock`, `cluster:<name>`.
    pub name: String,
    /// What it is.
    pub kind: DependencyKind,
    /// Whether it answers now.
    pub state: DependencyState,
    /// How long the answer took in milliseconds; null without one.
    pub latency_ms: Option<f64>,
    /// The last error since the process started.
    pub last_error: Option<LastError>,
}

/// A background worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Worker {
    /// Its name.
    pub name: String,
    /// Whether it runs.
    pub state: WorkerState,
    /// For a periodic worker: seconds by which its next success is late. 0 for others.
    pub lag_seconds: f64,
    /// Failures and failed rounds since the process started.
    pub failures: u64,
    /// The last error since the process started.
    pub last_error: Option<LastError>,
}

/// A queue of reconciles, which all replicas share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Queue {
    /// The table whose rows are reconciled.
    pub name: String,
    /// Rows that wait for a reconcile, counted up to 10,000.
    pub due: i64,
    /// For how many seconds the oldest of them has waited.
    pub lag_seconds: f64,
    /// The last failed reconcile since the process started.
    pub last_error: Option<LastError>,
}

/// What a process reports about itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Report {
    /// The module: `gpu`, `gateway`, `operator`.
    pub module: String,
    /// How it is.
    pub state: HealthState,
    /// Why it is not `ok`; null if it is.
    pub reason: Option<String>,
    /// The version of the program.
    pub version: String,
    /// The revision of the source code; null in a build for development, which does not say it.
    pub revision: Option<String>,
    /// When the process started.
    pub started_at: Timestamp,
    /// The longest lag of its workers and queues, in seconds.
    pub lag_seconds: f64,
    /// The newest of the errors below.
    pub last_error: Option<LastError>,
    /// What it calls.
    pub dependencies: Vec<Dependency>,
    /// Its background workers.
    pub workers: Vec<Worker>,
    /// Its queues.
    pub queues: Vec<Queue>,
}

/// The inputs of [`Report::of`].
pub(crate) struct Parts {
    pub(crate) module: String,
    pub(crate) started_at: Timestamp,
    pub(crate) is_draining: bool,
    /// The result of the readiness check.
    pub(crate) ready: Result<(), String>,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) workers: Vec<Worker>,
    pub(crate) queues: Vec<Queue>,
}

impl Report {
    pub(crate) fn of(parts: Parts) -> Self {
        let Parts { module, started_at, is_draining, ready, dependencies, workers, queues } = parts;
        let lags = workers.iter().map(|worker| worker.lag_seconds);
        let lag_seconds = lags.chain(queues.iter().map(|queue| queue.lag_seconds)).fold(0.0, f64::max);
        let errors = dependencies.iter().filter_map(|one| one.last_error.as_ref());
        let errors = errors.chain(workers.iter().filter_map(|one| one.last_error.as_ref()));
        let errors = errors.chain(queues.iter().filter_map(|one| one.last_error.as_ref()));
        let last_error = errors.max_by_key(|error| error.at).cloned();
        let failed: Vec<_> = dependencies.iter().filter(|one| one.state == DependencyState::Failed).collect();
        let failing: Vec<_> = workers.iter().filter(|one| one.state == WorkerState::Failing).collect();
        let (state, reason) = match ready {
            _ if is_draining => (HealthState::ShuttingDown, Some("shutting down".to_owned())),
            Err(reason) => (HealthState::Unavailable, Some(redact(&reason))),
            Ok(()) if !failed.is_empty() => {
                let names: Vec<_> = failed.iter().map(|one| one.name.as_str()).collect();
                (HealthState::Degraded, Some(format!("{} does not answer", names.join(", "))))
            }
            Ok(()) if !failing.is_empty() => {
                let names: Vec<_> = failing.iter().map(|one| one.name.as_str()).collect();
                (HealthState::Degraded, Some(format!("{} fails", names.join(", "))))
            }
            Ok(()) if lag_seconds >= LATE => {
                (HealthState::Degraded, Some(format!("work is {lag_seconds:.0} s late")))
            }
            Ok(()) => (HealthState::Ok, None),
        };
        Self {
            module,
            state,
            reason,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            revision: option_env!("ATELIER_BUILD_REVISION")
                .filter(|text| !text.is_empty())
                .map(str::to_owned),
            started_at,
            lag_seconds,
            last_error,
            dependencies,
            workers,
            queues,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts() -> Parts {
        Parts {
            module: "gpu".into(),
            started_at: Timestamp::UNIX_EPOCH,
            is_draining: false,
            ready: Ok(()),
            dependencies: Vec::new(),
            workers: Vec::new(),
            queues: Vec::new(),
        }
    }

    fn error(seconds: i64) -> Option<LastError> {
        Some(LastError { message: "no".into(), at: Timestamp::from_second(seconds).unwrap() })
    }

    fn dependency(state: DependencyState, at: i64) -> Dependency {
        let name = "cluster:dev-1".into();
        Dependency { name, kind: DependencyKind::Cluster, state, latency_ms: None, last_error: error(at) }
    }

    fn worker(state: WorkerState, lag_seconds: f64, at: i64) -> Worker {
        Worker { name: "gpu.units.follow".into(), state, lag_seconds, failures: 1, last_error: error(at) }
    }

    #[test]
    fn the_state_is_that_of_the_worst_part() {
        let queue = |lag_seconds| Queue { name: "instances".into(), due: 1, lag_seconds, last_error: None };
        let (well, failed) = (DependencyState::Ok, DependencyState::Failed);
        for (parts, state, reason) in [
            (parts(), HealthState::Ok, None),
            (Parts { dependencies: vec![dependency(well, 1)], ..parts() }, HealthState::Ok, None),
            (
                Parts { dependencies: vec![dependency(failed, 1)], ..parts() },
                HealthState::Degraded,
                Some("cluster:dev-1 does not answer"),
            ),
            (
                Parts { workers: vec![worker(WorkerState::Failing, 0.0, 1)], ..parts() },
                HealthState::Degraded,
                Some("gpu.units.follow fails"),
            ),
            (Parts { queues: vec![queue(59.0)], ..parts() }, HealthState::Ok, None),
            (
                Parts { queues: vec![queue(61.0)], ..parts() },
                HealthState::Degraded,
                Some("work is 61 s late"),
            ),
            (
                Parts {
                    ready: Err("postgres://a:hunter22@db is away".into()),
                    dependencies: vec![dependency(failed, 1)],
                    ..parts()
                },
                HealthState::Unavailable,
                Some("postgres://[redacted]@db is away"),
            ),
            (
                Parts { is_draining: true, ready: Err("x".into()), ..parts() },
                HealthState::ShuttingDown,
                Some("shutting down"),
            ),
        ] {
            let report = Report::of(parts);
            assert_eq!((report.state, report.reason.as_deref()), (state, reason));
        }
    }

    #[test]
    fn the_newest_error_and_the_longest_lag_are_those_of_the_process() {
        let report = Report::of(Parts {
            dependencies: vec![dependency(DependencyState::Ok, 3)],
            workers: vec![worker(WorkerState::Running, 2.5, 7), worker(WorkerState::Running, 1.0, 5)],
            ..parts()
        });
        assert_eq!((report.lag_seconds, report.last_error), (2.5, error(7)));
    }
}

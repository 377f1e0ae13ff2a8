//! The health of the platform, merged from the reports of all replicas. Pure.

use jiff::Timestamp;
use serde::Serialize;
use service::health::{HealthState, LastError, Report};
use utoipa::ToSchema;

/// The health of the platform.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(super) struct PlatformHealth {
    /// `ok` if all modules are, `degraded` while each has a replica that serves, otherwise `unavailable`.
    pub(super) state: HealthState,
    /// When the replicas were asked.
    pub(super) checked_at: Timestamp,
    /// The modules, by name.
    pub(super) modules: Vec<Module>,
}

/// A module: a service, the gateway, or the operator of a datacenter.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(super) struct Module {
    /// Its name.
    pub(super) name: String,
    /// Its status: that of its replicas if it is the same for all; otherwise `degraded` while any of them serves.
    pub(super) state: HealthState,
    /// The versions of its replicas, without repetition; two during an upgrade.
    pub(super) versions: Vec<String>,
    /// The longest lag of its replicas, in seconds.
    pub(super) lag_seconds: f64,
    /// The newest error of its replicas, after the name of the part that had it.
    pub(super) last_error: Option<LastError>,
    /// Its replicas, by address.
    pub(super) replicas: Vec<Replica>,
}

/// A replica of a module.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(super) struct Replica {
    /// Its address in the platform's network, or a host name without an address.
    pub(super) address: String,
    /// How it is.
    pub(super) state: HealthState,
    /// Why it is `unreachable`; null if it answered.
    pub(super) error: Option<String>,
    /// What it reports; null if it did not answer.
    pub(super) report: Option<Report>,
}

impl Replica {
    /// A replica that answered, or did not because of an error.
    pub(super) fn new(address: String, answer: Result<Report, String>) -> Self {
        match answer {
            Ok(report) => Self { address, state: report.state, error: None, report: Some(report) },
            Err(error) => Self { address, state: HealthState::Unreachable, error: Some(error), report: None },
        }
    }
}

/// Whether requests are served in this state.
fn serves(state: HealthState) -> bool {
    matches!(state, HealthState::Ok | HealthState::Degraded)
}

impl Module {
    pub(super) fn new(name: String, mut replicas: Vec<Replica>) -> Self {
        replicas.sort_by(|a, b| a.address.cmp(&b.address));
        let states: Vec<_> = replicas.iter().map(|replica| replica.state).collect();
        let state = match states.as_slice() {
            [] => HealthState::Unreachable,
            [first, rest @ ..] if rest.iter().all(|state| state == first) => *first,
            several if several.iter().copied().any(serves) => HealthState::Degraded,
            several => several.iter().copied().max().unwrap_or(HealthState::Unreachable),
        };
        let reports = || replicas.iter().filter_map(|replica| replica.report.as_ref());
        let mut versions: Vec<_> = reports().map(version).collect();
        versions.sort();
        versions.dedup();
        let lag_seconds = reports().map(|report| report.lag_seconds).fold(0.0, f64::max);
        let last_error = reports().flat_map(errors).max_by_key(|error| error.at);
        Self { name, state, versions, lag_seconds, last_error, replicas }
    }
}

/// The last errors of the parts of a process, with their names.
fn errors(report: &Report) -> impl Iterator<Item = LastError> {
    let dependencies = report.dependencies.iter().map(|part| (&part.name, &part.last_error));
    let workers = report.workers.iter().map(|part| (&part.name, &part.last_error));
    let queues = report.queues.iter().map(|part| (&part.name, &part.last_error));
    let all = dependencies.chain(workers).chain(queues);
    all.filter_map(|(name, error)| {
        let error = error.as_ref()?;
        Some(LastError { message: format!("{name}: {}", error.message), at: error.at })
    })
}

/// The version, and the revision if the build said it.
fn version(report: &Report) -> String {
    match &report.revision {
        Some(revision) => format!("{}+{revision}", report.version),
        None => report.version.clone(),
    }
}

impl PlatformHealth {
    pub(super) fn new(checked_at: Timestamp, mut modules: Vec<Module>) -> Self {
        modules.sort_by(|a, b| a.name.cmp(&b.name));
        let state = if modules.iter().all(|module| module.state == HealthState::Ok) {
            HealthState::Ok
        } else if modules.iter().all(|module| serves(module.state)) {
            HealthState::Degraded
        } else {
            HealthState::Unavailable
        };
        Self { state, checked_at, modules }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn report(state: HealthState, lag_seconds: f64, revision: &str) -> Report {
        serde_json::from_value(json!({
            "module": "gpu", "state": state, "reason": null, "version": "0.1.0", "revision": revision,
            "started_at": "2026-01-01T00:00:00Z", "lag_seconds": lag_seconds,
            "last_error": null, "dependencies": [], "workers": [],
            "queues": [{
                "name": "instances", "due": 0, "lag_seconds": lag_seconds,
                "last_error": { "message": revision, "at": format!("2026-01-01T00:00:0{lag_seconds}Z") },
            }],
        }))
        .unwrap()
    }

    fn module(states: &[HealthState]) -> Module {
        let replica = |state: &HealthState| match state {
            HealthState::Unreachable => Replica::new("a".into(), Err("no answer".into())),
            state => Replica::new("b".into(), Ok(report(*state, 0.0, "1"))),
        };
        Module::new("gpu".into(), states.iter().map(replica).collect())
    }

    #[test]
    fn a_module_serves_while_one_of_its_replicas_does() {
        use HealthState::{Degraded, Ok, ShuttingDown, Unavailable, Unreachable};
        for (replicas, state) in [
            (&[][..], Unreachable),
            (&[Ok, Ok], Ok),
            (&[Ok, Unreachable], Degraded),
            (&[Ok, ShuttingDown], Degraded),
            (&[Unreachable, Unreachable], Unreachable),
            (&[Unavailable], Unavailable),
            (&[Unavailable, Unreachable], Unreachable),
            (&[Degraded, Unavailable], Degraded),
        ] {
            assert_eq!(module(replicas).state, state, "{replicas:?}");
        }
    }

    #[test]
    fn the_platform_is_degraded_while_all_modules_serve() {
        use HealthState::{Degraded, Ok, Unavailable, Unreachable};
        let state = |modules: Vec<Module>| PlatformHealth::new(Timestamp::UNIX_EPOCH, modules).state;
        assert_eq!(state(vec![module(&[Ok]), module(&[Ok, Ok])]), Ok);
        assert_eq!(state(vec![module(&[Ok]), module(&[Ok, Unreachable])]), Degraded);
        assert_eq!(state(vec![module(&[Ok]), module(&[Unreachable])]), Unavailable);
        assert_eq!(state(vec![module(&[Degraded])]), Degraded);
    }

    #[test]
    fn a_module_has_the_versions_the_longest_lag_and_the_newest_error_of_its_replicas() {
        let replica = |address: &str, lag, revision| {
            Replica::new(address.into(), Ok(report(HealthState::Ok, lag, revision)))
        };
        let module = Module::new(
            "gpu".into(),
            vec![replica("b", 3.0, "old"), replica("a", 2.0, "new"), replica("c", 1.0, "new")],
        );
        assert_eq!(module.versions, ["0.1.0+new", "0.1.0+old"]);
        assert_eq!(
            (module.lag_seconds, module.last_error.unwrap().message.as_str()),
            (3.0, "instances: old")
        );
        let addresses: Vec<_> = module.replicas.iter().map(|replica| replica.address.as_str()).collect();
        assert_eq!(addresses, ["a", "b", "c"]);
    }
}

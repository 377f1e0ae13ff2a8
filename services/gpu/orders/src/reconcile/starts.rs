//! Outcomes of starts, counted for the service level objective: an instance runs 30 seconds after its start
//! was requested, or after a unit became free for it.

use gpu_core::{
    instance::{Instance, State},
    reason::{Reason, ReasonCode},
};
use jiff::{SignedDuration, Timestamp};
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family},
};
use service::Metrics;

/// The longest time that a start may take.
const LIMIT: SignedDuration = SignedDuration::from_secs(30);

/// The outcome of a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    InTime,
    Late,
    /// The platform could not carry it out.
    Failed,
    /// It failed for a reason under the user's control: limits, no free unit, an image or settings of the
    /// user's own.
    Rejected,
}

impl Outcome {
    const ALL: [Self; 4] = [Self::InTime, Self::Late, Self::Failed, Self::Rejected];

    fn as_str(self) -> &'static str {
        match self {
            Self::InTime => "in_time",
            Self::Late => "late",
            Self::Failed => "failed",
            Self::Rejected => "rejected",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    outcome: &'static str,
}

/// The count of starts. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Starts(Family<Labels, Counter>);

impl Starts {
    /// Returns the counts, which are among the metrics of the process.
    pub fn register(metrics: &Metrics) -> Self {
        let starts = Self::default();
        for outcome in Outcome::ALL {
            // `increase` misses the first event of a counter that did not exist before
            starts.0.get_or_create(&Labels { outcome: outcome.as_str() }).inc_by(0);
        }
        metrics.register(|registry| {
            registry.register(
                "instance_starts",
                "Starts by outcome: in_time (within 30 s), late, failed, rejected (a reason of the user's)",
                &["outcome"],
                starts.0.clone(),
            );
        });
        starts
    }

    pub(super) fn count(&self, outcome: Outcome) {
        self.0.get_or_create(&Labels { outcome: outcome.as_str() }).inc();
    }
}

/// Returns when the start was requested: when its operation was created.
pub(super) fn requested(instance: &Instance) -> Option<Timestamp> {
    Timestamp::UNIX_EPOCH.checked_add(instance.operation.id.made_at()?).ok()
}

/// Returns the outcome of a start that has ended with this change. None if nothing was being started:
/// containers that restart and interrupted instances that continue in their unit are not starts.
pub(super) fn outcome(
    before: &Instance,
    after: &Instance,
    requested: Timestamp,
    now: Timestamp,
) -> Option<Outcome> {
    if !matches!(before.state, State::Pending { .. } | State::Starting { .. }) {
        return None;
    }
    let claimed = after.state.claim().map(|claim| claim.claimed_at);
    // an instance that waited longer for a unit was in the queue, or moves to another unit
    let waited = claimed.filter(|claimed| claimed.duration_since(requested) > LIMIT);
    let begun = waited.unwrap_or(requested);
    let runs = [before.meter.open, before.meter.closed.map(|(run, _)| run)];
    if runs.into_iter().flatten().any(|run| run.attempt == before.attempt || run.since >= begun) {
        return None;
    }
    match (&after.state, after.state.failure()) {
        (State::Running { .. }, _) => {
            Some(if now.duration_since(begun) > LIMIT { Outcome::Late } else { Outcome::InTime })
        }
        // another start needs the unit
        (_, Some(failure)) if failure.reason.code == ReasonCode::Recalled => None,
        (_, Some(failure)) if is_platform_fault(after, &failure.reason) => Some(Outcome::Failed),
        (_, Some(_)) => Some(Outcome::Rejected),
        (_, None) => None,
    }
}

/// Returns whether the platform is to blame for a failed start.
fn is_platform_fault(instance: &Instance, reason: &Reason) -> bool {
    match reason.code {
        ReasonCode::ImagePullFailed
        | ReasonCode::ImagePullDenied
        | ReasonCode::StartTimeout
        | ReasonCode::InvalidImageName => !instance.order.has_own_image(),
        code => matches!(
            code,
            ReasonCode::Internal
                | ReasonCode::InvalidTemplate
                | ReasonCode::NodeLost
                | ReasonCode::NoPlace
                | ReasonCode::PodRejected
                | ReasonCode::RuntimeUnavailable
                | ReasonCode::StorageMissing
                | ReasonCode::TemplateRejected
                | ReasonCode::UnitGone
                | ReasonCode::UnitLost
                | ReasonCode::Unknown
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpu_core::meter::RunKey;
    use gpu_core::{
        claim::Claim,
        instance::{
            Failure,
            fixture::{at, claim, instance, pod},
        },
    };

    fn claimed(second: i64) -> Claim {
        Claim { claimed_at: at(second), ..claim() }
    }

    fn starting(claim: &Claim) -> Instance {
        instance(State::Starting { claim: claim.clone(), reason: None, restarting: false })
    }

    fn running(before: &Instance, claim: &Claim) -> Instance {
        let state = State::Running { claim: claim.clone(), pod: pod() };
        Instance { state, ..before.clone() }
    }

    /// The outcome of a start that was requested at second 0, got its unit then and runs at this second.
    fn ready(claimed_at: i64, now: i64) -> Option<Outcome> {
        let claim = claimed(claimed_at);
        let before = starting(&claim);
        outcome(&before, &running(&before, &claim), at(0), at(now))
    }

    fn failed(code: ReasonCode) -> Option<Outcome> {
        let before = starting(&claimed(0));
        let failure = Some(Failure::new(Reason::new(code, "")));
        let after = Instance { state: State::Stopped { failure, hold: None }, ..before.clone() };
        outcome(&before, &after, at(0), at(5))
    }

    #[test]
    fn a_start_takes_the_time_since_it_was_requested() {
        assert_eq!(ready(0, 30), Some(Outcome::InTime));
        assert_eq!(ready(0, 31), Some(Outcome::Late));
        assert_eq!(ready(29, 31), Some(Outcome::Late), "a slow claim counts");
        assert_eq!(ready(31, 61), Some(Outcome::InTime), "the queue does not");
        assert_eq!(ready(31, 62), Some(Outcome::Late));
    }

    #[test]
    fn failures_of_the_platform_count_and_those_of_users_do_not() {
        for code in [ReasonCode::Internal, ReasonCode::NoPlace, ReasonCode::ImagePullFailed] {
            assert_eq!(failed(code), Some(Outcome::Failed), "{code:?}");
        }
        for code in [ReasonCode::QuotaExceeded, ReasonCode::StockExhausted, ReasonCode::ContainerExited] {
            assert_eq!(failed(code), Some(Outcome::Rejected), "{code:?}");
        }
    }

    #[test]
    fn what_has_run_in_its_unit_is_not_started_again() {
        let claim = claimed(0);
        let ran = |attempt, since| {
            let mut before = starting(&claim);
            before.meter.closed = Some((RunKey { attempt, since: at(since) }, at(since + 1)));
            outcome(&before, &running(&before, &claim), at(0), at(500))
        };
        assert_eq!(ran(2, 10), None, "its container restarts");
        assert_eq!(ran(1, 10), None, "it was removed from its unit and continues there");
        assert_eq!(ran(1, -10), Some(Outcome::Late), "an earlier start is another one");
        let steady = running(&starting(&claim), &claim);
        assert_eq!(outcome(&steady, &steady, at(0), at(500)), None);
    }
}

//! Whether an instance is idle, and what follows. Pure.
//!
//! Only observed time counts: a short gap in the observations pauses the idle time, a longer gap or any use
//! restarts it. An instance is stopped once it has been idle for the time that is set and announced for the
//! time that is configured, both up to a time for which everything is known.

use jiff::{SignedDuration, Timestamp};

use crate::{
    event::{IdleStopAnnounced, IdleStopWithdrawal},
    instance::{IdleConfig, IdleStop},
};

/// The longest time between two evaluations: less than samples are kept.
const MAX_WAIT: SignedDuration = SignedDuration::from_mins(30);
/// Time until an instance with too little data is evaluated again.
const RETRY: SignedDuration = SignedDuration::from_mins(1);

/// The resource usage of an instance in a span of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load {
    pub start: Timestamp,
    pub end: Timestamp,
    /// Percent of the cores of the unit.
    pub cpu_percent: f64,
    /// Percent of the busiest GPU; none where the use of GPUs is not reported.
    pub gpu_percent: Option<f64>,
}

/// The reported connections, terminals and SSH sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Connections {
    /// The last time at which one was open.
    pub connected_at: Option<Timestamp>,
    /// Time up to which all of them are known; none if nothing is known.
    pub known_to: Option<Timestamp>,
    /// Time up to which some remain unknown, because a replica has disappeared.
    pub lost_to: Option<Timestamp>,
}

/// A replica that reports connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reporter {
    pub is_gateway: bool,
    pub reported_at: Timestamp,
    pub has_ended: bool,
}

impl Connections {
    /// Summarizes the reports of replicas. A replica that is silent may still carry unknown connections for a
    /// while. Only a reporting replica of the gateway shows that connections are reported at all.
    pub fn reported(
        connected_at: Option<Timestamp>,
        reporters: &[Reporter],
        config: IdleConfig,
        now: Timestamp,
    ) -> Self {
        let lost = SignedDuration::from_secs(config.lost_seconds.into());
        let running = reporters.iter().filter(|reporter| !reporter.has_ended);
        let (silent, live): (Vec<&Reporter>, Vec<&Reporter>) =
            running.partition(|reporter| now.duration_since(reporter.reported_at) > lost);
        let has_gateway = live.iter().any(|reporter| reporter.is_gateway);
        Self {
            connected_at,
            known_to: live.iter().map(|reporter| reporter.reported_at).min().filter(|_| has_gateway),
            lost_to: silent.iter().map(|reporter| later(reporter.reported_at, lost)).max(),
        }
    }
}

/// The findings up to a time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Progress {
    /// Time up to which the use of CPU and GPU was read.
    pub known_to: Option<Timestamp>,
    /// Since when the instance is idle, in whole seconds; none if it is not.
    pub idle_since: Option<Timestamp>,
    /// Seconds since then that were not observed, and do not count.
    pub paused_seconds: f64,
    pub cpu_peak_percent: Option<f64>,
    pub gpu_peak_percent: Option<f64>,
}

/// Since when idle time may count, and what ended it before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Begin {
    pub at: Timestamp,
    pub cause: IdleStopWithdrawal,
}

impl Begin {
    /// The latest event that restarts the idle time.
    pub fn of(run: Timestamp, reset_at: Timestamp, connections: &Connections) -> Self {
        let begins = [
            (Some(run), IdleStopWithdrawal::NotRunning),
            (Some(reset_at), IdleStopWithdrawal::SettingsChanged),
            (connections.lost_to, IdleStopWithdrawal::Unknown),
            (connections.connected_at, IdleStopWithdrawal::Connected),
        ];
        let begins = begins.into_iter().filter_map(|(at, cause)| Some(Self { at: at?, cause }));
        begins.max_by_key(|begin| begin.at).unwrap_or(Self { at: run, cause: IdleStopWithdrawal::NotRunning })
    }
}

impl Progress {
    /// Restarts the idle time.
    fn interrupt(&mut self) {
        *self = Self { known_to: self.known_to, ..Self::default() };
    }

    /// Advances to the end of the measured loads. Returns what interrupted the idle time last.
    fn observe(
        &mut self,
        loads: &[Load],
        begin: Begin,
        terms: &IdleStop,
        unknown: SignedDuration,
    ) -> IdleStopWithdrawal {
        let mut cause = begin.cause;
        if self.idle_since.is_some_and(|since| since < begin.at) {
            self.interrupt();
        }
        if self.known_to.is_none_or(|known_to| known_to < begin.at) {
            self.interrupt();
            self.known_to = Some(begin.at);
        }
        let mut known_to = self.known_to.unwrap_or(begin.at);
        for load in loads.iter().filter(|load| load.start < load.end) {
            if load.end <= known_to {
                continue;
            }
            let from = load.start.max(known_to);
            let gap = from.duration_since(known_to);
            if gap > unknown {
                self.interrupt();
                cause = IdleStopWithdrawal::Unknown;
            } else if self.idle_since.is_some() {
                self.paused_seconds += gap.as_secs_f64();
            }
            known_to = load.end;
            let busy = load.cpu_percent >= f64::from(terms.cpu_below_percent)
                || load.gpu_percent.is_some_and(|percent| percent >= f64::from(terms.gpu_below_percent));
            if busy {
                self.interrupt();
                cause = IdleStopWithdrawal::Used;
            } else {
                self.idle_since = self.idle_since.or(Some(next_second(from)));
                self.cpu_peak_percent = highest(self.cpu_peak_percent, Some(load.cpu_percent));
                self.gpu_peak_percent = highest(self.gpu_peak_percent, load.gpu_percent);
            }
        }
        self.known_to = Some(known_to);
        cause
    }
}

/// The current knowledge of the use of an instance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Idleness {
    /// In use, or used within the last observed span.
    Active,
    /// Idle since this time, with the observed idle duration.
    Idle { since: Timestamp, observed: SignedDuration },
    /// Too little is known.
    Unknown,
}

/// What follows.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// Nothing new.
    Keep,
    /// The stop is announced.
    Announce(IdleStopAnnounced),
    /// The announced stop is withdrawn.
    Withdraw(IdleStopWithdrawal),
    /// The instance is stopped.
    Stop,
}

/// The result of an evaluation.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    pub progress: Progress,
    pub idleness: Idleness,
    pub decision: Decision,
    /// Time until the next evaluation.
    pub next: SignedDuration,
}

/// Evaluates a running instance at a time. `loads` are in order.
pub fn evaluate(
    terms: &IdleStop,
    mut progress: Progress,
    loads: &[Load],
    begin: Begin,
    connections: &Connections,
    config: IdleConfig,
    now: Timestamp,
) -> Evaluation {
    let seconds = |seconds: u32| SignedDuration::from_secs(seconds.into());
    let (after, notice, unknown) =
        (seconds(terms.after_seconds), seconds(config.notice_seconds), seconds(config.unknown_seconds));
    let mut cause = progress.observe(loads, begin, terms, unknown);
    let read_to = progress.known_to.unwrap_or(begin.at);
    let known_to = connections.known_to.map(|reported_to| reported_to.min(read_to));
    let idleness = match (known_to, progress.idle_since) {
        (Some(known_to), since) if now.duration_since(known_to) <= unknown => match since {
            Some(since) if since <= known_to => {
                let paused = SignedDuration::try_from_secs_f64(progress.paused_seconds).unwrap_or(after);
                let observed = known_to.duration_since(since) - paused;
                Idleness::Idle { since, observed: observed.max(SignedDuration::ZERO) }
            }
            _ => Idleness::Active,
        },
        _ => Idleness::Unknown,
    };
    if idleness == Idleness::Unknown {
        progress.interrupt();
        cause = IdleStopWithdrawal::Unknown;
    }
    let decision = match (terms.announced, idleness) {
        (None, Idleness::Idle { since, observed }) if observed >= after - notice => {
            let rest = (after - observed).max(notice);
            Decision::Announce(IdleStopAnnounced {
                idle_since: since,
                stop_at: next_second(later(now, rest)),
                cpu_percent: rounded(progress.cpu_peak_percent.unwrap_or_default()),
                gpu_percent: progress.gpu_peak_percent.map(rounded),
            })
        }
        (Some(announced), Idleness::Idle { since, observed }) if since == announced.idle_since => {
            let is_over = known_to.is_some_and(|known_to| known_to >= announced.stop_at);
            if is_over && observed >= after { Decision::Stop } else { Decision::Keep }
        }
        (Some(_), _) => Decision::Withdraw(cause),
        (None, _) => Decision::Keep,
    };
    let check = seconds(config.check_seconds.max(1));
    let is_announced = match &decision {
        Decision::Announce(_) => true,
        Decision::Keep => terms.announced.is_some(),
        Decision::Withdraw(_) | Decision::Stop => false,
    };
    let next = match idleness {
        _ if is_announced => check,
        Idleness::Unknown => RETRY.min(after - notice),
        Idleness::Active => after - notice,
        Idleness::Idle { observed, .. } => after - notice - observed,
    };
    Evaluation { progress, idleness, decision, next: next.clamp(check, MAX_WAIT.max(check)) }
}

fn later(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.checked_add(by).unwrap_or(Timestamp::MAX)
}

/// Returns the time, or the beginning of the next second.
fn next_second(at: Timestamp) -> Timestamp {
    let second = Timestamp::from_second(at.as_second()).unwrap_or(at);
    if second < at { later(second, SignedDuration::from_secs(1)) } else { at }
}

fn highest(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.max(other)),
        (one, other) => one.or(other),
    }
}

fn rounded(percent: f64) -> f64 {
    (percent * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests;

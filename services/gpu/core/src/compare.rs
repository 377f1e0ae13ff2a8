//! The meter compared with the history that the cluster keeps of a unit. Pure.
//!
//! The history is the last [`HISTORY`] runs that ended in the unit. It may be behind what the meter has recorded, as it
//! comes from a watch, and it is empty after the unit's object was created again. So a recorded run counts as unproven only
//! if the history is complete, and has runs before and after it.

use ids::{InstanceId, RunId};
use jiff::Timestamp;

use crate::meter::{Correction, EndedRun, RunKey};

/// Runs that the cluster keeps of a unit.
pub(super) const HISTORY: usize = 8;

/// A closed run of the meter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// Run id.
    pub id: RunId,
    /// Version that was read.
    pub version: i32,
    /// The instance.
    pub instance: InstanceId,
    /// Which run.
    pub key: RunKey,
    /// When it ended.
    pub ended_at: Timestamp,
}

/// A run in the cluster's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reported {
    /// The instance.
    pub instance: InstanceId,
    /// The run.
    pub run: EndedRun,
}

/// A difference between the meter and the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// The meter does not have this run.
    Missed(Reported),
    /// The meter has another end.
    Differs {
        /// The recorded run.
        recorded: Recorded,
        /// The right end.
        ended_at: Timestamp,
        /// Why it is corrected.
        correction: Correction,
    },
}

/// Compares the closed runs in a unit with the unit's history, in both directions. `open` are the open runs
/// of the meter; reconciles record their ends.
#[must_use]
pub fn compare(recorded: &[Recorded], open: &[(InstanceId, RunKey)], history: &[Reported]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for reported in merged(history) {
        let (instance, key) = (reported.instance, reported.run.key);
        if open.contains(&(instance, key)) {
            continue;
        }
        match recorded.iter().find(|run| run.instance == instance && run.key == key) {
            None => findings.push(Finding::Missed(reported)),
            Some(run) => {
                let end = reported.run.ended_at;
                // an unobserved end is recorded as the latest possible one
                let agrees = if reported.run.unseen { run.ended_at <= end } else { run.ended_at == end };
                if !agrees {
                    findings.push(Finding::Differs {
                        recorded: run.clone(),
                        ended_at: end,
                        correction: Correction::ClusterHistory,
                    });
                }
            }
        }
    }
    if history.len() < HISTORY {
        let unproven =
            recorded.iter().filter(|run| run.ended_at > run.key.since && is_unproven(run, history));
        findings.extend(unproven.map(|run| Finding::Differs {
            recorded: run.clone(),
            ended_at: run.key.since,
            correction: Correction::UnprovenRun,
        }));
    }
    findings
}

/// Runs of one instance that begin within the same second are one run with the later end.
fn merged(history: &[Reported]) -> Vec<Reported> {
    let mut merged: Vec<Reported> = Vec::new();
    for reported in history {
        let same = merged
            .iter_mut()
            .find(|before| (before.instance, before.run.key) == (reported.instance, reported.run.key));
        match same {
            Some(before) if before.run.ended_at < reported.run.ended_at => before.run = reported.run.clone(),
            Some(_) => {}
            None => merged.push(reported.clone()),
        }
    }
    merged
}

fn is_unproven(run: &Recorded, history: &[Reported]) -> bool {
    let known = history.iter().any(|other| other.instance == run.instance && other.run.key == run.key);
    let before = history.iter().any(|other| other.run.ended_at <= run.key.since);
    let after = history.iter().any(|other| other.run.key.since >= run.ended_at);
    !known && before && after
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ends::EndReason;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + second).unwrap()
    }

    fn reported(instance: InstanceId, attempt: i64, since: i64, until: i64) -> Reported {
        let key = RunKey { attempt, since: at(since) };
        let run = EndedRun { key, ended_at: at(until), unseen: false, reason: EndReason::Stopped };
        Reported { instance, run }
    }

    fn recorded(reported: &Reported) -> Recorded {
        let Reported { instance, run } = reported;
        Recorded { id: RunId::new(), version: 2, instance: *instance, key: run.key, ended_at: run.ended_at }
    }

    #[test]
    fn a_run_between_those_of_a_complete_history_is_unproven() {
        let id = InstanceId::new();
        let run = |attempt: i64| reported(id, attempt, 100 * attempt, 100 * attempt + 50);
        let meter: Vec<_> = (1..=3).map(|n| recorded(&run(n))).collect();
        let unproven = |history: &[Reported]| {
            let found = compare(&meter, &[], history);
            found
                .iter()
                .any(|found| matches!(found, Finding::Differs { ended_at, .. } if *ended_at == at(200)))
        };
        assert!(unproven(&[run(1), run(3)]));
        assert!(!unproven(&[run(1)]), "the history may be behind the meter");
        assert!(!unproven(&[run(3)]), "the unit's object may have been created again");
        let long: Vec<_> = [1, 3, 4, 5, 6, 7, 8, 9].map(run).into();
        assert!(!unproven(&long), "the history may have been cut");
    }

    #[test]
    fn an_end_that_was_not_observed_is_an_upper_bound() {
        let mut history = reported(InstanceId::new(), 1, 100, 160);
        history.run.unseen = true;
        let mut run = recorded(&history);
        for (end, found) in [(100, 0), (130, 0), (160, 0), (161, 1)] {
            run.ended_at = at(end);
            assert_eq!(compare(&[run.clone()], &[], &[history.clone()]).len(), found, "{end}");
        }
    }

    proptest! {
        /// Whatever was lost or recorded wrongly, the corrected meter has the seconds of the history, and a second look
        /// finds nothing.
        #[test]
        fn the_corrected_meter_is_the_history(
            lengths in prop::collection::vec((0..60i64, 0..60i64), 1..HISTORY),
            faults in prop::collection::vec((0..4u8, 1..100i64), HISTORY),
        ) {
            let id = InstanceId::new();
            let mut clock = 0;
            let history: Vec<_> = lengths.iter().zip(1..).map(|((idle, length), attempt)| {
                clock += idle + length + 1;
                reported(id, attempt, clock - length, clock)
            }).collect();
            let mut meter = Vec::new();
            for (run, (fault, seconds)) in history.iter().zip(&faults) {
                let mut row = recorded(run);
                match fault {
                    0 => continue,
                    1 => row.ended_at = at(run.run.ended_at.as_second() - at(0).as_second() + seconds),
                    2 => row.ended_at = run.run.key.since,
                    _ => {}
                }
                meter.push(row);
            }
            for finding in compare(&meter, &[], &history) {
                match finding {
                    Finding::Missed(run) => meter.push(recorded(&run)),
                    Finding::Differs { recorded, ended_at, .. } => {
                        meter.iter_mut().find(|run| run.id == recorded.id).unwrap().ended_at = ended_at;
                    }
                }
            }
            prop_assert_eq!(compare(&meter, &[], &history), []);
            let seconds = |begin: Timestamp, end: Timestamp| end.as_second() - begin.as_second();
            let metered: i64 = meter.iter().map(|run| seconds(run.key.since, run.ended_at)).sum();
            let ran: i64 = history.iter().map(|run| seconds(run.run.key.since, run.run.ended_at)).sum();
            prop_assert_eq!(metered, ran);
        }
    }
}

//! The runs of an instance, as they are metered.

use jiff::Timestamp;

use super::Instance;
use crate::{
    ends::EndReason,
    event::{Detail, RunEnded},
    meter::{EndedRun, Metering, RunKey},
};

impl Instance {
    /// Whether it was ready in its current start.
    pub(crate) fn was_ready(&self) -> bool {
        let runs = [self.meter.open, self.meter.closed.map(|(key, _)| key)];
        runs.into_iter().flatten().any(|key| key.attempt == self.attempt)
    }

    pub(crate) fn open_run(&mut self, since: Timestamp) -> Vec<Metering> {
        let key = RunKey { attempt: self.attempt, since };
        if self.meter.open == Some(key) {
            return Vec::new();
        }
        // no observation showed the end of the previous run
        let mut metering = self.close_unseen_run();
        metering.push(Metering::Open(key));
        self.meter.open = Some(key);
        metering
    }

    pub(crate) fn close_runs(&mut self, runs: &[EndedRun]) -> Vec<Metering> {
        let mut metering = Vec::new();
        for run in runs {
            if self.meter.knows(run) {
                continue;
            }
            if self.meter.open == Some(run.key) {
                self.meter.open = None;
            }
            self.meter.closed = Some((run.key, run.ended_at));
            metering.push(Metering::Close(run.clone()));
        }
        metering
    }

    pub(crate) fn close_unseen_run(&mut self) -> Vec<Metering> {
        self.meter.open.take().map(Metering::CloseUnseen).into_iter().collect()
    }
}

/// Returns the end of a run, as it is logged.
pub(super) fn run_ended(metering: &Metering) -> Option<Detail> {
    let ended = match metering {
        Metering::Open(_) | Metering::OpenHold(_) | Metering::CloseHold(_) => return None,
        Metering::Close(run) => RunEnded {
            attempt: run.key.attempt,
            started_at: run.key.since,
            ended_at: (!run.unseen).then_some(run.ended_at),
            end_reason: run.reason,
        },
        Metering::CloseUnseen(key) => RunEnded {
            attempt: key.attempt,
            started_at: key.since,
            ended_at: None,
            end_reason: EndReason::Unseen,
        },
    };
    Some(Detail::RunEnded(ended))
}

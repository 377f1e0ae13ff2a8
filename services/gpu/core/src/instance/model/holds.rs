//! How an instance begins and ends the hold of its unit.

use jiff::{SignedDuration, Timestamp};

use super::{
    super::{hold::Hold, parts::ClaimStatus, state::State},
    Effects, Instance,
};
use crate::{
    claim::Claim,
    ends::HoldEnd,
    event::{Detail, Entry, HoldEnded, HoldStarted},
    meter::{EndedHold, Metering, RunKey},
};

impl Instance {
    /// Returns the hold of a stopped instance.
    #[must_use]
    pub fn hold(&self) -> Option<&Hold> {
        match &self.state {
            State::Stopped { hold, .. } => hold.as_ref(),
            _ => None,
        }
    }

    /// Returns until when the instance keeps its unit, or will keep it once it has stopped.
    #[must_use]
    pub fn held_until(&self) -> Option<Timestamp> {
        match &self.state {
            State::Stopping { hold, .. } => *hold,
            _ => self.hold().map(|hold| hold.until),
        }
    }

    /// Begins the hold of an instance that has stopped, at a time of this service's clock. It does not
    /// overlap the previous run, nor begin in the same second, since runs are identified by their beginnings.
    pub(crate) fn begin_hold(&mut self, claim: Claim, until: Timestamp, at: Timestamp) -> Effects {
        let metering = self.close_unseen_run();
        let closed = self.meter.closed.filter(|(key, _)| key.attempt == self.attempt);
        let unseen = metering.iter().filter_map(|unseen| match unseen {
            Metering::CloseUnseen(key) => Some(*key),
            _ => None,
        });
        let runs =
            closed.into_iter().flat_map(|(key, end)| [end, next_second(key)]).chain(unseen.map(next_second));
        let since = runs.fold(whole_second(at), Timestamp::max);
        let started = HoldStarted {
            unit_id: claim.unit_id,
            started_at: since,
            until,
            price_per_hour: claim.hold_price_per_hour().unwrap_or_default(),
            currency: claim.currency.clone(),
        };
        let mut effects =
            Effects { metering, log: vec![Detail::HoldStarted(started).into()], ..Effects::default() };
        effects.metering.push(Metering::OpenHold(RunKey { attempt: self.attempt, since }));
        self.state = State::Stopped { failure: None, hold: Some(Hold { claim, since, until }) };
        effects
    }

    /// Ends the hold, if there is one. Its unit is still claimed. Returns the claim and the effects to store;
    /// the next reconcile records the end in the meter.
    pub(crate) fn end_hold(&mut self, cause: HoldEnd, at: Timestamp) -> Option<(Claim, Effects)> {
        let State::Stopped { hold, .. } = &mut self.state else { return None };
        let Hold { claim, since, until } = hold.take()?;
        let ended_at = whole_second(at).min(until).max(since);
        let ended = HoldEnded { started_at: Some(since), ended_at: Some(ended_at), cause };
        let key = RunKey { attempt: self.attempt, since };
        self.meter.ended_hold = Some(EndedHold { key, ended_at, cause });
        Some((claim, Effects { log: vec![Detail::HoldEnded(ended).into()], ..Effects::default() }))
    }

    /// Cancels a hold that has not begun.
    pub(crate) fn cancel_hold(&mut self, cause: HoldEnd) -> Option<Entry> {
        let State::Stopping { hold, .. } = &mut self.state else { return None };
        hold.take()?;
        Some(Detail::HoldEnded(HoldEnded { started_at: None, ended_at: None, cause }).into())
    }

    /// Ends or cancels the hold; an instance that kept its unit then releases it.
    pub(crate) fn give_up_hold(&mut self, cause: HoldEnd, at: Timestamp) -> Effects {
        match self.end_hold(cause, at) {
            Some((claim, effects)) => {
                self.state = State::Stopping {
                    claim: ClaimStatus::Held(claim),
                    failure: None,
                    reason: None,
                    hold: None,
                };
                effects
            }
            None => Effects { log: self.cancel_hold(cause).into_iter().collect(), ..Effects::default() },
        }
    }
}

fn next_second(key: RunKey) -> Timestamp {
    key.since.checked_add(SignedDuration::from_secs(1)).unwrap_or(key.since)
}

/// Returns the beginning of the second.
fn whole_second(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}

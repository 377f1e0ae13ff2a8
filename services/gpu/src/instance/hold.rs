//! Holds: a stopped instance keeps its unit for a part of the price, until a time or until it is given up. Pure.

use jiff::{SignedDuration, Timestamp};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    model::{Effects, Instance},
    parts::{Claim, ClaimStatus},
    state::State,
};
use crate::{
    event::{Detail, Entry, HoldEnded, HoldStarted},
    usage::{EndedHold, Metering, RunKey},
};

/// A unit that a stopped instance keeps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hold {
    /// The unit.
    pub claim: Claim,
    /// Time since which it is billed as held, in whole seconds.
    pub since: Timestamp,
    /// When it ends, unless it is given up before. In whole seconds.
    pub until: Timestamp,
}

/// Why a hold ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum HoldEnd {
    /// The instance was started, in the held unit.
    InstanceStarted,
    /// The tenant gave it up.
    GivenUp,
    /// Its time is over.
    Expired,
    /// The unit was removed or lost with its node.
    UnitLost,
    /// The instance was deleted.
    InstanceDeleted,
    /// An administrator ended it.
    Administrator,
    /// The tenant is suspended.
    TenantSuspended,
    /// The tenant has spent its budget.
    BudgetExhausted,
    /// The end was not recorded. It is billed until it was last confirmed.
    Unseen,
}

impl Claim {
    /// Returns the price per hour of the unit while it is held; none if it cannot be held.
    #[must_use]
    pub fn hold_price_per_hour(&self) -> Option<Decimal> {
        self.hold_price_fraction.map(|fraction| hold_price(self.price_per_hour, fraction))
    }
}

/// Returns the price per hour of a hold.
pub(super) fn hold_price(price_per_hour: Decimal, fraction: Decimal) -> Decimal {
    (price_per_hour * fraction).normalize()
}

/// Returns the beginning of the second.
pub(super) fn whole_second(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}

impl Instance {
    /// Returns the hold of a stopped instance.
    #[must_use]
    pub fn hold(&self) -> Option<&Hold> {
        match &self.state {
            State::Stopped { hold, .. } => hold.as_ref(),
            _ => None,
        }
    }

    /// Returns until when the instance keeps its unit, or is to keep it once it has stopped.
    #[must_use]
    pub fn held_until(&self) -> Option<Timestamp> {
        match &self.state {
            State::Stopping { hold, .. } => *hold,
            _ => self.hold().map(|hold| hold.until),
        }
    }

    /// Begins the hold of an instance that has stopped, at a time of this service's clock. It does not overlap the run
    /// before, and does not begin in the same second as that, since runs are told apart by their beginnings.
    pub(super) fn begin_hold(&mut self, claim: Claim, until: Timestamp, at: Timestamp) -> Effects {
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

    /// Ends the hold, if there is one. Its unit is still claimed. Returns the claim with what is to be stored; the next
    /// reconcile records the end in the meter.
    pub(super) fn end_hold(&mut self, cause: HoldEnd, at: Timestamp) -> Option<(Claim, Effects)> {
        let State::Stopped { hold, .. } = &mut self.state else { return None };
        let Hold { claim, since, until } = hold.take()?;
        let ended_at = whole_second(at).min(until).max(since);
        let ended = HoldEnded { started_at: Some(since), ended_at: Some(ended_at), cause };
        let key = RunKey { attempt: self.attempt, since };
        self.meter.ended_hold = Some(EndedHold { key, ended_at, cause });
        Some((claim, Effects { log: vec![Detail::HoldEnded(ended).into()], ..Effects::default() }))
    }

    /// Cancels a hold that has not begun.
    pub(super) fn cancel_hold(&mut self, cause: HoldEnd) -> Option<Entry> {
        let State::Stopping { hold, .. } = &mut self.state else { return None };
        hold.take()?;
        Some(Detail::HoldEnded(HoldEnded { started_at: None, ended_at: None, cause }).into())
    }

    /// Ends or cancels the hold; an instance that kept its unit then releases it.
    pub(super) fn give_up_hold(&mut self, cause: HoldEnd, at: Timestamp) -> Effects {
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

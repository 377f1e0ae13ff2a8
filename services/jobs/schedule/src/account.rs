//! A tenant's use of a pool, and its place in the order.
//!
//! Use above the guarantee is charged with the price and halves every 30 minutes. Instead of halving all old
//! charges, each new one is multiplied by 2^(time / 30 min): the order of tenants is the same, and no tenant
//! changes just because time passes. The multiplier starts again at each epoch (16 h), when all charges are
//! divided by 2^32.

use std::collections::BTreeSet;

use super::{
    Millis,
    model::{JobId, Share, Tenant},
};

pub(super) const HALF_LIFE: Millis = 30 * 60_000;
/// Half-lives in an epoch.
pub(super) const EPOCH: u64 = 32;
/// An attempt is charged in slices of at most this, each at its beginning.
pub(super) const SLICE: Millis = 5 * 60_000;

/// 2^(1/2), 2^(1/4) … 2^(1/64), times 2^32.
const ROOTS: [u128; 6] = {
    let mut roots = [0; 6];
    let mut power: u128 = 2 << 32;
    let mut at = 0;
    while at < roots.len() {
        power = (power << 32).isqrt();
        roots[at] = power;
        at += 1;
    }
    roots
};

/// The number of the epoch of a time.
pub(super) fn epoch(now: Millis) -> u64 {
    now / (HALF_LIFE * EPOCH)
}

/// The factor of a charge made now: 2^16 at the beginning of an epoch, doubled with each half-life.
pub(super) fn scale(now: Millis) -> u128 {
    let (halves, rest) = ((now / HALF_LIFE) % EPOCH, now % HALF_LIFE);
    let step = rest * 64 / HALF_LIFE;
    let fraction = ROOTS
        .iter()
        .enumerate()
        .filter(|(bit, _)| step & (32 >> bit) != 0)
        .fold(1 << 32, |product: u128, (_, root)| (product * root) >> 32);
    (fraction << halves) >> 16
}

/// The place of a tenant in the order; the least is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// Holds less than its guarantee: this part of it, in thousandths.
    Owed(u64),
    /// Borrows: its use for a weight of one thousandth.
    Borrowing(u128),
}

/// A tenant with its use and its jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Account {
    pub(super) tenant: Tenant,
    /// Units of running jobs.
    pub(super) held: u32,
    /// The part of these for urgent jobs.
    pub(super) urgent: u32,
    /// The part of these for attempts that were told to leave.
    pub(super) leaving: u32,
    /// Jobs that could start.
    pub(super) queued: u32,
    /// Jobs that run.
    pub(super) running: BTreeSet<JobId>,
}

impl Account {
    pub(super) fn new(tenant: Tenant) -> Self {
        Self { tenant, held: 0, urgent: 0, leaving: 0, queued: 0, running: BTreeSet::new() }
    }

    pub(super) fn share(&self) -> &Share {
        &self.tenant.share
    }

    pub(super) fn rank(&self) -> Rank {
        let share = self.share();
        if self.held < share.guarantee {
            Rank::Owed(u64::from(self.held) * 1_000 / u64::from(share.guarantee))
        } else {
            Rank::Borrowing(self.tenant.usage / u128::from(share.weight.max(1)))
        }
    }

    /// Whether it is in the order: it has jobs that could start, and may hold more.
    pub(super) fn competes(&self) -> bool {
        self.queued > 0 && self.held < self.share().limit
    }

    /// Whether this many additional units stay within the limit.
    pub(super) fn has_limit_for(&self, units: u32) -> bool {
        self.held.saturating_add(units) <= self.share().limit
    }

    /// Returns how many of its last `units` units are above the guarantee.
    pub(super) fn borrowed(&self, units: u32) -> u32 {
        self.held.saturating_sub(self.share().guarantee).min(units)
    }
}

/// A tenant's use of a pool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Used {
    /// Units of running jobs.
    pub units: u32,
    /// The part of these for urgent jobs.
    pub urgent: u32,
    /// Jobs that wait for units.
    pub queued: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_charge_halves_in_half_an_hour() {
        assert_eq!(scale(0), 1 << 16);
        assert_eq!(scale(HALF_LIFE), 1 << 17);
        let half = scale(HALF_LIFE / 2);
        assert!(half.abs_diff(92_682) < 3, "{half}");
        assert!((0..EPOCH * 64 - 1).map(|step| scale(step * HALF_LIFE / 64 + 1)).is_sorted());
    }

    #[test]
    fn an_epoch_follows_on_the_one_before() {
        let end = HALF_LIFE * EPOCH;
        assert_eq!((epoch(end - 1), epoch(end)), (0, 1));
        let (before, after) = (scale(end - 1), scale(end) << EPOCH);
        assert!(before < after && after - before < before / 50, "{before} {after}");
    }
}

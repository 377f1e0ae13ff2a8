//! Weighted fair share: what a tenant has used, and who is next.
//!
//! Use above the guarantee is charged with the price and halves every 30 minutes. Instead of halving all old charges,
//! each new one is multiplied by 2^(time / 30 min): the order of tenants is the same, and no tenant has to be touched
//! because time passes. The multiplier starts again at each epoch (16 h), when all charges are divided by 2^32.

use std::collections::BTreeSet;

use super::{
    model::{JobId, Millis, Share, State, Tenant, TenantId},
    pool::Pool,
};

pub(super) const HALF_LIFE: Millis = 30 * 60_000;
/// Half-lives in an epoch.
const EPOCH: u64 = 32;
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

/// What a charge made now is multiplied with: 2^16 at the beginning of an epoch, doubled with each half-life.
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

/// A tenant with what it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Account {
    pub(super) tenant: Tenant,
    /// Units of running jobs.
    pub(super) held: u32,
    /// Of these, units of urgent jobs.
    pub(super) urgent: u32,
    /// Of these, units of attempts that were told to leave.
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
    fn competes(&self) -> bool {
        self.queued > 0 && self.held < self.share().limit
    }

    /// Whether this many additional units stay within the limit.
    pub(super) fn has_limit_for(&self, units: u32) -> bool {
        self.held.saturating_add(units) <= self.share().limit
    }

    /// Of units that it holds, how many are above the guarantee; the last `units` count.
    fn borrowed(&self, units: u32) -> u32 {
        self.held.saturating_sub(self.share().guarantee).min(units)
    }
}

/// What a tenant uses of a pool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Used {
    /// Units of running jobs.
    pub units: u32,
    /// Of these, units of urgent jobs.
    pub urgent: u32,
    /// Jobs that wait for units.
    pub queued: u32,
}

impl Pool {
    /// What a tenant uses.
    #[must_use]
    pub fn used_by(&self, id: TenantId) -> Used {
        let used =
            |account: &Account| Used { units: account.held, urgent: account.urgent, queued: account.queued };
        self.accounts.get(&id).map(used).unwrap_or_default()
    }

    /// Whether the limit of its tenant lets a job start.
    pub(super) fn is_within_limit(&self, job: JobId) -> bool {
        self.shape_of(job).is_some_and(|shape| {
            self.accounts.get(&shape.tenant).is_some_and(|account| account.has_limit_for(shape.gang))
        })
    }

    /// Number of tenants with jobs that wait for units that are guaranteed to them.
    #[must_use]
    pub fn below_guarantee(&self) -> usize {
        self.order.iter().take_while(|(rank, _)| matches!(rank, Rank::Owed(_))).count()
    }

    /// Changes an account and keeps the order of tenants. An unknown tenant has the default share.
    pub(super) fn change_account<T>(&mut self, id: TenantId, change: impl FnOnce(&mut Account) -> T) -> T {
        let account = self
            .accounts
            .entry(id)
            .or_insert_with(|| Account::new(Tenant { id, share: Share::default(), usage: 0 }));
        if account.competes() {
            self.order.remove(&(account.rank(), id));
        }
        let result = change(account);
        if account.competes() {
            self.order.insert((account.rank(), id));
        }
        result
    }

    /// A tenant that comes back after a pause has no credit for it: it starts level with the least of those who compete.
    /// Otherwise it would get all units that become free until it has caught up. What that one is charged for time to come does not
    /// count: it is refunded when its jobs end earlier, and then they would all go first.
    pub(super) fn lift(&mut self, id: TenantId, now: Millis) {
        let least = self.order.iter().find_map(|(rank, id)| match rank {
            Rank::Borrowing(_) => self.accounts.get(id),
            Rank::Owed(_) => None,
        });
        let Some(least) = least else { return };
        let of_attempt = |job: &JobId| match &self.jobs.get(job)?.state {
            State::Running(attempt) => Some(attempt.slice.unused(now)),
            _ => None,
        };
        let ahead: u128 = least.running.iter().filter_map(of_attempt).sum();
        let used = least.tenant.usage.saturating_sub(ahead) / u128::from(least.share().weight.max(1));
        self.change_account(id, |account| {
            let level = used * u128::from(account.share().weight.max(1));
            account.tenant.usage = account.tenant.usage.max(level);
        });
    }

    /// The charge of units for a time, of which those within the guarantee are free, in the scale of now.
    pub(super) fn charge(&mut self, id: TenantId, units: u32, price: u32, time: Millis, now: Millis) -> u128 {
        self.change_account(id, |account| {
            let borrowed = u128::from(account.borrowed(units));
            let charge = borrowed * u128::from(price) * u128::from(time) * scale(now);
            account.tenant.usage += charge;
            charge
        })
    }

    /// Divides all charges when a new epoch begins.
    pub(super) fn advance_epoch(&mut self, now: Millis) {
        let passed = epoch(now).saturating_sub(self.epoch);
        if passed == 0 {
            return;
        }
        self.epoch += passed;
        let shift = u32::try_from(passed * EPOCH).unwrap_or(u32::MAX).min(127);
        for account in self.accounts.values_mut() {
            account.tenant.usage >>= shift;
        }
        self.shift_slices(shift);
        self.order = self.sorted_order();
    }

    pub(super) fn sorted_order(&self) -> BTreeSet<(Rank, TenantId)> {
        let competing = self.accounts.iter().filter(|(_, account)| account.competes());
        competing.map(|(id, account)| (account.rank(), *id)).collect()
    }
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

//! Weighted fair share: the order of tenants, and charges.

use std::collections::BTreeSet;

use super::{
    Millis,
    account::{Account, EPOCH, Rank, Used, epoch, scale},
    model::{JobId, Share, State, Tenant, TenantId},
    pool::Pool,
};

impl Pool {
    /// The use of a tenant.
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

    /// A tenant that returns after a pause gets no credit for it: it starts at the lowest use among the
    /// competing tenants. Otherwise it would get all units that become free until it has caught up. Charges
    /// of that tenant for future time do not count: they are refunded when its jobs end earlier.
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

    /// The charge of units for a time, in the scale of now. Units within the guarantee are free.
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

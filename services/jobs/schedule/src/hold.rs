//! Tenants whose jobs may not run: waiting jobs are in no queue, and running ones leave.

use super::{
    Millis,
    decision::Decision,
    model::{Entry, Hold, JobId, State, TenantId},
    pool::Pool,
};

impl Pool {
    /// Whether no job of a tenant starts.
    #[must_use]
    pub fn is_held(&self, tenant: TenantId) -> bool {
        self.holds.contains_key(&tenant)
    }

    /// Whether running jobs of a tenant have to leave.
    pub(super) fn is_stopped(&self, tenant: TenantId) -> bool {
        self.hold_of(tenant).is_some_and(|hold| hold != Hold::AllowanceExpired)
    }

    /// Reasons why no job of a tenant starts; none if they do.
    #[must_use]
    pub fn hold_of(&self, tenant: TenantId) -> Option<Hold> {
        self.holds.get(&tenant).copied()
    }

    /// The jobs of a tenant.
    pub fn jobs_of(&self, tenant: TenantId) -> impl Iterator<Item = &Entry> {
        self.jobs.values().filter(move |entry| entry.job.shape.tenant == tenant)
    }

    /// Holds the jobs of a tenant, or releases them. Reservations for held jobs are given up.
    pub(super) fn set_hold(&mut self, id: TenantId, hold: Option<Hold>, now: Millis) {
        if self.hold_of(id) == hold {
            return;
        }
        let jobs: Vec<JobId> = self.jobs_of(id).map(|entry| entry.job.id).collect();
        for job in &jobs {
            self.clear_nominations(*job);
            self.clear_reservation(*job);
        }
        let entries: Vec<Entry> = jobs.into_iter().filter_map(|job| self.remove_entry(job)).collect();
        match hold {
            Some(hold) => self.holds.insert(id, hold),
            None => self.holds.remove(&id),
        };
        let runs = |entry: &Entry| matches!(entry.state, State::Running(_));
        if hold.is_none() && !entries.is_empty() && !entries.iter().any(runs) {
            // like after any other pause
            self.lift(id, now);
        }
        entries.into_iter().for_each(|entry| self.insert_entry(entry));
    }

    /// Tells the attempts of held tenants to leave.
    pub(super) fn stop_held(&mut self, decisions: &mut Vec<Decision>) {
        for job in std::mem::take(&mut self.to_stop) {
            let Ok(attempt) = self.attempt_mut(job) else { continue };
            attempt.leaving = true;
            let units = attempt.workers.len() as u32;
            if let Some(tenant) = self.shape_of(job).map(|shape| shape.tenant) {
                self.change_account(tenant, |account| account.leaving += units);
            }
            decisions.push(Decision::Stop { job });
        }
    }
}

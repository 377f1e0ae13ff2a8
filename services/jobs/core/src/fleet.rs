//! How many workers a pool should have, and which ones leave. Pure.

use std::time::Duration;

use ids::WorkerId;

use crate::worker::{Tenure, WorkerStage};

/// Delay after the first worker that has failed, doubled with each.
const FIRST_DELAY: Duration = Duration::from_secs(5);
/// Longest delay.
const LONGEST_DELAY: Duration = Duration::from_secs(300);

/// The size of a pool.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Least number of firm workers.
    pub min: u32,
    /// Greatest number of firm workers.
    pub max: u32,
    /// Greatest number of lent workers.
    pub lent_max: u32,
    /// How many workers the queue needs.
    pub wanted: u32,
}

impl Size {
    /// How many firm workers the pool should have.
    pub fn firm(self) -> u32 {
        self.wanted.min(self.max).max(self.min)
    }

    /// How many lent workers it should have, if there are spare units: for the need beyond the firm ones.
    pub fn lent(self) -> u32 {
        self.wanted.saturating_sub(self.firm()).min(self.lent_max)
    }
}

/// A worker that the platform runs itself.
#[derive(Debug, Clone, Copy)]
pub struct Member {
    pub id: WorkerId,
    pub stage: WorkerStage,
    pub tenure: Tenure,
    pub is_busy: bool,
    /// How long it has had no job.
    pub idle: Duration,
}

/// The changes of the workers of a pool.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Firm workers to order.
    pub order: u32,
    /// Lent workers to order, if there are spare units.
    pub lend: u32,
    /// Workers that get no more jobs.
    pub drain: Vec<WorkerId>,
    /// Workers that have left their last job.
    pub leave: Vec<WorkerId>,
}

/// Compares a pool with its workers. A firm worker that is not needed leaves when it has been idle for
/// `keep`; the scheduler returns lent ones. Workers above the maximum leave at once, idle ones first.
pub fn plan(size: Size, members: &[Member], keep: Duration) -> Plan {
    let (firm, lent) = (staying(members, Tenure::Firm), staying(members, Tenure::Lent));
    let unneeded = firm.len().saturating_sub(size.firm() as usize);
    let above = |staying: &[Member], max: u32| staying.len().saturating_sub(max as usize);
    let (firm_above, lent_above) = (above(&firm, size.max), above(&lent, size.lent_max));
    let goes = |(position, member): &(usize, &Member)| {
        *position < firm_above || (*position < unneeded && !member.is_busy && member.idle >= keep)
    };
    let mut drain: Vec<WorkerId> =
        firm.iter().enumerate().filter(goes).map(|(_, member)| member.id).collect();
    drain.extend(lent.iter().take(lent_above).map(|member| member.id));
    let is_left = |member: &&Member| {
        !member.is_busy && (member.stage == WorkerStage::Draining || drain.contains(&member.id))
    };
    let leave = members.iter().filter(is_left).map(|member| member.id).collect();
    let missing = |desired: u32, staying: &[Member]| {
        desired.saturating_sub(u32::try_from(staying.len()).unwrap_or(u32::MAX))
    };
    Plan { order: missing(size.firm(), &firm), lend: missing(size.lent(), &lent), drain, leave }
}

/// The workers that accept jobs, or will: the longest idle first, busy ones last.
fn staying(members: &[Member], tenure: Tenure) -> Vec<Member> {
    let mut staying: Vec<Member> = members
        .iter()
        .filter(|member| member.tenure == tenure)
        .filter(|member| matches!(member.stage, WorkerStage::Ordered | WorkerStage::Placed))
        .copied()
        .collect();
    staying.sort_by_key(|member| (member.is_busy, std::cmp::Reverse(member.idle), member.id));
    staying
}

/// Delay after this number of workers that failed in a row.
pub fn delay(failures: u32) -> Duration {
    let doubled = 2_u32.saturating_pow(failures.saturating_sub(1).min(16));
    FIRST_DELAY.saturating_mul(doubled).min(LONGEST_DELAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEEP: Duration = Duration::from_secs(300);

    fn member(stage: WorkerStage, is_busy: bool, idle: u64) -> Member {
        let (id, idle) = (WorkerId::new(), Duration::from_secs(idle));
        Member { id, stage, tenure: Tenure::Firm, is_busy, idle }
    }

    fn size(min: u32, max: u32, wanted: u32) -> Size {
        Size { min, max, lent_max: 0, wanted }
    }

    #[test]
    fn the_queue_decides_between_minimum_and_maximum() {
        let order = |size, members: &[Member]| plan(size, members, KEEP).order;
        let placed = member(WorkerStage::Placed, true, 0);
        assert_eq!(order(size(1, 3, 0), &[]), 1);
        assert_eq!(order(size(1, 3, 2), &[placed]), 1);
        assert_eq!(order(size(1, 3, 9), &[placed]), 2);
        assert_eq!(order(size(0, 3, 0), &[]), 0);
        let leaving = [WorkerStage::Draining, WorkerStage::Leaving].map(|stage| member(stage, true, 0));
        assert_eq!(order(size(1, 3, 0), &leaving), 1, "those that go do not count");
    }

    #[test]
    fn idle_workers_go_when_they_are_not_needed_and_busy_ones_above_the_maximum() {
        let busy = member(WorkerStage::Placed, true, 0);
        let [new, old, older] = [10, 400, 500].map(|idle| member(WorkerStage::Placed, false, idle));
        let all = [busy, new, old, older];
        let drained = |size| plan(size, &all, KEEP).drain;
        assert_eq!(drained(size(0, 4, 4)), []);
        assert_eq!(drained(size(0, 4, 3)), [older.id]);
        assert_eq!(drained(size(0, 4, 1)), [older.id, old.id], "the third was idle for too short a time");
        assert_eq!(drained(size(2, 4, 0)), [older.id, old.id]);
        assert_eq!(drained(size(0, 0, 9)), [older.id, old.id, new.id, busy.id]);
        let plan = plan(size(0, 0, 0), &all, KEEP);
        assert_eq!(plan.leave, [new.id, old.id, older.id], "the busy one leaves when its job has ended");
    }

    #[test]
    fn lent_workers_do_what_firm_ones_cannot() {
        let lent =
            |is_busy, idle| Member { tenure: Tenure::Lent, ..member(WorkerStage::Placed, is_busy, idle) };
        let size = |lent_max, wanted| Size { min: 1, max: 2, lent_max, wanted };
        let firm = member(WorkerStage::Placed, true, 0);
        let ordered = |size, members: &[Member]| {
            let plan = plan(size, members, KEEP);
            (plan.order, plan.lend)
        };
        assert_eq!(ordered(size(3, 0), &[]), (1, 0));
        assert_eq!(ordered(size(3, 2), &[firm]), (1, 0));
        assert_eq!(ordered(size(3, 4), &[firm]), (1, 2));
        assert_eq!(ordered(size(3, 9), &[firm, lent(true, 0)]), (1, 2));
        assert_eq!(ordered(size(0, 9), &[firm]), (1, 0));
        let (busy, idle) = (lent(true, 0), lent(false, 900));
        assert_eq!(plan(size(2, 0), &[busy, idle], KEEP).drain, [], "the scheduler returns it");
        assert_eq!(plan(size(1, 9), &[busy, idle], KEEP).drain, [idle.id]);
        assert_eq!(plan(size(0, 9), &[busy, idle], KEEP).drain, [idle.id, busy.id]);
    }

    #[test]
    fn delays_double() {
        assert_eq!([1, 2, 3, 30].map(|failures| delay(failures).as_secs()), [5, 10, 20, 300]);
    }
}

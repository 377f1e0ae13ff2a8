//! How many workers a pool should have, and which are to go. Pure.

use std::time::Duration;

use ids::WorkerId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Delay after the first worker that has failed, doubled with each.
const FIRST_DELAY: Duration = Duration::from_secs(5);
/// Longest delay.
const LONGEST_DELAY: Duration = Duration::from_secs(300);

/// What the platform does with a worker that it runs itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub(crate) enum WorkerStage {
    /// Its instance is ordered.
    Ordered,
    /// It has an instance.
    Placed,
    /// It gets no job, and leaves when it has none.
    Draining,
    /// Its instance is being deleted.
    Leaving,
}

/// A worker that the platform runs itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member {
    pub(super) id: WorkerId,
    pub(super) stage: WorkerStage,
    pub(super) is_busy: bool,
    /// How long it has had no job.
    pub(super) idle: Duration,
}

/// The size of a pool.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub(super) min: u32,
    pub(super) max: u32,
    /// What the queue asks for.
    pub(super) wanted: u32,
}

impl Size {
    fn desired(self) -> u32 {
        desired(self.min, self.max, self.wanted)
    }
}

/// How many workers the platform should run for a queue that asks for `wanted`.
pub(crate) fn desired(min: u32, max: u32, wanted: u32) -> u32 {
    wanted.min(max).max(min)
}

/// What is to change.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// Workers to order.
    pub(super) order: u32,
    /// Workers that get no more jobs.
    pub(super) drain: Vec<WorkerId>,
    /// Workers that have left their last job.
    pub(super) leave: Vec<WorkerId>,
}

/// Compares a pool with its workers. One that is not needed goes when it has been idle for `keep`; one above the maximum at
/// once, idle ones first.
pub(super) fn plan(size: Size, members: &[Member], keep: Duration) -> Plan {
    let mut staying: Vec<Member> = members
        .iter()
        .filter(|member| matches!(member.stage, WorkerStage::Ordered | WorkerStage::Placed))
        .copied()
        .collect();
    // the longest idle first, busy ones last
    staying.sort_by_key(|member| (member.is_busy, std::cmp::Reverse(member.idle), member.id));
    let count = u32::try_from(staying.len()).unwrap_or(u32::MAX);
    let (above_max, unneeded) = (count.saturating_sub(size.max), count.saturating_sub(size.desired()));
    let goes = |(position, member): &(usize, &Member)| {
        *position < above_max as usize
            || (*position < unneeded as usize && !member.is_busy && member.idle >= keep)
    };
    let drain: Vec<WorkerId> = staying.iter().enumerate().filter(goes).map(|(_, member)| member.id).collect();
    let is_left = |member: &&Member| {
        !member.is_busy && (member.stage == WorkerStage::Draining || drain.contains(&member.id))
    };
    let leave = members.iter().filter(is_left).map(|member| member.id).collect();
    Plan { order: size.desired().saturating_sub(count), drain, leave }
}

/// Delay after so many workers that have failed in a row.
pub(super) fn delay(failures: u32) -> Duration {
    let doubled = 2_u32.saturating_pow(failures.saturating_sub(1).min(16));
    FIRST_DELAY.saturating_mul(doubled).min(LONGEST_DELAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEEP: Duration = Duration::from_secs(300);

    fn member(stage: WorkerStage, is_busy: bool, idle: u64) -> Member {
        Member { id: WorkerId::new(), stage, is_busy, idle: Duration::from_secs(idle) }
    }

    fn size(min: u32, max: u32, wanted: u32) -> Size {
        Size { min, max, wanted }
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
    fn delays_double() {
        assert_eq!([1, 2, 3, 30].map(|failures| delay(failures).as_secs()), [5, 10, 20, 300]);
    }
}

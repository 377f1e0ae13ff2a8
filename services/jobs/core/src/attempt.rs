//! How attempts end, and the effect on their job. Pure.

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    cost::Outcome,
    job::Counts,
    scheduler::SchedulerConfig,
    status::{Fence, JobProblem, QueuedReason, Status},
};

/// Maximum number of failed or lost attempts of a job.
const MAX_FAILURES: i16 = 3;
/// Code of an attempt whose results are refused, as its tenant is suspended.
const TENANT_SUSPENDED: &str = "tenant-suspended";
/// Code of an attempt whose GPU does not work any more.
pub const GPU_FAILED: &str = "gpu-failed";

/// The attempt is not the latest one of its job, or has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the attempt is over")]
pub struct Over;

/// State of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type), sqlx(type_name = "text", rename_all = "snake_case"))]
pub enum AttemptState {
    /// It may still succeed.
    Open,
    /// Its results are the job's.
    Succeeded,
    /// It ended without results.
    Failed,
    /// Its worker was lost.
    Lost,
    /// It left its worker for another job, or with it.
    Preempted,
    /// The job was cancelled.
    Cancelled,
}

/// How an attempt ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// With results.
    Completed,
    /// Without results; another attempt may succeed if it is retryable.
    Failed { problem: JobProblem, retryable: bool },
    /// An action of its tenant prevents it from continuing: its results cannot be delivered, or its inputs
    /// are gone.
    Prevented { problem: JobProblem },
    /// Its worker is gone.
    Lost,
    /// It left its worker because it was told to.
    Left,
}

/// Codes with which workers report that the tenant has no place for results.
const NO_PLACE: [&str; 2] = ["quota-exceeded", "storage-not-available"];
/// Codes with which workers report, before they work, that the tenant does not have what the job needs.
const NO_INPUTS: [&str; 5] =
    ["input-missing", "invalid-parameters", "storage-full", "storage-missing", "storage-refused"];

impl End {
    /// Returns the end as `Prevented` if the tenant caused it.
    pub fn by_tenant(self, has_worked: bool) -> Self {
        match self {
            Self::Failed { problem, retryable: false }
                if NO_PLACE.contains(&&*problem.code)
                    || !has_worked && NO_INPUTS.contains(&&*problem.code) =>
            {
                Self::Prevented { problem }
            }
            other => other,
        }
    }
}

/// When a job is tried again.
#[derive(Debug, Clone, Copy)]
pub struct Policy {
    /// Delay after the first failure; three times as long after the second.
    retry: SignedDuration,
}

impl Policy {
    pub fn of(config: &SchedulerConfig) -> Self {
        Self { retry: SignedDuration::from_millis(config.retry_ms.into()) }
    }

    fn delay(self, failures: i16) -> SignedDuration {
        let factor = 3i32.saturating_pow(u32::from(failures.max(1).unsigned_abs()) - 1);
        self.retry.saturating_mul(factor)
    }
}

/// The effects of the end of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    pub status: Status,
    pub attempt: AttemptState,
    pub counts: Counts,
    pub outcome: Outcome,
}

/// The job's status after its attempt has ended. An attempt that ends without results on a worker that has to
/// leave its unit is never a failure, nor is one that ends while no job of the tenant may run.
///
/// # Errors
/// [`Over`] if the attempt is not the latest one, or has ended.
pub fn end(
    status: &Status,
    fence: Fence,
    end: &End,
    (counts, is_recalled): (Counts, bool),
    policy: &Policy,
    now: Timestamp,
) -> Result<Ended, Over> {
    if status.fence() != Some(fence) {
        return Err(Over);
    }
    let ended = |status, attempt, outcome| Ended { status, attempt, counts, outcome };
    if matches!(status, Status::Cancelling(_)) {
        // what a lost worker did after its last report is unknown
        let outcome = if *end == End::Lost { Outcome::Lost } else { Outcome::Cancelled };
        return Ok(ended(Status::Cancelled, AttemptState::Cancelled, outcome));
    }
    let again = |reason, attempt, problem: JobProblem, outcome| {
        let failures = counts.failures + 1;
        let (status, outcome) = if failures >= MAX_FAILURES {
            let is_loss = attempt == AttemptState::Lost || problem.code == GPU_FAILED;
            let problem = if is_loss && counts.is_at_fault { breaks_workers() } else { problem };
            (Status::Failed(problem), Outcome::Failed)
        } else {
            let not_before = now.checked_add(policy.delay(failures)).ok();
            (Status::Queued { reason: Some(reason), not_before }, outcome)
        };
        Ended { status, attempt, counts: Counts { failures, ..counts }, outcome }
    };
    let in_its_place = |reason, counts, outcome| {
        let status = Status::Queued { reason: Some(reason), not_before: None };
        Ended { status, attempt: AttemptState::Preempted, counts, outcome }
    };
    Ok(match end {
        End::Completed => ended(Status::Succeeded, AttemptState::Succeeded, Outcome::Succeeded),
        End::Failed { problem, retryable: false } if problem.code != TENANT_SUSPENDED => {
            ended(Status::Failed(problem.clone()), AttemptState::Failed, Outcome::Failed)
        }
        End::Prevented { problem } => {
            ended(Status::Failed(problem.clone()), AttemptState::Failed, Outcome::Prevented)
        }
        _ if counts.is_over_cost => {
            let problem = JobProblem {
                code: "max-cost-reached".to_owned(),
                message: "The cost of the job has reached `max_cost`.".to_owned(),
            };
            ended(Status::Failed(problem), AttemptState::Failed, Outcome::OverCost)
        }
        _ if is_recalled => {
            let recalls = counts.recalls.saturating_add(1);
            in_its_place(QueuedReason::Recalled, Counts { recalls, ..counts }, Outcome::Recalled)
        }
        // a suspended tenant may become active again
        End::Failed { retryable: false, .. } => {
            in_its_place(QueuedReason::Preempted, counts, Outcome::Preempted)
        }
        _ if counts.is_held => in_its_place(QueuedReason::Preempted, counts, Outcome::Preempted),
        End::Failed { problem, retryable: true } => {
            again(QueuedReason::Retry, AttemptState::Failed, problem.clone(), Outcome::Retried)
        }
        End::Left if counts.is_leaving => {
            let preemptions = counts.preemptions.saturating_add(1);
            in_its_place(QueuedReason::Preempted, Counts { preemptions, ..counts }, Outcome::Preempted)
        }
        End::Lost | End::Left => {
            let problem = JobProblem {
                code: "worker-lost".to_owned(),
                message: "The workers of all attempts were lost.".to_owned(),
            };
            again(QueuedReason::WorkerLost, AttemptState::Lost, problem, Outcome::Lost)
        }
    })
}

/// The problem of a job whose attempts lost workers on several nodes.
fn breaks_workers() -> JobProblem {
    JobProblem {
        code: "breaks-workers".to_owned(),
        message: "Workers of several nodes were lost with this job, so the job is taken to be the cause."
            .to_owned(),
    }
}

/// The job's status when the worker has begun.
///
/// # Errors
/// [`Over`] if the attempt is not the latest one, or has ended.
pub fn begin(status: &Status, fence: Fence) -> Result<Status, Over> {
    match status {
        Status::Assigned(held) | Status::Running(held) if *held == fence => Ok(Status::Running(fence)),
        Status::Cancelling(held) if *held == fence => Ok(Status::Cancelling(fence)),
        _ => Err(Over),
    }
}

#[cfg(test)]
mod tests {
    use ids::WorkerId;
    use proptest::prelude::*;

    use super::*;

    const POLICY: Policy = Policy { retry: SignedDuration::from_secs(5) };

    fn problem() -> JobProblem {
        JobProblem { code: "engine-failed".into(), message: String::new() }
    }

    fn ends() -> [End; 6] {
        [
            End::Completed,
            End::Prevented { problem: problem() },
            End::Failed { problem: problem(), retryable: false },
            End::Failed { problem: problem(), retryable: true },
            End::Lost,
            End::Left,
        ]
    }

    fn counts(failures: i16) -> Counts {
        Counts {
            failures,
            preemptions: 0,
            recalls: 0,
            is_leaving: false,
            is_over_cost: false,
            is_held: false,
            is_at_fault: false,
        }
    }

    const STAYS: bool = false;

    #[test]
    fn only_the_latest_attempt_ends_its_job() {
        let fence = Fence { attempt: 2, worker: WorkerId::new() };
        for foreign in [Fence { attempt: 1, ..fence }, Fence { worker: WorkerId::new(), ..fence }] {
            for how in ends() {
                let refused = end(
                    &Status::Running(fence),
                    foreign,
                    &how,
                    (counts(0), STAYS),
                    &POLICY,
                    Timestamp::UNIX_EPOCH,
                );
                assert!(matches!(refused, Err(Over)), "{how:?}");
            }
            assert!(matches!(begin(&Status::Running(fence), foreign), Err(Over)));
        }
        for ended in [Status::Succeeded, Status::Cancelled, Status::Expired, Status::Failed(problem())] {
            let refused =
                end(&ended, fence, &End::Completed, (counts(0), STAYS), &POLICY, Timestamp::UNIX_EPOCH);
            assert!(matches!(refused, Err(Over)));
        }
    }

    #[test]
    fn a_cancelled_job_has_no_results_however_its_attempt_ends() {
        let fence = Fence { attempt: 1, worker: WorkerId::new() };
        for how in ends() {
            let ended = end(
                &Status::Cancelling(fence),
                fence,
                &how,
                (counts(2), STAYS),
                &POLICY,
                Timestamp::UNIX_EPOCH,
            )
            .unwrap();
            assert_eq!((ended.status, ended.attempt), (Status::Cancelled, AttemptState::Cancelled));
            let pays = if how == End::Lost { Outcome::Lost } else { Outcome::Cancelled };
            assert_eq!(ended.outcome, pays);
        }
    }

    #[test]
    fn failures_delay_and_the_third_is_the_last() {
        let fence = Fence { attempt: 1, worker: WorkerId::new() };
        let how = End::Failed { problem: problem(), retryable: true };
        let after = |failures| {
            end(
                &Status::Running(fence),
                fence,
                &how,
                (counts(failures), STAYS),
                &POLICY,
                Timestamp::UNIX_EPOCH,
            )
            .unwrap()
            .status
        };
        let again = |seconds| Status::Queued {
            reason: Some(QueuedReason::Retry),
            not_before: Some(Timestamp::from_second(seconds).unwrap()),
        };
        assert_eq!((after(0), after(1), after(2)), (again(5), again(15), Status::Failed(problem())));
    }

    #[test]
    fn leaving_counts_as_a_preemption_only_if_it_was_told_to() {
        let fence = Fence { attempt: 1, worker: WorkerId::new() };
        let leave = |is_leaving| {
            let counts = Counts { preemptions: 1, is_leaving, ..counts(1) };
            let status = Status::Running(fence);
            end(&status, fence, &End::Left, (counts, STAYS), &POLICY, Timestamp::UNIX_EPOCH).unwrap()
        };
        let told = leave(true);
        assert_eq!((told.attempt, told.counts.failures), (AttemptState::Preempted, 1));
        assert_eq!(told.counts.preemptions, 2);
        let by_itself = leave(false);
        assert_eq!((by_itself.attempt, by_itself.counts.failures), (AttemptState::Lost, 2));
        assert_eq!(by_itself.counts.preemptions, 1);
    }

    #[test]
    fn a_job_that_loses_its_unit_has_not_failed() {
        let fence = Fence { attempt: 1, worker: WorkerId::new() };
        let retryable = End::Failed { problem: problem(), retryable: true };
        for how in [End::Left, End::Lost, retryable] {
            let counts = Counts { is_leaving: true, ..counts(2) };
            let status = Status::Running(fence);
            let ended = end(&status, fence, &how, (counts, true), &POLICY, Timestamp::UNIX_EPOCH).unwrap();
            let again = Status::Queued { reason: Some(QueuedReason::Recalled), not_before: None };
            assert_eq!((ended.status, ended.counts), (again, Counts { recalls: 1, ..counts }), "{how:?}");
        }
        let done = (counts(0), true);
        let ended =
            end(&Status::Running(fence), fence, &End::Completed, done, &POLICY, Timestamp::UNIX_EPOCH);
        assert_eq!(ended.unwrap().status, Status::Succeeded);
    }

    #[test]
    fn what_ends_while_the_tenant_is_suspended_waits_in_its_place() {
        let fence = Fence { attempt: 1, worker: WorkerId::new() };
        let after = |how: &End, is_held| {
            let counts = Counts { is_leaving: is_held, is_held, ..counts(2) };
            let status = Status::Running(fence);
            end(&status, fence, how, (counts, STAYS), &POLICY, Timestamp::UNIX_EPOCH).unwrap()
        };
        let refused = JobProblem { code: TENANT_SUSPENDED.to_owned(), message: String::new() };
        let refused = End::Failed { problem: refused, retryable: false };
        let retryable = End::Failed { problem: problem(), retryable: true };
        let again = Status::Queued { reason: Some(QueuedReason::Preempted), not_before: None };
        for (how, is_held) in
            [(&End::Left, true), (&End::Lost, true), (&retryable, true), (&refused, true), (&refused, false)]
        {
            let ended = after(how, is_held);
            assert_eq!((&ended.status, ended.attempt), (&again, AttemptState::Preempted), "{how:?}");
            assert_eq!((ended.counts.failures, ended.counts.preemptions), (2, 0), "{how:?}");
            assert_eq!(ended.outcome, Outcome::Preempted);
        }
        assert_eq!(after(&End::Completed, true).status, Status::Succeeded);
        let invalid = End::Failed { problem: problem(), retryable: false };
        assert_eq!(after(&invalid, true).status, Status::Failed(problem()));
    }

    #[test]
    fn a_job_that_loses_workers_on_several_nodes_is_told_that_it_is_the_cause() {
        let fence = Fence { attempt: 3, worker: WorkerId::new() };
        let failed = |how: &End, is_at_fault| {
            let counts = Counts { is_at_fault, ..counts(2) };
            let status = Status::Running(fence);
            let ended = end(&status, fence, how, (counts, STAYS), &POLICY, Timestamp::UNIX_EPOCH).unwrap();
            let Status::Failed(problem) = ended.status else { panic!("{:?}", ended.status) };
            problem.code
        };
        let gpu = JobProblem { code: GPU_FAILED.to_owned(), message: String::new() };
        let gpu = End::Failed { problem: gpu, retryable: true };
        assert_eq!(
            (failed(&End::Lost, true), failed(&gpu, true)),
            (breaks_workers().code, breaks_workers().code)
        );
        assert_eq!((&*failed(&End::Lost, false), &*failed(&gpu, false)), ("worker-lost", GPU_FAILED));
        let other = End::Failed { problem: problem(), retryable: true };
        assert_eq!(failed(&other, true), problem().code);
    }

    #[test]
    fn what_the_tenant_has_brought_about_is_told_from_other_failures() {
        let by_tenant = |code: &str, retryable, has_worked| {
            let problem = JobProblem { code: code.to_owned(), message: String::new() };
            let end = End::Failed { problem, retryable }.by_tenant(has_worked);
            matches!(end, End::Prevented { .. })
        };
        for (code, before, afterwards) in [
            ("quota-exceeded", true, true),
            ("storage-not-available", true, true),
            ("input-missing", true, false),
            ("invalid-parameters", true, false),
            // of the staged results, which are the platform's
            ("storage-refused", true, false),
            ("engine-failed", false, false),
            ("unknown-method", false, false),
        ] {
            assert_eq!((by_tenant(code, false, false), by_tenant(code, false, true)), (before, afterwards));
            assert!(!by_tenant(code, true, false), "{code}");
        }
    }

    #[test]
    fn a_job_over_its_limit_fails_unless_it_has_its_results() {
        let fence = Fence { attempt: 1, worker: WorkerId::new() };
        let over = Counts { is_leaving: true, is_over_cost: true, ..counts(0) };
        let after = |how: &End, is_recalled| {
            end(&Status::Running(fence), fence, how, (over, is_recalled), &POLICY, Timestamp::UNIX_EPOCH)
                .unwrap()
        };
        for how in [End::Left, End::Lost, End::Failed { problem: problem(), retryable: true }] {
            for is_recalled in [false, true] {
                let ended = after(&how, is_recalled);
                assert!(
                    matches!(ended.status, Status::Failed(problem) if problem.code == "max-cost-reached")
                );
                assert_eq!((ended.attempt, ended.outcome), (AttemptState::Failed, Outcome::OverCost));
            }
        }
        assert_eq!(after(&End::Completed, false).outcome, Outcome::Succeeded);
        let failed = after(&End::Failed { problem: problem(), retryable: false }, false);
        assert_eq!((failed.status, failed.outcome), (Status::Failed(problem()), Outcome::Failed));
    }

    proptest! {
        /// However calls of several attempts interleave, at most one attempt's results count, and an ended job stays as
        /// it is.
        #[test]
        fn at_most_one_attempt_counts(calls in prop::collection::vec((0usize..8, 1i32..5, 0usize..2), 1..60)) {
            let workers = [WorkerId::new(), WorkerId::new()];
            let mut status = Status::Queued { reason: None, not_before: None };
            let (mut number, mut held, mut failures, mut counted) = (0, workers[0], 0, 0);
            for (call, attempt, worker) in calls {
                // what the scheduler does
                if let Status::Queued { .. } = status {
                    number += 1;
                    held = workers[worker];
                    status = Status::Assigned(Fence { attempt: number, worker: held });
                }
                let before = status.clone();
                let fence = Fence { attempt, worker: workers[worker] };
                if call == 6 {
                    if let Ok(next) = begin(&status, fence) {
                        status = next;
                    }
                } else if call == 7 {
                    if let Some(fence) = status.fence() {
                        status = Status::Cancelling(fence);
                    }
                } else if let Ok(ended) =
                    end(&status, fence, &ends()[call], (counts(failures), STAYS), &POLICY, Timestamp::UNIX_EPOCH)
                {
                    prop_assert_eq!(before.fence(), Some(fence));
                    prop_assert_eq!((number, held), (attempt, workers[worker]));
                    counted += i32::from(ended.attempt == AttemptState::Succeeded);
                    (status, failures) = (ended.status, ended.counts.failures);
                }
                if before.is_ended() {
                    prop_assert_eq!(&before, &status);
                }
                prop_assert!(counted <= 1);
                prop_assert!(failures <= MAX_FAILURES);
            }
        }
    }
}

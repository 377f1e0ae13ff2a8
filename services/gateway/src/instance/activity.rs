//! Reports to the gpu service which instances have connections through this replica, so that no instance in
//! use is stopped as idle. A failed report is sent again.

use std::{sync::Arc, time::Duration};

use activity::{Activity, Tracker};
use api::ErrorChain;
use gpu_api::{ActivityReport, Client, ReportedActivity};
use service::{Duty, Task};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

/// Time until a failed report is sent again.
const RETRY: Duration = Duration::from_secs(5);
/// Limit of the last report, which shutdown waits for.
const LAST: Duration = Duration::from_secs(2);
/// Instances in one call.
const BATCH: usize = 5000;

/// Reports for this replica.
pub(crate) struct Reporter {
    gpu: Client,
    tracker: Tracker,
    period: Duration,
    id: String,
}

impl Reporter {
    pub(crate) fn new(gpu: Client, tracker: Tracker, period: Duration) -> Self {
        Self { gpu, tracker, period, id: ids::OperationId::new().to_string() }
    }

    pub(crate) fn task(self) -> Task {
        Task::until_stop("activity", Duty::Housekeeping, &Arc::new(self), |reporter, stop| async move {
            reporter.run(stop).await;
            Ok(())
        })
    }

    async fn run(&self, stop: CancellationToken) {
        let mut is_silent = false;
        while !stop.is_cancelled() {
            let Some(reported) = stop.run_until_cancelled(self.report(false)).await else { break };
            let pause = match reported {
                Ok(()) => self.period,
                Err(error) => {
                    if !is_silent {
                        tracing::warn!(error = %ErrorChain(&error), "cannot report the use of instances; retrying");
                    }
                    RETRY.min(self.period)
                }
            };
            is_silent = pause != self.period;
            stop.run_until_cancelled(sleep(pause)).await;
        }
        // without it, the gpu service considers this replica lost
        if !matches!(timeout(LAST, self.report(true)).await, Ok(Ok(()))) {
            tracing::warn!("the last use of instances is not reported");
        }
    }

    async fn report(&self, has_ended: bool) -> Result<(), peer::Error> {
        let activities = self.tracker.activities();
        let mut rest = activities.as_slice();
        loop {
            let (batch, next) = rest.split_at(rest.len().min(BATCH));
            let is_complete = next.is_empty();
            let report = ActivityReport {
                reporter: self.id.clone(),
                instances: batch.iter().map(reported).collect(),
                is_complete,
                has_ended: has_ended && is_complete,
            };
            self.gpu.report_activity(&report).await?;
            if is_complete {
                break;
            }
            rest = next;
        }
        self.tracker.reported(&activities);
        Ok(())
    }
}

fn reported(activity: &Activity) -> ReportedActivity {
    let seconds_ago = u32::try_from(activity.ago.as_secs()).unwrap_or(u32::MAX);
    ReportedActivity { instance_id: activity.instance, seconds_ago }
}

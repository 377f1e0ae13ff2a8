//! Submissions of one tenant that arrive together share a transaction: while one is open, later submissions
//! are collected. A single submission is carried out at once. So many submissions of a tenant need one
//! commit, and one wait for the lock of its audit log, per group.

use std::sync::Arc;

use api::{IdempotencyKey, Problem, ProblemType, Reply};
use axum::http::StatusCode;
use batch::{BatchWork, Batcher};
use db::Db;
use ids::TenantId;
use jiff::Timestamp;
use tokio::sync::watch;
use tracing::{Instrument as _, Span};

use super::{OpenJobs, change, reply::reply, request::NewJob};

/// Maximum number of submissions of a transaction.
const MAX_GROUP: usize = 100;

/// Submissions of this replica. Those of one tenant share transactions.
pub type Submissions = Batcher<Groups>;

/// Carries out groups of submissions.
pub struct Groups {
    pub db: Db,
    pub open_jobs: Arc<OpenJobs>,
    pub clock: fn() -> Timestamp,
    /// Wakes the schedulers of this process before they look by themselves.
    pub submitted: watch::Sender<()>,
}

type Request = (IdempotencyKey, NewJob);

impl Groups {
    /// Batches submissions, and carries them out.
    #[must_use]
    pub fn gathered(self) -> Submissions {
        Batcher::new(self, MAX_GROUP, 1)
    }
}

impl BatchWork for Groups {
    type Key = TenantId;
    /// With the span in which the request is traced.
    type Item = (Request, Span);
    type Answer = Result<Reply, Problem>;

    async fn run(&self, tenant: &TenantId, items: Vec<Self::Item>) -> Vec<Self::Answer> {
        let (requests, spans): (Vec<_>, Vec<_>) = items.into_iter().unzip();
        let span = spans.into_iter().next().unwrap_or_else(Span::none);
        let outcomes = settle(self, *tenant, &requests).instrument(span).await;
        self.submitted.send_replace(());
        outcomes
    }
}

/// Submits a job, also if the client goes away meanwhile.
pub(super) async fn submit(
    submissions: &Submissions,
    tenant: TenantId,
    key: IdempotencyKey,
    new: NewJob,
) -> Result<Reply, Problem> {
    let answered = submissions.submit(tenant, ((key, new), Span::current())).await;
    answered.unwrap_or_else(|| Err(Problem::internal("the submission has panicked")))
}

/// Submits the jobs together. If their transaction fails because of one of them, submits each separately.
async fn settle(parts: &Groups, tenant: TenantId, requests: &[Request]) -> Vec<Result<Reply, Problem>> {
    let problem = match together(parts, tenant, requests).await {
        Ok(outcomes) => return outcomes,
        Err(problem) => problem,
    };
    if requests.len() == 1 || problem.is(ProblemType::Unavailable) {
        return requests.iter().map(|_| Err(problem.clone())).collect();
    }
    let mut outcomes = Vec::with_capacity(requests.len());
    for request in requests {
        let alone = together(parts, tenant, std::slice::from_ref(request)).await;
        outcomes.extend(alone.unwrap_or_else(|problem| vec![Err(problem)]));
    }
    outcomes
}

async fn together(
    parts: &Groups,
    tenant: TenantId,
    requests: &[Request],
) -> Result<Vec<Result<Reply, Problem>>, Problem> {
    IdempotencyKey::once_each(parts.db.tenant(tenant).await?, tenant, requests, async |tx, new| {
        let jobs: Vec<&NewJob> = new.iter().map(|n| &requests[*n].1).collect();
        let results = change::submit_each(tx, &parts.open_jobs, tenant, &jobs, (parts.clock)()).await?;
        let mut replies = Vec::with_capacity(results.len());
        for result in results {
            replies.push(match result {
                Ok(job) => Ok(reply(tx, job, StatusCode::ACCEPTED).await?),
                Err(problem) => Err(problem),
            });
        }
        Ok(replies)
    })
    .await
}

//! Submissions of one tenant that arrive together share a transaction: while one is open, the next ones gather. A submission that
//! comes alone is carried out at once. So a tenant that submits many jobs one by one pays for a commit, and waits for the lock of
//! its audit log, once for each group.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use api::{IdempotencyKey, Problem, ProblemType, Reply};
use axum::http::StatusCode;
use ids::TenantId;
use tokio::sync::oneshot;
use tracing::{Instrument as _, Span};

use super::{change, http, view::NewJob};
use crate::state::AppState;

/// Submissions of a transaction, at most.
const MAX_GROUP: usize = 100;

/// Submissions that wait for their turn in this replica. A tenant has a list while a task carries out its submissions.
#[derive(Default)]
pub(crate) struct Submissions(Mutex<HashMap<TenantId, Vec<Submission>>>);

struct Submission {
    request: (IdempotencyKey, NewJob),
    answer: oneshot::Sender<Result<Reply, Problem>>,
    /// Where the request is traced.
    span: Span,
}

impl Submissions {
    /// Returns whether the tenant has no task.
    fn add(&self, tenant: TenantId, submission: Submission) -> bool {
        let mut tenants = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = !tenants.contains_key(&tenant);
        tenants.entry(tenant).or_default().push(submission);
        is_first
    }

    /// Returns the oldest ones of a tenant. None: its task has ended.
    fn take(&self, tenant: TenantId) -> Option<Vec<Submission>> {
        let mut tenants = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = tenants.get_mut(&tenant)?;
        if waiting.is_empty() {
            tenants.remove(&tenant);
            return None;
        }
        let group = waiting.len().min(MAX_GROUP);
        Some(waiting.drain(..group).collect())
    }
}

/// Submits a job, also if the client goes away meanwhile.
pub(super) async fn submit(
    state: &AppState,
    tenant: TenantId,
    key: IdempotencyKey,
    new: NewJob,
) -> Result<Reply, Problem> {
    let (answer, answered) = oneshot::channel();
    let submission = Submission { request: (key, new), answer, span: Span::current() };
    if state.submissions.add(tenant, submission) {
        tokio::spawn(carry_out(state.clone(), tenant));
    }
    answered.await.map_err(Problem::internal)?
}

/// Carries out the submissions of a tenant until none is left.
async fn carry_out(state: AppState, tenant: TenantId) {
    while let Some(group) = state.submissions.take(tenant) {
        let span = group.first().map_or_else(Span::none, |submission| submission.span.clone());
        // in a task of its own: if it panics, the requests of the group fail, and those behind it do not
        let _ = tokio::spawn(answer(state.clone(), tenant, group).instrument(span)).await;
    }
}

async fn answer(state: AppState, tenant: TenantId, group: Vec<Submission>) {
    let (requests, answers): (Vec<_>, Vec<_>) =
        group.into_iter().map(|submission| (submission.request, submission.answer)).unzip();
    let outcomes = settle(&state, tenant, &requests).await;
    state.submitted.send_replace(());
    for (answer, outcome) in answers.into_iter().zip(outcomes) {
        // a client that has gone gets none
        let _ = answer.send(outcome);
    }
}

/// Submits the jobs together. If their transaction fails because of one of them, each by itself.
async fn settle(
    state: &AppState,
    tenant: TenantId,
    requests: &[(IdempotencyKey, NewJob)],
) -> Vec<Result<Reply, Problem>> {
    let problem = match together(state, tenant, requests).await {
        Ok(outcomes) => return outcomes,
        Err(problem) => problem,
    };
    if requests.len() == 1 || problem.is(ProblemType::Unavailable) {
        return requests.iter().map(|_| Err(problem.clone())).collect();
    }
    let mut outcomes = Vec::with_capacity(requests.len());
    for request in requests {
        let alone = together(state, tenant, std::slice::from_ref(request)).await;
        outcomes.extend(alone.unwrap_or_else(|problem| vec![Err(problem)]));
    }
    outcomes
}

async fn together(
    state: &AppState,
    tenant: TenantId,
    requests: &[(IdempotencyKey, NewJob)],
) -> Result<Vec<Result<Reply, Problem>>, Problem> {
    IdempotencyKey::once_each(state.db.tenant(tenant).await?, tenant, requests, async |tx, new| {
        let jobs: Vec<&NewJob> = new.iter().map(|n| &requests[*n].1).collect();
        let results = change::submit_each(tx, &state.open_jobs, tenant, &jobs, (state.clock)()).await?;
        let mut replies = Vec::with_capacity(results.len());
        for result in results {
            replies.push(match result {
                Ok(job) => Ok(http::reply(tx, job, StatusCode::ACCEPTED).await?),
                Err(error) => Err(error.into()),
            });
        }
        Ok(replies)
    })
    .await
}

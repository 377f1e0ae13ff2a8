//! Refused messages, and which of a tenant's requests were accepted.

use api::{
    Checks, IdempotencyKey, Json, Page, PageParams, Path, Problem, ProblemType, Query, Reply,
    openapi::OpenApiRouter,
};
use auth::{HasAuth, Member};
use axum::{
    extract::{FromRef, State},
    http::StatusCode,
};
use ids::{DeadMessageId, JobId};
use jiff::Timestamp;
use jobs_core::{refusal::Code, status::JobState};
use records::outbox;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;
use utoipa_axum::routes;
use uuid::Uuid;

use super::{
    Parts,
    store::{self, Dead},
    take::{self, Outcome},
};

/// Maximum number of request numbers of a reconciliation.
const MAX_NUMBERS: usize = 500;

pub(super) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
    OpenApiRouter::new()
        .routes(routes!(list_dead_messages))
        .routes(routes!(replay_dead_message))
        .routes(routes!(reconcile_jobs))
}

/// A message that was refused.
#[derive(Debug, Serialize, ToSchema)]
struct DeadMessage {
    /// Id of the refused message.
    id: DeadMessageId,
    /// Why it was refused.
    code: Code,
    /// Why it was refused, for a person.
    #[schema(example = "the header priority is 0 to 9")]
    detail: String,
    /// Its request number, or null.
    req_no: Option<Uuid>,
    /// The credential with which it was published, as its `user_id` says.
    credential: Option<String>,
    /// Its headers.
    #[schema(value_type = Object)]
    headers: Map<String, Value>,
    /// The first 64 KiB of its body; bytes that are not UTF-8 are replaced.
    #[schema(example = "{\"method\":\"stable-diffusion.txt2img\"}")]
    body: String,
    /// Size of the body in bytes.
    bytes: i64,
    /// When it was refused.
    created_at: Timestamp,
    /// When it was last replayed, or null.
    replayed_at: Option<Timestamp>,
}

impl From<Dead> for DeadMessage {
    fn from(dead: Dead) -> Self {
        Self {
            id: dead.id,
            code: dead.code,
            detail: dead.detail,
            req_no: dead.req_no,
            credential: dead.message.properties.user_id,
            headers: dead.message.properties.headers,
            body: String::from_utf8_lossy(&dead.message.body).into_owned(),
            bytes: dead.bytes,
            created_at: dead.created_at,
            replayed_at: dead.replayed_at,
        }
    }
}

/// Lists refused messages of the tenant, newest first. They are kept for 30 days. If very many are refused in a short
/// time, only some of them are kept.
#[utoipa::path(
    get, path = "/v1/mq-dead", operation_id = "list_dead_messages", tag = "message queue", params(PageParams),
    responses((status = 200, description = "A page", body = Page<DeadMessage>))
)]
async fn list_dead_messages(
    State(parts): State<Parts>,
    member: Member,
    Query(params): Query<PageParams>,
) -> Result<Json<Page<DeadMessage>>, Problem> {
    let page = params.request()?;
    let mut tx = parts.db.tenant(member.tenant).await?;
    let dead = store::list_dead(&mut tx, member.tenant, page.after, page.rows()).await?;
    Ok(Json(page.page(dead, |dead| dead.id).map(DeadMessage::from)))
}

/// The result of replaying a message.
#[derive(Debug, Serialize, ToSchema)]
struct Replay {
    /// The outcome.
    outcome: ReplayOutcome,
    /// Why it was refused again, or null.
    code: Option<Code>,
}

/// Outcome of replaying a message.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum ReplayOutcome {
    /// A job was submitted.
    Accepted,
    /// The job of the message was there already.
    Duplicate,
    /// Refused again, and listed again.
    Refused,
}

/// Processes a refused message as if it had just arrived. No effect if its job was submitted in the meantime.
#[utoipa::path(
    post, path = "/v1/mq-dead/{id}/replay", operation_id = "replay_dead_message", tag = "message queue",
    params(("id" = DeadMessageId, Path, description = "Id of the refused message"), IdempotencyKey),
    responses((status = 200, description = "The result", body = Replay)),
    extensions(("x-problems" = json!([ProblemType::InvalidField])))
)]
async fn replay_dead_message(
    State(parts): State<Parts>,
    member: Member,
    Path(id): Path<DeadMessageId>,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    member.writer()?;
    let tenant = member.tenant;
    let mut tx = parts.db.tenant(tenant).await?;
    let dead = store::find_dead(&mut tx, tenant, id).await?;
    tx.commit().await?;
    // their contents may have arrived in the meantime
    let naming = dead.iter().map(|dead| &dead.message).filter(|message| take::names_uploads(message));
    take::confirm_uploads(&parts, tenant, naming).await;
    let reply = key
        .once(parts.db.tenant(tenant).await?, tenant, &(), async |tx| {
            let dead = store::replay_dead(tx, tenant, id).await?.ok_or_else(Problem::not_found)?;
            if i64::try_from(dead.message.body.len()) != Ok(dead.bytes) {
                return Err(Problem::invalid_field("id", "only 64 KiB of the message are kept"));
            }
            let outcomes = take::take(&parts, tx, &[dead.message]).await?.outcomes;
            let (outcome, code) = match outcomes.first() {
                Some(Outcome::Accepted) => (ReplayOutcome::Accepted, None),
                Some(Outcome::Duplicate) => (ReplayOutcome::Duplicate, None),
                Some(Outcome::Refused(code)) => (ReplayOutcome::Refused, Some(*code)),
                None => return Err(Problem::not_found()),
            };
            Reply::json(StatusCode::OK, &Replay { outcome, code })
        })
        .await?;
    parts.submitted.send_replace(());
    parts.broker.published.send_replace(());
    Ok(reply)
}

/// Request numbers of the jobs to return.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Reconciliation {
    /// 1 to 500 request numbers.
    req_nos: Vec<Uuid>,
}

/// The jobs of request numbers.
#[derive(Debug, Serialize, ToSchema)]
struct Reconciled {
    /// One item for each number, in the same order.
    items: Vec<ReconciledItem>,
}

/// The job of a request number.
#[derive(Debug, Serialize, ToSchema)]
struct ReconciledItem {
    /// The number.
    #[schema(example = "3f2b1c7e-0f51-4c0e-9f0e-6a3f1c2d4b5a")]
    req_no: Uuid,
    /// Its job, or null if the request was not accepted. Send it again.
    job_id: Option<JobId>,
    /// State of the job, or null if there is none, or it was deleted.
    state: Option<JobState>,
}

/// Returns the jobs of request numbers with their states, and sends the latest event of each job again to the tenant's
/// event queue, if it has one.
#[utoipa::path(
    post, path = "/v1/jobs/reconciliations", operation_id = "reconcile_jobs", tag = "message queue",
    params(IdempotencyKey),
    request_body = Reconciliation,
    responses((status = 200, description = "The result for each request number", body = Reconciled))
)]
async fn reconcile_jobs(
    State(parts): State<Parts>,
    member: Member,
    key: IdempotencyKey,
    Json(asked): Json<Reconciliation>,
) -> Result<Reply, Problem> {
    member.writer()?;
    let mut checks = Checks::default();
    checks.within("/req_nos", asked.req_nos.len(), 1, MAX_NUMBERS);
    checks.finish()?;
    let tenant = member.tenant;
    let reply = key
        .once(parts.db.tenant(tenant).await?, tenant, &asked, async |tx| {
            let known = submission::numbered(tx, tenant, &asked.req_nos).await?;
            if store::count(tx, tenant).await? > 0 {
                let mut jobs: Vec<JobId> = known.values().map(|(job, _)| *job).collect();
                jobs.sort_unstable();
                outbox::again(tx, tenant, &jobs).await?;
            }
            let item = |req_no: &Uuid| {
                let found = known.get(req_no);
                ReconciledItem {
                    req_no: *req_no,
                    job_id: found.map(|(job, _)| *job),
                    state: found.and_then(|(_, state)| *state),
                }
            };
            let items = asked.req_nos.iter().map(item).collect();
            Reply::json(StatusCode::OK, &Reconciled { items })
        })
        .await?;
    parts.broker.published.send_replace(());
    Ok(reply)
}

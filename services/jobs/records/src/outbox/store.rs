//! The table of messages to publish. A trigger adds events of jobs, see `migrations/jobs`.

use ids::{JobId, TenantId};
use jiff::Timestamp;
use jobs_core::{
    cost::Amount,
    event::{Advance, EventType},
    job::Cost,
    kind::Kind,
    refusal::Refusal,
    status::{JobProblem, JobState},
};
use rust_decimal::Decimal;
use serde_json::{Value, json};
use sqlx::{PgConnection, types::Json};
use uuid::Uuid;

/// Publishes the latest published event of these jobs of the tenant again.
pub async fn again(conn: &mut PgConnection, tenant: TenantId, jobs: &[JobId]) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into mq_outbox (tenant_id, job_id, number, again)
         select $1, job.id, latest.number, true from unnest($2::uuid[]) as job(id)
         cross join lateral (
             select e.number from job_events e
             where e.tenant_id = $1 and e.job_id = job.id and mq_is_published(e.type, e.reason)
             order by e.number desc limit 1) latest",
        tenant as TenantId,
        jobs as &[JobId],
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Publishes refusals.
pub async fn refused(
    conn: &mut PgConnection,
    refused: &[(TenantId, Option<Uuid>, &Refusal)],
) -> sqlx::Result<()> {
    if refused.is_empty() {
        return Ok(());
    }
    let tenants: Vec<TenantId> = refused.iter().map(|(tenant, ..)| *tenant).collect();
    let refusals = refused.iter().map(
        |(_, req_no, refusal)| json!({ "req_no": req_no, "code": refusal.code.as_str(), "detail": refusal.detail }),
    );
    let refusals: Vec<Value> = refusals.collect();
    sqlx::query!(
        "insert into mq_outbox (tenant_id, refusal) select * from unnest($1::uuid[], $2::jsonb[])",
        &tenants as &[TenantId],
        &refusals,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Publishes the progress of a job, if its tenant can read it.
pub async fn tell_progress(conn: &mut PgConnection, advance: &Advance) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into mq_outbox (tenant_id, job_id, number, progress)
         select j.tenant_id, j.id, $2, $3 from jobs j
         where j.id = $1
           and exists (select from mq_credentials c where c.tenant_id = j.tenant_id and c.deleted_at is null)",
        advance.job as JobId,
        advance.event,
        json!(advance.progress),
    )
    .execute(conn)
    .await
    .map(drop)
}

/// A row of the outbox, with the content of its message.
pub struct Entry {
    pub id: i64,
    pub tenant: TenantId,
    pub content: Content,
    pub at: Timestamp,
}

/// The content of a message.
pub enum Content {
    Event(Box<Event>),
    /// Progress of a job, after its latest event.
    Progress(Box<Event>, Value),
    Refusal(PublishedRefusal),
    /// The job was deleted.
    Nothing,
}

/// An event of a job.
pub struct Event {
    pub job: JobId,
    pub number: i64,
    pub kind: EventType,
    pub state: JobState,
    pub problem: Option<JobProblem>,
    pub task: Kind,
    pub req_no: Option<Uuid>,
    /// The event was published before.
    pub again: bool,
    /// Cost of the job.
    pub cost: Option<Cost>,
}

/// A refusal, as it is stored.
#[derive(Debug, serde::Deserialize)]
pub struct PublishedRefusal {
    pub req_no: Option<Uuid>,
    pub code: String,
    pub detail: String,
}

struct Row {
    id: i64,
    tenant_id: TenantId,
    job_id: Option<JobId>,
    again: bool,
    refusal: Option<Json<PublishedRefusal>>,
    progress: Option<Value>,
    at: Timestamp,
    number: Option<i64>,
    kind: Option<EventType>,
    state: Option<JobState>,
    problem: Option<Json<JobProblem>>,
    event_at: Option<jiff_sqlx::Timestamp>,
    task: Option<Kind>,
    req_no: Option<Uuid>,
    cost: Option<Decimal>,
    cost_currency: Option<String>,
    cost_seconds: Option<i64>,
}

impl From<Row> for Entry {
    fn from(row: Row) -> Self {
        let Row { job_id, number, kind, state, task, .. } = row;
        let event = job_id.zip(number).zip(kind).zip(state).zip(task);
        let event = event.map(|((((job, number), kind), state), task)| Event {
            job,
            number,
            kind,
            state,
            problem: row.problem.map(|problem| problem.0),
            task,
            req_no: row.req_no,
            again: row.again,
            cost: row.cost.zip(row.cost_currency).map(|(amount, currency)| Cost {
                amount: Amount(amount),
                currency,
                seconds: row.cost_seconds.unwrap_or_default(),
            }),
        });
        let event_at = row.event_at.map(jiff_sqlx::Timestamp::to_jiff);
        let (content, at) = match (row.refusal, event, row.progress) {
            (Some(refusal), ..) => (Content::Refusal(refusal.0), None),
            (None, Some(event), Some(progress)) => (Content::Progress(Box::new(event), progress), None),
            (None, Some(event), None) => (Content::Event(Box::new(event)), event_at),
            (None, None, _) => (Content::Nothing, None),
        };
        let at = at.unwrap_or(row.at);
        Self { id: row.id, tenant: row.tenant_id, content, at }
    }
}

/// Returns the first rows of each tenant, in order, except those of some tenants: equally many of each, so
/// that no tenant waits for another's.
pub async fn first(conn: &mut PgConnection, except: &[TenantId], limit: i64) -> sqlx::Result<Vec<Entry>> {
    let rows = sqlx::query_as!(
        Row,
        r#"with recursive waiting as (
               (select tenant_id from mq_outbox order by tenant_id limit 1)
               union all
               select (select o.tenant_id from mq_outbox o where o.tenant_id > w.tenant_id order by o.tenant_id limit 1)
               from waiting w where w.tenant_id is not null),
           tenants as materialized (select tenant_id from waiting where tenant_id <> all($1)),
           firsts as (
               select row.* from tenants t
               cross join lateral (
                   select * from mq_outbox o where o.tenant_id = t.tenant_id order by o.id
                   limit greatest($2 / (select count(*) from tenants), 1)) row)
           select o.id as "id!", o.tenant_id as "tenant_id!: TenantId", o.job_id, o.again as "again!",
                  o.refusal as "refusal: Json<PublishedRefusal>", o.progress, o.at as "at!: jiff_sqlx::Timestamp",
                  e.number as "number?", e.type as "kind?: EventType", e.state as "state?: JobState",
                  e.problem as "problem?: Json<JobProblem>", e.at as "event_at?", j.kind as "task?: Kind", j.req_no, j.cost, j.cost_currency,
                  j.cost_seconds as "cost_seconds?"
           from firsts o
           left join job_events e on e.job_id = o.job_id and e.number = o.number
           left join jobs j on j.id = o.job_id
           order by o.id limit $2"#,
        except as &[TenantId],
        limit,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(Entry::from).collect())
}

/// Whether there is nothing to publish.
pub async fn is_empty(conn: &mut PgConnection) -> sqlx::Result<bool> {
    sqlx::query_scalar!(r#"select not exists (select from mq_outbox) as "is_empty!""#).fetch_one(conn).await
}

/// Deletes rows whose messages the broker has confirmed.
pub async fn delete(conn: &mut PgConnection, ids: &[i64]) -> sqlx::Result<()> {
    sqlx::query!("delete from mq_outbox where id = any($1)", ids).execute(conn).await.map(drop)
}

/// Returns the age of the oldest row in seconds.
pub async fn age(conn: &mut PgConnection) -> sqlx::Result<f64> {
    let age = sqlx::query_scalar!(
        r#"select coalesce(extract(epoch from clock_timestamp() - min(at)), 0)::float8 as "age!"
           from (select at from mq_outbox order by id limit 1) oldest"#
    );
    age.fetch_one(conn).await
}

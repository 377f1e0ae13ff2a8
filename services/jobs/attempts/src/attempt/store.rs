//! The tables of attempts, progress and artifacts.

use ids::{JobId, ModelId, TenantId, WorkerId};
use jiff::Timestamp;
use jobs_core::{
    attempt::AttemptState,
    cost::{Amount, Charge, Money, Rate, Uncharged},
    job::Job,
    status::JobProblem,
};
use records::cost::Of;
use rust_decimal::Decimal;
use serde_json::Value;
use sqlx::{PgConnection, types::Json};

use super::member;

/// An attempt that begins.
pub struct Opened<'a> {
    pub job: JobId,
    /// By rank.
    pub workers: &'a [WorkerId],
    pub gpu_spec: &'a str,
    pub number: i32,
    pub at: Timestamp,
}

/// Inserts an attempt of a job that was assigned in this transaction. It keeps the price of its workers,
/// without those that are the tenant's own instances, which are charged as instances. Returns whether there
/// is one.
pub async fn open(conn: &mut PgConnection, attempt: &Opened<'_>) -> sqlx::Result<bool> {
    let workers = i16::try_from(attempt.workers.len()).unwrap_or(i16::MAX);
    let is_priced = sqlx::query_scalar!(
        r#"insert into attempts (job_id, number, tenant_id, worker_id, workers, gpu_spec, class, state, assigned_at,
                                 price_per_hour, currency, level_factor)
           select j.id, $2, j.tenant_id, $3, $6, $4, j.class, 'open', $5,
                  r.price_per_hour * (select count(*) from workers w
                                      where w.id = any($7) and not (w.instance_id is not null and p.owner_id is not distinct from j.tenant_id)),
                  r.currency,
                  case j.level when 'urgent' then p.urgent_factor when 'background' then p.background_factor
                               else p.ordinary_factor end
           from jobs j join pools p on p.id = j.pool_id
           left join pool_prices r on r.pool_id = j.pool_id and r.gpu_spec = $4
           where j.id = $1
           returning price_per_hour is not null as "is_priced!""#,
        attempt.job as JobId,
        attempt.number,
        attempt.workers.first().copied() as Option<WorkerId>,
        attempt.gpu_spec,
        jiff_sqlx::Timestamp::from(attempt.at) as _,
        workers,
        attempt.workers as &[WorkerId],
    )
    .fetch_one(&mut *conn)
    .await?;
    if workers > 1 {
        member::insert(conn, attempt.job, attempt.number, attempt.workers).await?;
    }
    Ok(is_priced)
}

/// The facts that determine the cost of an open attempt.
pub struct OpenCost {
    worker: WorkerId,
    gpu_spec: String,
    pub assigned_at: Timestamp,
    pub working_at: Option<Timestamp>,
    pub stop_at: Option<Timestamp>,
    pub rate: Option<Rate>,
    /// When the work was done: now, unless the attempt is delivering.
    pub done_at: Timestamp,
}

impl OpenCost {
    /// Returns the usage record of the attempt; none if it has no price or has not worked.
    pub fn record(self, job: &Job, number: i32) -> Option<(Of, Rate)> {
        let of = Of {
            kind: job.kind,
            tenant: job.tenant,
            job: job.id,
            attempt: number,
            pool: job.pool,
            worker: self.worker,
            gpu_spec: self.gpu_spec,
            working_at: self.working_at?,
        };
        Some((of, self.rate?))
    }
}

fn rate(price: Option<Decimal>, currency: Option<String>, factor: Option<Decimal>) -> Option<Rate> {
    Some(Rate { price_per_hour: price?, currency: currency?, level_factor: factor? })
}

/// Returns the facts that determine the cost of an open attempt.
pub async fn open_cost(conn: &mut PgConnection, job: JobId, number: i32) -> sqlx::Result<Option<OpenCost>> {
    let row = sqlx::query!(
        r#"select worker_id, gpu_spec, assigned_at, working_at, stop_at, price_per_hour, currency, level_factor,
                  coalesce(delivering_at, now()) as "done_at!: jiff_sqlx::Timestamp"
           from attempts where job_id = $1 and number = $2 and state = 'open'"#,
        job as JobId,
        number,
    );
    Ok(row.fetch_optional(conn).await?.map(|row| OpenCost {
        worker: row.worker_id,
        gpu_spec: row.gpu_spec,
        assigned_at: row.assigned_at.to_jiff(),
        working_at: row.working_at.map(jiff_sqlx::Timestamp::to_jiff),
        stop_at: row.stop_at.map(jiff_sqlx::Timestamp::to_jiff),
        rate: rate(row.price_per_hour, row.currency, row.level_factor),
        done_at: row.done_at.to_jiff(),
    }))
}

/// Removes the charges for ended attempts of a job. Returns those that had a charge, with their new versions.
pub async fn take_back(conn: &mut PgConnection, job: &Job) -> sqlx::Result<Vec<(Of, i32, Rate)>> {
    let rows = sqlx::query!(
        "update attempts
         set uncharged_seconds = uncharged_seconds + charged_seconds, charged_seconds = 0, cost = 0, uncharged_reason = $2,
             usage_version = usage_version + 1
         where job_id = $1 and state <> 'open' and charged_seconds > 0
         returning number, worker_id, gpu_spec, working_at, price_per_hour, currency, level_factor, usage_version",
        job.id as JobId,
        Uncharged::JobFailed as Uncharged,
    )
    .fetch_all(conn)
    .await?;
    let taken = rows.into_iter().filter_map(|row| {
        let of = Of {
            kind: job.kind,
            tenant: job.tenant,
            job: job.id,
            attempt: row.number,
            pool: job.pool,
            worker: row.worker_id,
            gpu_spec: row.gpu_spec,
            working_at: row.working_at?.to_jiff(),
        };
        Some((of, row.usage_version, rate(row.price_per_hour, row.currency, row.level_factor)?))
    });
    Ok(taken.collect())
}

/// The price of an attempt that has not worked yet, and what its job may still cost.
pub struct Unworked {
    pub rate: Option<Rate>,
    pub max_cost: Option<Money>,
    /// What earlier attempts cost, in the currency of the limit.
    pub spent: Decimal,
}

impl Unworked {
    /// Returns for how many seconds of work the job can pay; none if there is no limit. It cannot pay a price
    /// in another currency than the limit: the currency has changed since the submission.
    pub fn affordable(&self) -> Option<i64> {
        let (rate, limit) = (self.rate.as_ref()?, self.max_cost.as_ref()?);
        if rate.currency != limit.currency {
            return Some(0);
        }
        rate.affordable(limit.amount.0 - self.spent)
    }
}

/// Returns the price of an open attempt that has not worked yet; none if it has.
pub async fn unworked(conn: &mut PgConnection, job: JobId, number: i32) -> sqlx::Result<Option<Unworked>> {
    let row = sqlx::query!(
        r#"select a.price_per_hour, a.currency, a.level_factor, j.max_cost, j.max_cost_currency,
                  coalesce((select sum(e.cost) from attempts e where e.job_id = j.id and e.currency = j.max_cost_currency), 0)
                      as "spent!"
           from attempts a join jobs j on j.id = a.job_id
           where a.job_id = $1 and a.number = $2 and a.state = 'open' and a.working_at is null"#,
        job as JobId,
        number,
    );
    Ok(row.fetch_optional(conn).await?.map(|row| Unworked {
        rate: rate(row.price_per_hour, row.currency, row.level_factor),
        max_cost: row
            .max_cost
            .zip(row.max_cost_currency)
            .map(|(amount, currency)| Money { amount: Amount(amount), currency }),
        spent: row.spent,
    }))
}

/// Records that an attempt works from now on, and when its cost reaches the limit.
pub async fn set_working(
    conn: &mut PgConnection,
    job: JobId,
    number: i32,
    affordable: Option<i64>,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update attempts set working_at = now(), stop_at = now() + make_interval(secs => $3::bigint)
         where job_id = $1 and number = $2 and state = 'open' and working_at is null",
        job as JobId,
        number,
        affordable,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// An attempt, as its tenant sees it.
pub struct AttemptRow {
    pub number: i32,
    pub state: AttemptState,
    pub problem: Option<Json<JobProblem>>,
    pub gpu_spec: String,
    pub assigned_at: Timestamp,
    pub begun_at: Option<jiff_sqlx::Timestamp>,
    pub working_at: Option<jiff_sqlx::Timestamp>,
    pub ended_at: Option<jiff_sqlx::Timestamp>,
    pub price_per_hour: Option<Decimal>,
    pub currency: Option<String>,
    pub level_factor: Option<Decimal>,
    pub charged_seconds: Option<i64>,
    pub cost: Option<Decimal>,
    pub uncharged_seconds: Option<i64>,
    pub uncharged_reason: Option<Uncharged>,
}

/// Returns the attempts of a job of the tenant before `before`, newest first.
pub async fn list(
    conn: &mut PgConnection,
    tenant: TenantId,
    job: JobId,
    before: Option<i32>,
    limit: i64,
) -> sqlx::Result<Vec<AttemptRow>> {
    sqlx::query_as!(
        AttemptRow,
        r#"select number, state, problem as "problem: Json<JobProblem>", gpu_spec, assigned_at, begun_at, working_at, ended_at,
                  price_per_hour, currency, level_factor, charged_seconds, cost, uncharged_seconds, uncharged_reason
           from attempts
           where tenant_id = $1 and job_id = $2 and ($3::int is null or number < $3) order by number desc limit $4"#,
        tenant as TenantId,
        job as JobId,
        before,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Closes an open attempt, with its cost. Deletes its progress.
pub async fn close(
    conn: &mut PgConnection,
    job: JobId,
    number: i32,
    state: AttemptState,
    problem: Option<&JobProblem>,
    charge: Option<&Charge>,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update attempts
         set state = $3, problem = $4, ended_at = now(), charged_seconds = $5::bigint, uncharged_seconds = $6, uncharged_reason = $7,
             cost = case when price_per_hour is not null then $8::numeric end,
             usage_version = case when $5::bigint > 0 then 1 else 0 end
         where job_id = $1 and number = $2 and state = 'open'",
        job as JobId,
        number,
        state as AttemptState,
        problem.map(Json) as _,
        charge.map(|charge| charge.seconds),
        charge.map(|charge| charge.uncharged_seconds),
        charge.and_then(|charge| charge.reason) as Option<Uncharged>,
        charge.map(|charge| charge.amount),
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!("delete from progress where job_id = $1", job as JobId).execute(conn).await.map(drop)
}

/// Records the note for the tenant about an attempt that has succeeded.
pub async fn note(
    conn: &mut PgConnection,
    job: JobId,
    number: i32,
    problem: &JobProblem,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update attempts set problem = $3 where job_id = $1 and number = $2 and state = 'succeeded'",
        job as JobId,
        number,
        Json(problem) as _,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Records the node of the worker that was lost, or whose GPU has failed.
pub async fn note_lost_node(
    conn: &mut PgConnection,
    job: JobId,
    number: i32,
    worker: WorkerId,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update attempts a set lost_node = w.node from workers w
         where a.job_id = $1 and a.number = $2 and a.state in ('lost', 'failed') and w.id = $3 and w.node <> ''",
        job as JobId,
        number,
        worker as WorkerId,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Whether an attempt of the job has failed with this code.
pub async fn has_failed_with(conn: &mut PgConnection, job: JobId, code: &str) -> sqlx::Result<bool> {
    let found = sqlx::query_scalar!(
        r#"select exists (select from attempts where job_id = $1 and problem ->> 'code' = $2) as "found!""#,
        job as JobId,
        code,
    );
    found.fetch_one(conn).await
}

/// Returns the state of an attempt of a worker.
pub async fn state(
    conn: &mut PgConnection,
    job: JobId,
    number: i32,
    worker: WorkerId,
) -> sqlx::Result<Option<AttemptState>> {
    sqlx::query_scalar!(
        "select state from attempts where job_id = $1 and number = $2 and worker_id = $3",
        job as JobId,
        number,
        worker as WorkerId,
    )
    .fetch_optional(conn)
    .await
}

/// Records that the worker has begun.
pub async fn begin(conn: &mut PgConnection, job: JobId, number: i32) -> sqlx::Result<()> {
    sqlx::query!(
        "update attempts set begun_at = now() where job_id = $1 and number = $2 and begun_at is null",
        job as JobId,
        number,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// The inputs of a worker for a job.
pub struct Inputs {
    pub application: String,
    pub method: String,
    pub model: Option<ModelId>,
    pub parameters: Value,
}

/// Returns the inputs of a worker for a job.
pub async fn inputs(conn: &mut PgConnection, job: JobId) -> sqlx::Result<Inputs> {
    sqlx::query_as!(
        Inputs,
        "select j.application, j.method, j.model, i.parameters
         from jobs j join job_inputs i on i.job_id = j.id where j.id = $1",
        job as JobId,
    )
    .fetch_one(conn)
    .await
}

/// The attempt that a worker runs.
pub struct Current {
    pub job: JobId,
    pub attempt: i32,
    /// The attempt is being cancelled or preempted, or has ended.
    pub is_stopping: bool,
}

/// Returns the attempt of a worker.
pub async fn current(conn: &mut PgConnection, worker: WorkerId) -> sqlx::Result<Option<Current>> {
    sqlx::query_as!(
        Current,
        r#"select j.id as job, w.current_attempt as "attempt!",
                  (j.state = 'cancelling' or j.leave_by is not null or j.worker_id is null
                   or j.attempt <> w.current_attempt) as "is_stopping!"
           from workers w join jobs j on j.id = w.current_job where w.id = $1"#,
        worker as WorkerId,
    )
    .fetch_optional(conn)
    .await
}

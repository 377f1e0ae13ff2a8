//! The table of events.

use ids::{JobId, TenantId};
use jiff::Timestamp;
use sqlx::{PgConnection, types::Json};

use super::model::{EventType, JobEvent};
use crate::job::{JobProblem, JobState, Level, Phase, QueuedReason};

struct Row {
    number: i64,
    at: Timestamp,
    kind: EventType,
    job_id: JobId,
    state: JobState,
    attempt: i32,
    level: Level,
    priority: i16,
    reason: Option<QueuedReason>,
    problem: Option<Json<JobProblem>>,
    not_before: Option<jiff_sqlx::Timestamp>,
    leave_by: Option<jiff_sqlx::Timestamp>,
}

impl From<Row> for JobEvent {
    fn from(row: Row) -> Self {
        Self {
            sequence: row.number,
            time: row.at,
            kind: row.kind,
            job_id: row.job_id,
            state: row.state,
            attempts: row.attempt,
            level: row.level,
            priority: row.priority,
            reason: row.reason,
            problem: row.problem.map(|problem| problem.0),
            not_before: row.not_before.map(jiff_sqlx::Timestamp::to_jiff),
            leave_by: row.leave_by.map(jiff_sqlx::Timestamp::to_jiff),
        }
    }
}

/// Selects events. A macro, as the text of a checked query is a literal.
macro_rules! select_events {
    ($rest:literal, $($arguments:tt)*) => {
        sqlx::query_as!(
            Row,
            r#"select number, at, type as "kind: EventType", job_id, state, attempt, level, priority, reason,
                      problem as "problem: Json<JobProblem>", not_before, leave_by
               from job_events "# + $rest,
            $($arguments)*
        )
    };
}

/// Returns events of a job before `before`, newest first.
pub(super) async fn list(
    conn: &mut PgConnection,
    tenant: TenantId,
    job: JobId,
    kind: Option<EventType>,
    before: Option<i64>,
    limit: i64,
) -> sqlx::Result<Vec<JobEvent>> {
    let rows = select_events!(
        "where tenant_id = $1 and job_id = $2 and ($3::text is null or type = $3) and ($4::bigint is null or number < $4)
         order by number desc limit $5",
        tenant as TenantId,
        job as JobId,
        kind as Option<EventType>,
        before,
        limit
    );
    Ok(rows.fetch_all(conn).await?.into_iter().map(JobEvent::from).collect())
}

/// Returns events of a job after `after`, oldest first.
pub(super) async fn read(
    conn: &mut PgConnection,
    tenant: TenantId,
    job: JobId,
    after: i64,
    limit: i64,
) -> sqlx::Result<Vec<JobEvent>> {
    let rows = select_events!(
        "where tenant_id = $1 and job_id = $2 and number > $3 order by number limit $4",
        tenant as TenantId,
        job as JobId,
        after,
        limit
    );
    Ok(rows.fetch_all(conn).await?.into_iter().map(JobEvent::from).collect())
}

/// How a job is: the number of its latest event, and how far its attempt is.
pub(super) struct Position {
    pub(super) job: JobId,
    pub(super) generation: i64,
    pub(super) phase: Option<Phase>,
    pub(super) step: Option<i32>,
    pub(super) steps: Option<i32>,
}

/// Returns how jobs of any tenants are.
pub(super) async fn positions(conn: &mut PgConnection, jobs: &[JobId]) -> sqlx::Result<Vec<Position>> {
    sqlx::query_as!(
        Position,
        r#"select j.id as "job!: JobId", j.generation as "generation!", p.phase as "phase?: Phase", p.step as "step?",
                  p.steps as "steps?"
           from jobs j left join progress p on p.job_id = j.id and p.attempt = j.attempt where j.id = any($1)"#,
        jobs as &[JobId],
    )
    .fetch_all(conn)
    .await
}

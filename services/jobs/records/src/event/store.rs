//! Events, by way of the view `job_event_feed`.

use feed::{Cursor, Outbox, Page};
use ids::{JobId, TenantId};
use jobs_core::{
    event::{EventType, JobEvent},
    kind::Kind,
    progress::Phase,
    status::JobState,
};
use serde::de::DeserializeOwned;
use sqlx::{PgConnection, types::Json};

/// The events of all jobs. Read often, without notifications, which would make commits wait for each other.
pub(super) const EVENTS: Outbox = Outbox { table: "job_event_feed", channel: "job_event_feed" };

/// The same events; notifies only of the tenants.
pub(super) const TENANTS: Outbox = Outbox { table: "job_event_tenants", channel: "job_event_feed" };

/// Events of the feed that are read at a time.
const PAGE: u32 = 500;

/// Selects events. A macro, as the text of a checked query is a literal.
macro_rules! select_events {
    ($rest:literal, $($arguments:tt)*) => {
        sqlx::query_scalar!(
            r#"select payload as "payload!: Json<JobEvent>" from job_event_feed "# + $rest,
            $($arguments)*
        )
    };
}

fn events(rows: Vec<Json<JobEvent>>) -> Vec<JobEvent> {
    rows.into_iter().map(|row| row.0).collect()
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
    Ok(events(rows.fetch_all(conn).await?))
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
    Ok(events(rows.fetch_all(conn).await?))
}

/// Which events of a tenant are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Filter {
    pub(super) kind: Option<EventType>,
    pub(super) job_kind: Option<Kind>,
    pub(super) state: Option<JobState>,
}

impl Filter {
    pub(super) fn matches(&self, event: &JobEvent) -> bool {
        self.kind.is_none_or(|kind| kind == event.kind)
            && self.job_kind.is_none_or(|kind| kind == event.job_kind)
            && self.state.is_none_or(|state| state == event.state)
    }
}

/// Returns events of a tenant before the position `before`, newest first, each with its position.
pub(super) async fn list_of_tenant(
    conn: &mut PgConnection,
    tenant: TenantId,
    filter: Filter,
    before: Option<i64>,
    limit: i64,
) -> sqlx::Result<Vec<(i64, JobEvent)>> {
    let rows = sqlx::query!(
        r#"select id as "id!", payload as "payload!: Json<JobEvent>" from job_event_feed
           where tenant_id = $1 and id < $2 and ($3::text is null or type = $3) and ($4::text is null or kind = $4)
             and ($5::text is null or state = $5)
           order by id desc limit $6"#,
        tenant as TenantId,
        before.unwrap_or(i64::MAX),
        filter.kind as Option<EventType>,
        filter.job_kind as Option<Kind>,
        filter.state as Option<JobState>,
        limit,
    );
    Ok(rows.fetch_all(conn).await?.into_iter().map(|row| (row.id, row.payload.0)).collect())
}

/// Returns the events after a position that this transaction may see: those of its tenant, or all in a
/// worker's transaction. Events of one job are in order.
pub(super) async fn follow<T: DeserializeOwned>(
    conn: &mut PgConnection,
    outbox: Outbox,
    after: &Cursor,
) -> sqlx::Result<Page<T>> {
    outbox.page(conn, after, PAGE).await
}

/// The position of a job: the number of its latest event, and the progress of its attempt by its row.
pub(super) struct Position {
    pub(super) job: JobId,
    pub(super) tenant: TenantId,
    pub(super) generation: i64,
    pub(super) attempt: i32,
    /// Whether a worker has it.
    pub(super) is_with_worker: bool,
    pub(super) phase: Option<Phase>,
    pub(super) step: Option<i32>,
    pub(super) steps: Option<i32>,
    pub(super) updated_at: Option<jiff_sqlx::Timestamp>,
}

/// Returns the positions of jobs of any tenants.
pub(super) async fn positions(conn: &mut PgConnection, jobs: &[JobId]) -> sqlx::Result<Vec<Position>> {
    sqlx::query_as!(
        Position,
        r#"select j.id as "job!: JobId", j.tenant_id as "tenant!: TenantId", j.generation as "generation!",
                  j.attempt as "attempt!", j.worker_id is not null as "is_with_worker!", p.phase as "phase?: Phase",
                  p.step as "step?", p.steps as "steps?", p.updated_at as "updated_at?: jiff_sqlx::Timestamp"
           from jobs j left join progress p on p.job_id = j.id and p.attempt = j.attempt where j.id = any($1)"#,
        jobs as &[JobId],
    )
    .fetch_all(conn)
    .await
}

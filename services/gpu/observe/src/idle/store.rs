//! SQL of idle stops: what is known of the use of instances, and the replicas that report connections.

use activity::Activity;
use gpu_core::idle::{Progress, Reporter};
use ids::InstanceId;
use jiff::{SignedDuration, Timestamp};
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;

/// What is stored of the use of an instance.
#[derive(Debug)]
pub(super) struct Watch {
    pub(super) reset_at: Timestamp,
    pub(super) connected_at: Option<Timestamp>,
    pub(super) progress: Progress,
}

struct WatchRow {
    reset_at: Timestamp,
    connected_at: Option<jiff_sqlx::Timestamp>,
    known_to: Option<jiff_sqlx::Timestamp>,
    idle_since: Option<jiff_sqlx::Timestamp>,
    paused_seconds: f64,
    cpu_peak_percent: Option<f64>,
    gpu_peak_percent: Option<f64>,
}

impl From<WatchRow> for Watch {
    fn from(row: WatchRow) -> Self {
        let time = |at: Option<jiff_sqlx::Timestamp>| at.map(jiff_sqlx::Timestamp::to_jiff);
        let progress = Progress {
            known_to: time(row.known_to),
            idle_since: time(row.idle_since),
            paused_seconds: row.paused_seconds,
            cpu_peak_percent: row.cpu_peak_percent,
            gpu_peak_percent: row.gpu_peak_percent,
        };
        Self { reset_at: row.reset_at, connected_at: time(row.connected_at), progress }
    }
}

/// Returns what is known of an instance, locked until the transaction ends.
pub(super) async fn lock(conn: &mut PgConnection, id: InstanceId) -> sqlx::Result<Option<Watch>> {
    let row = sqlx::query_as!(
        WatchRow,
        "select reset_at, connected_at, known_to, idle_since, paused_seconds, cpu_peak_percent, gpu_peak_percent
         from idle_watches where id = $1 for update",
        id as InstanceId,
    );
    Ok(row.fetch_optional(conn).await?.map(Watch::from))
}

/// Returns up to when the use of an instance was read; none if it is not watched, or nothing was read.
pub(super) async fn known_to(conn: &mut PgConnection, id: InstanceId) -> sqlx::Result<Option<Timestamp>> {
    let known_to = sqlx::query_scalar!("select known_to from idle_watches where id = $1", id as InstanceId);
    Ok(known_to.fetch_optional(conn).await?.flatten().map(jiff_sqlx::Timestamp::to_jiff))
}

/// Stores the findings.
pub(super) async fn advance(
    conn: &mut PgConnection,
    id: InstanceId,
    progress: &Progress,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update idle_watches set known_to = $2, idle_since = $3, paused_seconds = $4, cpu_peak_percent = $5,
             gpu_peak_percent = $6
         where id = $1",
        id as InstanceId,
        progress.known_to.map(ToSqlx::to_sqlx) as Option<jiff_sqlx::Timestamp>,
        progress.idle_since.map(ToSqlx::to_sqlx) as Option<jiff_sqlx::Timestamp>,
        progress.paused_seconds,
        progress.cpu_peak_percent,
        progress.gpu_peak_percent,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Which replica reports.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReporterId<'a> {
    /// `gateway` or `gpu`.
    pub(super) kind: &'static str,
    /// Unique among all replicas.
    pub(super) id: &'a str,
}

/// Stores what a replica reports: `uses` are instances with the time of their last use. Up to `reported_at` all of them are
/// known; none if others will follow. Returns whether anything was written.
pub(super) async fn report(
    conn: &mut PgConnection,
    reporter: ReporterId<'_>,
    reported_at: Option<Timestamp>,
    has_ended: bool,
    uses: &[(InstanceId, Timestamp)],
) -> sqlx::Result<bool> {
    store_uses(&mut *conn, uses).await?;
    let Some(reported_at) = reported_at else { return Ok(!uses.is_empty()) };
    // a report is stored only while an instance has an idle stop
    sqlx::query!(
        "insert into activity_reporters as r (id, kind, reported_at, has_ended)
         select $1, $2, $3, $4
         where exists (select from idle_watches) or $4 and exists (select from activity_reporters where id = $1)
         on conflict (id) do update
         set reported_at = greatest(r.reported_at, excluded.reported_at),
             has_ended = r.has_ended or excluded.has_ended",
        reporter.id,
        reporter.kind,
        reported_at.to_sqlx() as _,
        has_ended,
    )
    .execute(conn)
    .await
    .map(|done| !uses.is_empty() || done.rows_affected() > 0)
}

async fn store_uses(conn: &mut PgConnection, uses: &[(InstanceId, Timestamp)]) -> sqlx::Result<()> {
    if uses.is_empty() {
        return Ok(());
    }
    let (instances, times): (Vec<InstanceId>, Vec<jiff_sqlx::Timestamp>) =
        uses.iter().map(|(instance, at)| (*instance, at.to_sqlx())).unzip();
    // locked in one order: several replicas report the same instances
    sqlx::query!(
        "with own as (
             select w.id, u.at from idle_watches w
             join unnest($1::uuid[], $2::timestamptz[]) as u (id, at) on u.id = w.id
             where w.connected_at is null or w.connected_at < u.at
             order by w.id for update of w)
         update idle_watches w set connected_at = greatest(w.connected_at, own.at) from own where own.id = w.id",
        &instances as &[InstanceId],
        &times as _,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Returns the times of the last use, at a time.
pub(super) fn uses(activities: &[Activity], now: Timestamp) -> Vec<(InstanceId, Timestamp)> {
    let at = |activity: &Activity| {
        let ago = SignedDuration::try_from(activity.ago).unwrap_or(SignedDuration::MAX);
        now.checked_sub(ago).unwrap_or(Timestamp::MIN)
    };
    activities.iter().map(|activity| (activity.instance, at(activity))).collect()
}

/// Returns the replicas that have reported.
pub(super) async fn reporters(conn: &mut PgConnection) -> sqlx::Result<Vec<Reporter>> {
    sqlx::query_as!(
        Reporter,
        r#"select kind = 'gateway' as "is_gateway!", reported_at, has_ended from activity_reporters"#,
    )
    .fetch_all(conn)
    .await
}

/// Deletes the replicas that have not reported for longer than an instance can be idle.
pub(super) async fn delete_old_reporters(conn: &mut PgConnection, now: Timestamp) -> sqlx::Result<()> {
    sqlx::query!(
        "delete from activity_reporters where reported_at < $1::timestamptz - interval '8 days'",
        now.to_sqlx() as _,
    )
    .execute(conn)
    .await
    .map(drop)
}

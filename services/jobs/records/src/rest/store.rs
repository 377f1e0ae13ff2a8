//! SQL of the rest of replicas.

use std::time::Duration;

use sqlx::PgConnection;
use uuid::Uuid;

/// Whether a replica may rest.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outlook {
    /// Something is due or in progress.
    pub(super) is_busy: bool,
    /// No transaction that changes something was running.
    pub(super) is_alone: bool,
    /// Seconds until something will be due.
    pub(super) due_in: Option<f64>,
}

/// Returns whether something is in progress. Workers are expected to show that they are alive at least every `silent`.
pub(super) async fn outlook(conn: &mut PgConnection, silent: Duration) -> sqlx::Result<Outlook> {
    sqlx::query_as!(
        Outlook,
        r#"select
               (exists (select from jobs where ended_at is null and hold is distinct from 'tenant_suspended')
                or exists (select from jobs where hold is not null and deadline <= now())
                or exists (select from mq_outbox)
                or exists (select from deployments where state in ('pending', 'deleting'))
                or exists (select from outputs where delete_at <= now() or staged_until <= now())
                or exists (select from uploads where delete_at <= now())
                or exists (select from workers
                           where current_job is not null
                              or stage is not null and (stage <> 'placed' or state <> 'ready' or node = '' or tenure = 'lent'))
                or exists (select from workers
                           where state = 'ready'
                             and greatest(last_seen_at, present_until) < now() - make_interval(secs => $1))
                or exists (select from pools p
                           where p.owner_id is not null
                             and p.min_workers <> (select count(*) from workers w where w.pool_id = p.id and w.stage is not null))
               ) as "is_busy!",
               (select pg_snapshot_xmin(s) = pg_snapshot_xmax(s) from pg_current_snapshot() s) as "is_alone!",
               extract(epoch from least(
                   (select min(greatest(last_seen_at, present_until)) from workers where state = 'ready')
                       + make_interval(secs => $1),
                   (select min(deadline) from jobs where hold is not null),
                   (select min(delete_at) from outputs),
                   (select min(staged_until) from outputs),
                   (select min(delete_at) from uploads)) - now())::float8 as due_in"#,
        silent.as_secs_f64(),
    )
    .fetch_one(conn)
    .await
}

/// Announces that a replica rests: others wake it.
pub(super) async fn announce(conn: &mut PgConnection, replica: Uuid, time: Duration) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into resting (replica, until) values ($1, now() + make_interval(secs => $2))
         on conflict (replica) do update set until = excluded.until",
        replica,
        time.as_secs_f64(),
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Ends the rest of a replica, and of replicas that ended without doing so.
pub(super) async fn end(conn: &mut PgConnection, replica: Uuid) -> sqlx::Result<()> {
    sqlx::query!("delete from resting where replica = $1 or until < now()", replica)
        .execute(conn)
        .await
        .map(drop)
}

/// Wakes the replicas that rest.
pub(super) async fn notify(conn: &mut PgConnection, channel: &str) -> sqlx::Result<()> {
    sqlx::query!("select pg_notify($1, '')", channel).execute(conn).await.map(drop)
}

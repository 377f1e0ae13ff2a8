//! Work under a lease: a row names its worker and an expiry time, which the worker extends while it works. A lease can
//! therefore be shorter than the work, and a crash delays the row by at most one lease.
//!
//! Leases of rows are columns of their tables ([`crate::queue`]). Work that has no row takes a lease by its name, in the table
//! `leases` of the service:
//!
//! ```sql
//! create table leases (
//!     name  text primary key,
//!     owner uuid not null,
//!     until timestamptz not null
//! );
//! revoke all on leases from atelier_<service>_app;
//! ```
//!
//! Work that need not survive a lost connection takes a lock instead, which costs no writes ([`crate::Db::lock`]).

use std::time::Duration;

use sqlx::PgConnection;
use tokio::time::{Instant, sleep, timeout_at};
use uuid::Uuid;

/// Takes the lease `name` for `time` from now, or extends it. Returns whether `owner` has it.
///
/// # Errors
/// If the database fails.
pub async fn take(conn: &mut PgConnection, name: &str, owner: Uuid, time: Duration) -> sqlx::Result<bool> {
    let taken = sqlx::query(
        "insert into leases as l (name, owner, until) values ($1, $2, clock_timestamp() + make_interval(secs => $3))
         on conflict (name) do update set owner = excluded.owner, until = excluded.until
         where l.owner = excluded.owner or l.until <= clock_timestamp()",
    );
    let taken = taken.bind(name).bind(owner).bind(time.as_secs_f64()).execute(conn).await?;
    Ok(taken.rows_affected() == 1)
}

/// Takes the lease `name` for work that any replica does once in each `period`: it is free again after that.
///
/// # Errors
/// If the database fails.
pub async fn take_once(conn: &mut PgConnection, name: &str, period: Duration) -> sqlx::Result<bool> {
    take(conn, name, Uuid::now_v7(), period).await
}

/// Ends the lease `name` if `owner` has it: others can take it at once.
///
/// # Errors
/// If the database fails.
pub async fn release(conn: &mut PgConnection, name: &str, owner: Uuid) -> sqlx::Result<()> {
    let released = sqlx::query("delete from leases where name = $1 and owner = $2");
    released.bind(name).bind(owner).execute(conn).await.map(drop)
}

/// Runs `work` under a lease of `time`, requested at `requested`. `renew` extends the lease to `time` from now and
/// returns false if another worker has taken it.
///
/// Returns `None` if the lease is lost; the work is then dropped at its current await point, as in a crash.
pub async fn hold<T, R>(
    requested: Instant,
    time: Duration,
    renew: impl FnMut() -> R,
    work: impl Future<Output = T>,
) -> Option<T>
where
    R: Future<Output = sqlx::Result<bool>>,
{
    tokio::select! {
        biased;
        done = work => Some(done),
        () = lost(requested + time, time, renew) => None,
    }
}

/// Completes when another worker has taken the lease, or it has expired because the database does not answer.
async fn lost<R>(mut until: Instant, time: Duration, mut renew: impl FnMut() -> R)
where
    R: Future<Output = sqlx::Result<bool>>,
{
    loop {
        sleep(time / 3).await;
        let requested = Instant::now();
        match timeout_at(until, renew()).await {
            Ok(Ok(true)) => until = requested + time,
            Ok(Err(_)) if requested < until => {}
            Ok(Ok(false) | Err(_)) | Err(_) => return,
        }
    }
}

//! Work under a lease: a row names its worker and an expiry time, which the worker extends while it works. So a lease
//! can be short however long the work takes, and a crash delays the row by at most one lease.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

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

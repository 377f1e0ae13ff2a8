//! Work under a lease: a row names its worker and a time, which the worker extends while it works. The lease can be
//! short, then, however long the work takes, and a crash delays the row by no more than one lease.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

/// Runs `work` under a lease of `time` that was requested at `asked`. `renew` extends the lease to `time` from now and
/// returns false if another worker has taken it.
///
/// Returns none if the lease is lost. The work is dropped then at whatever await point it has reached, as it would be
/// in a crash.
pub async fn hold<T, R>(
    asked: Instant,
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
        () = lost(asked + time, time, renew) => None,
    }
}

/// Completes when the lease is another worker's, or has expired because the database does not answer.
async fn lost<R>(mut until: Instant, time: Duration, mut renew: impl FnMut() -> R)
where
    R: Future<Output = sqlx::Result<bool>>,
{
    loop {
        sleep(time / 3).await;
        let asked = Instant::now();
        match timeout_at(until, renew()).await {
            Ok(Ok(true)) => until = asked + time,
            Ok(Err(_)) if asked < until => {}
            Ok(Ok(false) | Err(_)) | Err(_) => return,
        }
    }
}

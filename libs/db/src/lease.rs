//! Work that one worker does at a time, under a lease: its row names the worker and a time, which the worker
//! puts off for as long as it works. A short time is enough, then, for however long the work takes, and is
//! all that the others wait for when the worker dies.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

/// Does `work` under a lease that was asked for at `asked` and lasts for `time`; `renew` makes it last for
/// `time` from now, and says whether it is still the worker's own.
///
/// `None` when the lease could not be kept. The work has been dropped by then, wherever it was: what it was
/// doing must bear that, as it must bear the death of the process.
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

/// Ends when the lease is another's, or runs out because the database does not answer.
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

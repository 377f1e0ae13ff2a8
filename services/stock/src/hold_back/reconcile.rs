//! The worker that forecasts: as many units as 99 of 100 windows of the past needed, each as long as a recall takes.

use std::time::Duration;

use service::{Round, Workers};
use sqlx::PgConnection;

use super::store;
use crate::{AppState, comparison};

/// Subject under which the rounds are recorded. No cluster can have this name.
const SUBJECT: &str = "the forecast of claims";
/// How often it forecasts.
pub const PERIOD: Duration = Duration::from_secs(600);
/// Seconds of the past that are looked at: an hour in each of this many weeks, around the same time of the week.
const WEEKS: i32 = 4;
const HOUR: i64 = 3600;

/// Starts the worker `stock.hold_back`.
pub(crate) fn start(state: &AppState, workers: &Workers) {
    let state = state.clone();
    workers.spawn_periodic("stock.hold_back", PERIOD, move || {
        let state = state.clone();
        async move { round(&state).await.map(|()| Round::Done) }
    });
}

/// Forecasts for all specifications and datacenters, in one replica at a time.
async fn round(state: &AppState) -> anyhow::Result<()> {
    let mut tx = state.db.worker().await?;
    if !comparison::store::begin(&mut tx, SUBJECT, PERIOD).await? {
        return Ok(());
    }
    let changed = forecast(&mut tx, state.config.recall_seconds).await?;
    tx.commit().await?;
    if changed > 0 {
        tracing::info!(changed, "forecast of claims changed");
    }
    Ok(())
}

/// Stores what is to be held back from now on, with windows of `recall_seconds`, in the table `hold_backs`. Returns the number of
/// changes.
///
/// # Errors
/// When Postgres does.
pub async fn forecast(conn: &mut PgConnection, recall_seconds: u32) -> sqlx::Result<u64> {
    let window = i64::from(recall_seconds.max(1));
    let ranks = store::Ranks { weeks: rank(i64::from(WEEKS) * HOUR, window), hour: rank(HOUR, window) };
    store::forecast(conn, WEEKS, window, ranks).await
}

/// The place, in descending order, of the window that needed as many units as 99 of 100 did at most.
fn rank(seconds: i64, window: i64) -> i64 {
    seconds / window / 100 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_most_one_window_of_a_hundred_needs_more() {
        // of 960 windows 9 may need more, of 240 windows 2
        assert_eq!((rank(4 * HOUR, 15), rank(HOUR, 15)), (10, 3));
        assert_eq!(rank(HOUR, 3600), 1, "of one window it is the one");
    }
}

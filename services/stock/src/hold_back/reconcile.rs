//! Forecasts: the number of units that suffices for 99 of 100 windows of the past, each as long as a recall
//! takes.

use std::time::Duration;

use db::{Db, lease};
use service::Round;
use sqlx::PgConnection;

use super::store;

/// Lease of a forecast.
const LEASE: &str = "forecast of claims";
/// How often it forecasts.
pub const PERIOD: Duration = Duration::from_secs(600);
/// The part of the past for the forecast, in seconds: an hour in each of this many weeks, around the same time of the
/// week.
const WEEKS: i32 = 4;
const HOUR: i64 = 3600;

/// Forecasts for all specifications and datacenters, in one replica at a time.
pub(crate) async fn round((db, recall_seconds): (Db, u32)) -> anyhow::Result<Round> {
    let mut tx = db.worker().await?;
    if !lease::take_once(&mut tx, LEASE, PERIOD).await? {
        return Ok(Round::Done);
    }
    let changed = forecast(&mut tx, recall_seconds).await?;
    tx.commit().await?;
    if changed > 0 {
        tracing::info!(changed, "forecast of claims changed");
    }
    Ok(Round::Done)
}

/// Stores the new hold-backs, with windows of `recall_seconds`, in the table `hold_backs`. Returns the number of
/// changes.
///
/// # Errors
/// When Postgres does.
pub async fn forecast(conn: &mut PgConnection, recall_seconds: u32) -> sqlx::Result<u64> {
    let window = i64::from(recall_seconds.max(1));
    let ranks = store::Ranks { weeks: rank(i64::from(WEEKS) * HOUR, window), hour: rank(HOUR, window) };
    store::forecast(conn, WEEKS, window, ranks).await
}

/// Returns the rank, in descending order, of the window that decides: 99 of 100 windows needed at most as
/// many units.
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

//! The worker that forecasts: as many units as 99 of 100 windows of the past needed, each as long as a recall takes.

use std::time::Duration;

use service::{Round, Workers};

use super::store;
use crate::{AppState, comparison};

/// Subject under which the rounds are recorded. No cluster can have this name.
const SUBJECT: &str = "the forecast of claims";
const PERIOD: Duration = Duration::from_secs(600);
/// Seconds of the past that are looked at: an hour in each of this many weeks, around the same time of the week.
const WEEKS: i32 = 4;
const HOUR: i64 = 3600;

/// Starts the worker `stock.hold_back`.
pub(crate) fn start(state: &AppState, workers: &Workers) {
    let state = state.clone();
    workers.spawn_periodic("stock.hold_back", PERIOD, move || {
        let state = state.clone();
        async move { forecast(&state).await.map(|()| Round::Done) }
    });
}

/// Forecasts for all specifications and datacenters, in one replica at a time.
async fn forecast(state: &AppState) -> anyhow::Result<()> {
    let mut tx = state.db.worker().await?;
    if !comparison::store::begin(&mut tx, SUBJECT, PERIOD).await? {
        return Ok(());
    }
    let window = i64::from(state.config.recall_seconds.max(1));
    let ranks = store::Ranks { weeks: rank(i64::from(WEEKS) * HOUR, window), hour: rank(HOUR, window) };
    let changed = store::forecast(&mut tx, WEEKS, window, ranks).await?;
    tx.commit().await?;
    if changed > 0 {
        tracing::info!(changed, "forecast of claims changed");
    }
    Ok(())
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

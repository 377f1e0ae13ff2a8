//! The meter, compared with what the demo observed.

use std::time::Duration;

use anyhow::{Context, ensure};
use machine::client::{Api, text};

use super::stock::PRICE;

/// Bounds on how long an instance ran, measured by the demo.
pub(super) struct Ran {
    pub(super) at_least: Duration,
    pub(super) at_most: Duration,
}

/// Total of billed seconds. Each run, newest first, must be within the measured bounds.
pub(super) async fn billed(designer: &Api, instance: &str, seen: &[Ran]) -> anyhow::Result<i64> {
    let usage = designer.get(&format!("/v1/instances/{instance}/usage")).await?;
    let items = usage["items"].as_array().context("no runs")?;
    let runs: Vec<_> = items.iter().filter(|run| run["kind"] == "running").collect();
    ensure!(runs.len() == seen.len(), "expected {} runs: {usage}", seen.len());
    let mut total = 0;
    for (run, seen) in runs.iter().zip(seen) {
        let (from, to): (jiff::Timestamp, jiff::Timestamp) =
            (text(run, "started_at")?.parse()?, text(run, "ended_at")?.parse()?);
        let seconds = to.as_second() - from.as_second();
        ensure!(run["seconds"] == seconds, "billed {}, ran {seconds}: {run}", run["seconds"]);
        let (at_least, at_most) = (seen.at_least.as_secs_f64(), seen.at_most.as_secs_f64());
        // both ends are whole seconds
        let can_be = at_least - 1.0..at_most + 1.0;
        ensure!(can_be.contains(&(seconds as f64)), "measured {at_least:.1} to {at_most:.1} s: {run}");
        ensure!(run["price_per_hour"] == PRICE, "not the price at the time of the claim: {run}");
        total += seconds;
    }
    ensure!(total > 0, "no second is billed: {usage}");
    ensure!(usage["total_seconds"] == total, "the total is not the sum of the runs: {usage}");
    Ok(total)
}

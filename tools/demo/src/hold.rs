//! A stopped instance that keeps its unit.

use std::time::Duration;

use anyhow::{Context, ensure};
use machine::client::{Api, text};
use serde_json::{Value, json};

use super::instance;

/// The hold's price per hour: the part of the price that `stock::create_spec` sets.
const PRICE: &str = "0.09";
/// How long the instance stays stopped, so that a whole second is billed.
const STOPPED: Duration = Duration::from_millis(1500);

/// Stops the instance with a hold.
pub(super) async fn stop(designer: &Api, id: &str) -> anyhow::Result<()> {
    let body = json!({ "hold": { "for_seconds": 600 } });
    let stopping = designer.post(&format!("/v1/instances/{id}/stop"), body, 202).await?;
    instance::follow(designer, &stopping["operation_id"]).await?;
    let seen = designer.get(&format!("/v1/instances/{id}")).await?;
    ensure!(seen["state"] == "stopped" && seen["hold"]["price_per_hour"] == PRICE, "no hold: {seen}");
    tokio::time::sleep(STOPPED).await;
    Ok(())
}

/// Starts the instance, which needs no free unit.
pub(super) async fn start(designer: &Api, id: &str) -> anyhow::Result<()> {
    let start = instance::request(designer, id, "start").await?;
    instance::expect_running(designer, id, &start).await
}

/// Returns the held seconds, which the tenant's usage has too.
pub(super) async fn billed(designer: &Api, id: &str, running_seconds: i64) -> anyhow::Result<i64> {
    let usage = designer.get(&format!("/v1/instances/{id}/usage")).await?;
    let runs = usage["items"].as_array().context("no runs")?;
    let held: Vec<&Value> = runs.iter().filter(|run| run["kind"] == "held").collect();
    let [run] = &held[..] else { anyhow::bail!("expected one hold: {usage}") };
    ensure!(run["price_per_hour"] == PRICE && run["end_reason"] == "instance_started", "another hold: {run}");
    let seconds = run["seconds"].as_i64().context("no seconds")?;
    ensure!(seconds >= 1 && usage["held_seconds"] == seconds, "no second of the hold is billed: {usage}");
    let groups = designer.list("/v1/usage?group_by=instance").await?;
    let group = groups.iter().find(|group| group["group"] == id).context("not in the tenant's usage")?;
    ensure!(
        group["running_seconds"] == running_seconds && group["held_seconds"] == seconds,
        "the tenant's usage differs: {group}"
    );
    text(group, "amount")?;
    Ok(seconds)
}

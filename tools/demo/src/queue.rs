//! The queue: an instance waits for the only unit of a specification, and starts when another one releases it.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use machine::client::{Api, text};
use serde_json::{Value, json};

use super::{instance, stock};

/// A specification with one unit, and the two instances that want it.
pub(super) struct Contest {
    pub(super) spec: String,
    pub(super) spec_id: String,
    first: String,
    second: String,
}

/// The longest wait for a step of the platform.
const LIMIT: Duration = Duration::from_secs(60);

/// Polls the instance until `seen` returns something.
async fn until<T>(
    designer: &Api,
    id: &str,
    what: &str,
    mut seen: impl FnMut(&Value) -> Option<T>,
) -> anyhow::Result<T> {
    let begun = Instant::now();
    loop {
        let instance = designer.get(&format!("/v1/instances/{id}")).await?;
        if let Some(found) = seen(&instance) {
            return Ok(found);
        }
        ensure!(begun.elapsed() < LIMIT, "{what}: {instance}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Creates a specification with one unit, and an instance that uses it.
pub(super) async fn fill(
    admin: &Api,
    designer: &Api,
    spec: &str,
    datacenter: &str,
) -> anyhow::Result<Contest> {
    let spec = format!("{spec}-queue");
    let spec_id = stock::create_spec(admin, &spec).await?;
    let body = json!({ "gpu_spec": spec, "datacenter": datacenter, "count": 1 });
    let operation = admin.post("/v1/stock/additions", body, 202).await?;
    admin.follow("stock-operations", &operation["id"]).await?;
    let created = create(designer, &spec, "demo-first", false).await?;
    let first = text(&created, "id")?.to_owned();
    instance::expect_running(designer, &first, &created["operation_id"]).await?;
    Ok(Contest { spec, spec_id, first, second: String::new() })
}

async fn create(designer: &Api, spec: &str, name: &str, wait: bool) -> anyhow::Result<Value> {
    designer.post("/v1/instances", order(designer, spec, name, wait).await?, 202).await
}

async fn order(designer: &Api, spec: &str, name: &str, wait: bool) -> anyhow::Result<Value> {
    let services = designer.list("/v1/services").await?;
    let webui = services.iter().find(|service| service["service"] == "stable-diffusion-webui");
    let version = &webui.context("no WebUI in the catalogue")?["version"];
    Ok(json!({
        "name": name, "gpu_spec": spec, "service": "stable-diffusion-webui", "version": version, "wait": wait,
    }))
}

/// Reads the price and why the instance would not start now.
pub(super) async fn quote(designer: &Api, contest: &Contest) -> anyhow::Result<()> {
    let body = order(designer, &contest.spec, "demo-second", true).await?;
    let quote = designer.post("/v1/instances/quote", body, 200).await?;
    ensure!(quote["starts_now"] == false && quote["reason"] == "stock_exhausted", "not full: {quote}");
    ensure!(quote["price_per_hour"].is_string(), "no price: {quote}");
    ensure!(
        !quote["alternatives"].as_array().context("no alternatives")?.is_empty(),
        "nothing else: {quote}"
    );
    Ok(())
}

/// Creates the second instance, which waits, and reads its place.
pub(super) async fn wait(designer: &Api, contest: &mut Contest) -> anyhow::Result<()> {
    let created = create(designer, &contest.spec, "demo-second", true).await?;
    text(&created, "id")?.clone_into(&mut contest.second);
    let position = |seen: &Value| seen["queue"]["position"].is_i64().then(|| seen.clone());
    let seen = until(designer, &contest.second, "the instance does not wait", position).await?;
    ensure!(seen["queue"]["position"] == 1, "not the next: {seen}");
    ensure!(!seen["alternatives"].as_array().context("no alternatives")?.is_empty(), "nothing else: {seen}");
    Ok(())
}

/// Stops the first instance. Returns the milliseconds from its end until the second one has the unit.
pub(super) async fn hand_over(designer: &Api, contest: &Contest) -> anyhow::Result<f64> {
    instance::request(designer, &contest.first, "stop").await?;
    let ended = until(designer, &contest.first, "the first does not stop", |seen| {
        (seen["state"] == "stopped").then(Instant::now)
    });
    let granted = until(designer, &contest.second, "the second waits on", |seen| {
        (seen["state"] != "pending").then(Instant::now)
    });
    let (ended, granted) = tokio::try_join!(ended, granted)?;
    until(designer, &contest.second, "the second does not run", |seen| {
        (seen["state"] == "running").then_some(())
    })
    .await?;
    Ok(granted.saturating_duration_since(ended).as_secs_f64() * 1000.0)
}

pub(super) async fn clean_up(admin: &Api, designer: &Api, contest: &Contest) -> anyhow::Result<()> {
    instance::delete(designer, &contest.first).await?;
    instance::delete(designer, &contest.second).await?;
    stock::remove_stock(admin, &contest.spec).await?;
    stock::delete_spec(admin, &contest.spec_id).await
}

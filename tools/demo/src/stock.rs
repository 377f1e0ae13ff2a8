//! The administrator's steps: datacenters, GPU specifications and stock.

use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use machine::client::{Api, text};
use serde_json::json;

/// Units that the demo adds.
const STOCK: u64 = 3;

/// Price per hour after the change.
pub(super) const PRICE: &str = "0.36";

pub async fn datacenter(admin: &Api) -> anyhow::Result<String> {
    let all = admin.list("/v1/datacenters").await?;
    Ok(text(all.first().context("there is no datacenter")?, "name")?.to_owned())
}

/// As large as the smallest of the catalogue, which the cluster can hold.
pub async fn create_spec(admin: &Api, name: &str) -> anyhow::Result<String> {
    let known = admin.list("/v1/gpu-specs").await?;
    let smallest = known.iter().min_by_key(|spec| spec["memory_mib"].as_u64());
    let smallest = smallest.context("there is no specification")?;
    let spec = json!({
        "name": name, "gpu_model": "NVIDIA-GeForce-RTX-3080", "gpu_count": 1, "gpu_cores": 8704,
        "video_memory_mib": 10_240, "cpu_millis": smallest["cpu_millis"],
        "memory_mib": smallest["memory_mib"], "disk_gib": smallest["disk_gib"],
        "price_per_hour": "0.2", "hold_price_fraction": "0.25", "currency": "USD",
        "allocation": { "kind": "device", "resource": "nvidia.com/gpu" },
    });
    let made = admin.post("/v1/gpu-specs", spec, 201).await?;
    Ok(text(&made, "id")?.to_owned())
}

pub async fn add_stock(admin: &Api, spec: &str, datacenter: &str) -> anyhow::Result<()> {
    let body = json!({ "gpu_spec": spec, "datacenter": datacenter, "count": STOCK });
    let operation = admin.post("/v1/stock/additions", body, 202).await?;
    let done = admin.follow("stock-operations", &operation["id"]).await?;
    ensure!(done["progress"]["held"] == STOCK, "not all units are held: {done}");
    Ok(())
}

pub(super) async fn edit_price(admin: &Api, spec_id: &str) -> anyhow::Result<()> {
    let path = format!("/v1/gpu-specs/{spec_id}");
    let changed = admin.patch(&path, json!({ "price_per_hour": PRICE })).await?;
    ensure!(changed["price_per_hour"] == PRICE, "the price did not change: {changed}");
    let history = admin.list(&format!("{path}/prices")).await?;
    ensure!(history.len() == 2, "the history does not have both prices: {history:?}");
    Ok(())
}

pub(super) async fn expect_counts(admin: &Api, spec: &str, available: u64, used: u64) -> anyhow::Result<()> {
    // the counts follow the cluster's events
    let begun = Instant::now();
    loop {
        let rows = admin.list(&format!("/v1/stock?spec_name={spec}")).await?;
        let [row] = &rows[..] else { bail!("expected one row: {rows:?}") };
        let seen = ["available", "inactive", "used", "total"].map(|name| row[name].as_u64());
        if seen == [Some(available), Some(0), Some(used), Some(STOCK)] {
            return Ok(());
        }
        ensure!(begun.elapsed().as_secs() < 10, "the stock shows {row}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

pub async fn remove_stock(admin: &Api, spec: &str) -> anyhow::Result<()> {
    for row in admin.list(&format!("/v1/stock?spec_name={spec}")).await? {
        if row["gpu_spec"]["name"] == spec && row["total"].as_u64() > Some(0) {
            let body =
                json!({ "gpu_spec": spec, "datacenter": row["datacenter"]["name"], "count": row["total"] });
            let operation = admin.post("/v1/stock/removals", body, 202).await?;
            admin.follow("stock-operations", &operation["id"]).await?;
        }
    }
    Ok(())
}

pub async fn delete_spec(admin: &Api, id: &str) -> anyhow::Result<()> {
    let path = &format!("/v1/gpu-specs/{id}");
    let read = admin.send(reqwest::Method::GET, path, None, None).await?;
    let answer = admin.send(reqwest::Method::DELETE, path, read.etag.as_deref(), None).await?;
    ensure!(answer.status == 204, "{path}: {} {}", answer.status, answer.text);
    Ok(())
}

//! The workers of the platform's pools.

use std::{collections::HashSet, time::Duration};

use anyhow::ensure;
use machine::{
    access::Access,
    client::{Api, text},
};
use serde_json::Value;
use tokio::time::{Instant, sleep};

/// How long new workers may take.
const LIMIT: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(200);

/// Has all workers replaced, and waits until new ones are ready. A new worker is another instance: no
/// earlier crash delays its restart.
pub(super) async fn replace(access: &Access) -> anyhow::Result<()> {
    let admin = Api::new(&access.gateway)?.sign_in(&access.administrator).await?;
    let mut old = HashSet::new();
    for worker in list(&admin).await? {
        admin.delete(&path(&worker)?, 204).await?;
        old.insert(text(&worker, "id")?.to_owned());
    }
    let begun = Instant::now();
    loop {
        let workers = list(&admin).await?;
        let ready = workers.iter().filter(|worker| worker["state"] == "ready");
        let (old, new): (Vec<_>, Vec<_>) =
            ready.partition(|worker| worker["id"].as_str().is_some_and(|id| old.contains(id)));
        if old.is_empty() && !new.is_empty() {
            return Ok(());
        }
        ensure!(begun.elapsed() < LIMIT, "no new workers in {} s: {workers:?}", LIMIT.as_secs());
        sleep(PAUSE).await;
    }
}

async fn list(admin: &Api) -> anyhow::Result<Vec<Value>> {
    let mut workers = Vec::new();
    for pool in admin.list("/v1/platform-pools").await? {
        workers.extend(admin.list(&format!("/v1/platform-pools/{}/workers", text(&pool, "id")?)).await?);
    }
    Ok(workers)
}

fn path(worker: &Value) -> anyhow::Result<String> {
    Ok(format!("/v1/platform-pools/{}/workers/{}", text(worker, "pool_id")?, text(worker, "id")?))
}

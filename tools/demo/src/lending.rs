//! Unused GPUs draw pictures, until an instance needs one.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use machine::{
    access::WORKERS_GPU_SPEC,
    client::{Api, text},
    process,
};
use serde_json::{Value, json};

use super::instance;

/// Longest time until a unit is lent, or a picture is made.
pub const LIMIT: Duration = Duration::from_secs(90);
/// Steps of a picture.
const STEPS: u64 = 100;
/// More than one worker makes in that time.
const PICTURES: usize = 30;

/// The pool whose workers are lent units, and its jobs.
pub struct Loan {
    pool: String,
    jobs: Vec<String>,
    /// The job on the lent unit.
    job: String,
    instances: Vec<String>,
}

/// Returns the path of the pool with lent workers; none if there is no such pool.
pub async fn pool(admin: &Api) -> anyhow::Result<Option<String>> {
    let pools = admin.list("/v1/platform-pools").await?;
    let lends = |pool: &&Value| pool["workers"]["lent_max"].as_u64() > Some(0);
    let Some(pool) = pools.iter().find(lends) else { return Ok(None) };
    Ok(Some(format!("/v1/platform-pools/{}", text(pool, "id")?)))
}

/// Orders more pictures than the pool's own worker can make soon, and waits until a lent unit makes one of them.
pub async fn order(admin: &Api, designer: &Api, pool: String) -> anyhow::Result<Loan> {
    let picture = json!({
        "application": "stable-diffusion", "method": "txt2img", "level": "background",
        "parameters": { "prompt": "a harbour in the fog", "steps": STEPS, "width": 1024, "height": 1024 },
    });
    let body = json!({ "jobs": vec![picture; PICTURES] });
    let batch = designer.post("/v1/job-batches", body, 202).await?;
    let items = batch["items"].as_array().context("no items")?;
    let jobs: Vec<String> =
        items.iter().map(|item| Ok(text(&item["job"], "id")?.to_owned())).collect::<anyhow::Result<_>>()?;
    let mut loan = Loan { pool, jobs, job: String::new(), instances: Vec::new() };
    expect_lent(admin, designer, &mut loan).await?;
    Ok(loan)
}

/// The job of the lent worker.
async fn lent_job(admin: &Api, pool: &str) -> anyhow::Result<Option<String>> {
    let workers = admin.list(&format!("{pool}/workers")).await?;
    let lent = workers.iter().find(|worker| worker["tenure"] == "lent" && worker["leave_by"].is_null());
    Ok(lent.and_then(|worker| worker["job_id"].as_str()).map(str::to_owned))
}

/// Starts an instance on the unit that is held back for starts. Returns the milliseconds until it runs.
pub async fn start_on_free(designer: &Api, loan: &mut Loan) -> anyhow::Result<f64> {
    start(designer, loan).await
}

/// Starts an instance that takes the lent unit from a picture. Returns the milliseconds until it runs.
pub async fn start_on_lent(admin: &Api, designer: &Api, loan: &mut Loan) -> anyhow::Result<f64> {
    expect_lent(admin, designer, loan).await?;
    start(designer, loan).await
}

/// Starts an instance with the specification of the workers. Returns the milliseconds until it runs.
pub async fn start(designer: &Api, loan: &mut Loan) -> anyhow::Result<f64> {
    let services = designer.list("/v1/services").await?;
    let webui = services.iter().find(|service| service["service"] == "stable-diffusion-webui");
    let version = &webui.context("no WebUI in the catalogue")?["version"];
    let body = json!({
        "name": format!("demo-lent-{}", loan.instances.len()), "gpu_spec": WORKERS_GPU_SPEC,
        "service": "stable-diffusion-webui", "version": version,
    });
    let begun = Instant::now();
    let created = designer.post("/v1/instances", body, 202).await?;
    let id = text(&created, "id")?.to_owned();
    loan.instances.push(id.clone());
    instance::expect_running(designer, &id, &created["operation_id"]).await?;
    Ok(begun.elapsed().as_secs_f64() * 1000.0)
}

/// Waits until a lent unit has begun one of the pictures, and remembers which.
async fn expect_lent(admin: &Api, designer: &Api, loan: &mut Loan) -> anyhow::Result<()> {
    let mut begun = None;
    process::until("a lent unit makes a picture", LIMIT, async || {
        let Some(job) = lent_job(admin, &loan.pool).await?.filter(|job| loan.jobs.contains(job)) else {
            return Ok(false);
        };
        let read = designer.get(&format!("/v1/jobs/{job}")).await?;
        let is_new = read["state"] == "running" && read["progress"]["step"].as_u64() < Some(STEPS / 4);
        begun = is_new.then_some(job);
        Ok(is_new)
    })
    .await?;
    loan.job = begun.context("no job")?;
    Ok(())
}

/// Waits until the job that lost its unit has succeeded on another, and cancels the others.
pub(super) async fn expect_made(designer: &Api, loan: &Loan) -> anyhow::Result<()> {
    process::until("the picture is made elsewhere", LIMIT, async || {
        Ok(designer.get(&format!("/v1/jobs/{}", loan.job)).await?["state"] == "succeeded")
    })
    .await?;
    cancel_all(designer, loan).await?;
    let events = designer.list(&format!("/v1/jobs/{}/events", loan.job)).await?;
    let is_recalled = |event: &Value| event["type"] == "job.requeued" && event["reason"] == "recalled";
    ensure!(events.iter().any(is_recalled), "the job was not interrupted: {events:?}");
    Ok(())
}

/// Cancels the jobs that have not ended.
pub async fn cancel_all(designer: &Api, loan: &Loan) -> anyhow::Result<()> {
    for job in &loan.jobs {
        let path = format!("/v1/jobs/{job}");
        let state = designer.get(&path).await?["state"].clone();
        if matches!(state.as_str(), Some("queued" | "assigned" | "running")) {
            // it may have ended just now
            let _ = designer.send(reqwest::Method::POST, &format!("{path}/cancel"), None, None).await?;
        }
    }
    Ok(())
}

/// Waits until the lent worker is idle.
pub async fn expect_idle(admin: &Api, loan: &Loan) -> anyhow::Result<()> {
    process::until("the lent worker is idle", LIMIT, async || {
        let workers = admin.list(&format!("{}/workers", loan.pool)).await?;
        let mut lent = workers.iter().filter(|worker| worker["tenure"] == "lent");
        Ok(lent.any(|worker| worker["state"] == "ready" && worker["job_id"].is_null()))
    })
    .await
}

/// Whether the units of the instances can be claimed again: all but the firm worker's.
pub async fn is_free(admin: &Api) -> anyhow::Result<bool> {
    let stock = admin.list(&format!("/v1/stock?spec_name={WORKERS_GPU_SPEC}")).await?;
    Ok(stock.iter().all(|row| row["used"].as_u64() == Some(1)))
}

pub async fn delete(designer: &Api, loan: &Loan) -> anyhow::Result<()> {
    for instance in &loan.instances {
        instance::delete(designer, instance).await?;
    }
    Ok(())
}

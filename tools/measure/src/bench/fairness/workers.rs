//! Workers that end each job after a moment, and how long jobs wait for them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use anyhow::ensure;
use machine::client::{Api, text};
use serde_json::{Value, json};
use tokio::{task::JoinSet, time::sleep};

use super::{
    Args, Seen,
    tenants::{Tenants, job},
};
use crate::bench::platform::quantile;

/// How long a job runs.
const RUN: Duration = Duration::from_millis(20);
/// Between two jobs of the victim.
const PAUSE: Duration = Duration::from_millis(50);
/// Longest wait.
const LIMIT: Duration = Duration::from_secs(120);
/// Maximum number of jobs of a batch.
const BATCH: usize = 1_000;

/// When a worker had a job, by its id.
type Begun = Arc<Mutex<HashMap<String, Instant>>>;

/// How long jobs of the victim wait for a worker. Each turn has a pool and workers of its own: remaining
/// urgent jobs do not delay the next one.
pub(super) async fn waits(args: &Args, tenants: &mut Tenants, workers_url: &str) -> anyhow::Result<Seen> {
    let mut seen = Seen::default();
    for turn in 0..args.turns {
        let (pool, begun) = (format!("busy-{turn}"), Begun::default());
        let mut workers = JoinSet::new();
        for token in tenants.pool(&pool, args.workers).await? {
            let worker = Worker::register(workers_url, token).await?;
            workers.spawn(worker.run(Arc::clone(&begun)));
        }
        let victim = Submitter { api: tenants.users(1).await?.remove(0), pool: pool.clone() };
        let other = Submitter { api: tenants.users(1).await?.remove(0), pool };
        // the pool has a leader afterwards
        victim.one_by_one(1, &begun).await?;
        let mut alone = victim.one_by_one(args.jobs, &begun).await?;
        let (urgent, beside) = tokio::join!(other.submit_urgent(args.urgent), async {
            sleep(PAUSE).await;
            victim.one_by_one(args.jobs, &begun).await
        });
        urgent?;
        let mut beside = beside?;
        for (name, took) in [("alone", &mut alone), ("beside", &mut beside)] {
            println!(
                "{name:<8} {:<10} {:>9.1} {:>9.1} {:>9.1}",
                "wait",
                quantile(took, 0.5),
                quantile(took, 0.99),
                quantile(took, 1.0),
            );
        }
        seen.alone.append(&mut alone);
        seen.beside.append(&mut beside);
    }
    Ok(seen)
}

/// A user who submits jobs to a pool.
struct Submitter {
    api: Api,
    pool: String,
}

impl Submitter {
    fn job(&self) -> Value {
        let mut job = job();
        job["pool"] = json!(self.pool);
        job
    }

    async fn submit_urgent(&self, count: usize) -> anyhow::Result<()> {
        let mut urgent = self.job();
        urgent["level"] = json!("urgent");
        for first in (0..count).step_by(BATCH) {
            let jobs = vec![urgent.clone(); BATCH.min(count - first)];
            self.api.post("/v1/job-batches", json!({ "jobs": jobs }), 202).await?;
        }
        Ok(())
    }

    /// Submits one job after the other. Returns the milliseconds until each was with a worker.
    async fn one_by_one(&self, count: usize, begun: &Begun) -> anyhow::Result<Vec<f64>> {
        let mut waits = Vec::new();
        for _ in 0..count {
            let sent = Instant::now();
            let made = self.api.post("/v1/jobs", self.job(), 202).await?;
            let had = wait_for(begun, text(&made, "id")?).await?;
            waits.push(had.saturating_duration_since(sent).as_secs_f64() * 1000.0);
            sleep(PAUSE).await;
        }
        Ok(waits)
    }
}

/// Waits until a worker has had a job. Returns since when.
async fn wait_for(begun: &Begun, id: &str) -> anyhow::Result<Instant> {
    let waiting = Instant::now();
    loop {
        let had = begun.lock().unwrap_or_else(PoisonError::into_inner).get(id).copied();
        if let Some(had) = had {
            return Ok(had);
        }
        ensure!(waiting.elapsed() < LIMIT, "no worker has had {id} in {} s", LIMIT.as_secs());
        sleep(Duration::from_millis(1)).await;
    }
}

struct Worker {
    http: reqwest::Client,
    workers_url: String,
    token: String,
    session: Value,
}

impl Worker {
    async fn register(workers_url: &str, token: String) -> anyhow::Result<Self> {
        let (http, workers_url) = (machine::http::client()?, workers_url.to_owned());
        let mut worker = Self { http, workers_url, token, session: Value::Null };
        worker.session = worker.call("register", &json!({})).await?["session"].clone();
        Ok(worker)
    }

    async fn call(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        let request =
            self.http.post(format!("{}/worker/v1/{path}", self.workers_url)).bearer_auth(&self.token);
        Ok(request.json(body).send().await?.error_for_status()?.json().await?)
    }

    /// Ends each job, without results: those would be the object store's time.
    async fn run(self, begun: Begun) -> anyhow::Result<()> {
        let poll = json!({ "session": self.session, "running": null, "wait_seconds": 20 });
        let end = json!({ "session": self.session, "code": "measured", "message": "Measured.", "retryable": false });
        loop {
            let answer = self.call("poll", &poll).await?;
            let work = &answer["instruction"]["work"];
            let Some(job) = work["job_id"].as_str() else { continue };
            begun.lock().unwrap_or_else(PoisonError::into_inner).insert(job.to_owned(), Instant::now());
            sleep(RUN).await;
            self.call(&format!("attempts/{job}/{}/fail", work["attempt"]), &end).await?;
        }
    }
}

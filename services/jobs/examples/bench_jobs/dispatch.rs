//! How soon a worker gets a job: from the answer to its submission, with an idle worker and no other load;
//! and from the end of a worker's job to the next one, with many queued jobs.

use std::time::Instant;

use reqwest::Client;
use serde_json::{Value, json};

use crate::service::{Site, job, percentile};

/// Maximum number of jobs in a batch.
const BATCH: usize = 1_000;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Jobs that are measured, each time
    #[arg(long, default_value_t = 300)]
    jobs: usize,
    /// Jobs that are queued
    #[arg(long, default_value_t = 100_000)]
    queued: usize,
    /// Workers while they are
    #[arg(long, default_value_t = 8)]
    workers: usize,
}

pub(crate) async fn run(args: Args) {
    let mut idle = idle(&args).await;
    let mut loaded = loaded(&args).await;
    println!("{:>9} {:>9} {:>9}", "queued", "p50 ms", "p99 ms");
    for (queued, took) in [(0, &mut idle), (args.queued, &mut loaded)] {
        println!("{queued:>9} {:>9.2} {:>9.2}", percentile(took, 0.5), percentile(took, 0.99));
    }
    println!(
        "jobs-dispatch: p50_ms={:.2} p99_ms={:.2} p50_loaded_ms={:.2} p99_loaded_ms={:.2} queued={}",
        percentile(&mut idle, 0.5),
        percentile(&mut idle, 0.99),
        percentile(&mut loaded, 0.5),
        percentile(&mut loaded, 0.99),
        args.queued,
    );
}

/// Milliseconds from the answer to a submission to the job at the worker, which has an open poll.
async fn idle(args: &Args) -> Vec<f64> {
    let site = Site::start().await;
    let token = site.pool(1).await.remove(0);
    let worker = Worker::register(&site, token).await;
    let member = site.member();
    let mut took = Vec::new();
    for n in 0..args.jobs {
        let (body, submit) = (job(&n.to_string()), async |body: Value| {
            site.post(&member, "/v1/jobs", &body).await;
            Instant::now()
        });
        let next = async {
            let work = worker.next().await;
            (work, Instant::now())
        };
        let (submitted, (work, had)) = tokio::join!(submit(body), next);
        took.push(had.saturating_duration_since(submitted).as_secs_f64() * 1000.0);
        worker.end(&work).await;
    }
    took
}

/// Milliseconds from the answer to the end of a job to the worker's next one.
async fn loaded(args: &Args) -> Vec<f64> {
    let site = Site::start().await;
    let tokens = site.pool(args.workers).await;
    let begun = Instant::now();
    let member = site.member();
    for n in 0..args.queued.div_ceil(BATCH) {
        let jobs: Vec<Value> =
            (n * BATCH..args.queued.min((n + 1) * BATCH)).map(|n| job(&n.to_string())).collect();
        site.post(&member, "/v1/job-batches", &json!({ "jobs": jobs })).await;
    }
    println!("{} jobs are queued after {:.0} s", args.queued, begun.elapsed().as_secs_f64());
    let each = args.jobs.div_ceil(args.workers);
    let workers = tokens.into_iter().map(async |token| {
        let worker = Worker::register(&site, token).await;
        let mut work = worker.next().await;
        let mut took = Vec::new();
        for _ in 0..each {
            worker.end(&work).await;
            let ended = Instant::now();
            work = worker.next().await;
            took.push(ended.elapsed().as_secs_f64() * 1000.0);
        }
        took
    });
    futures::future::join_all(workers).await.into_iter().flatten().collect()
}

/// A registered worker.
struct Worker {
    http: Client,
    worker_url: String,
    token: String,
    session: i64,
}

impl Worker {
    async fn register(site: &Site, token: String) -> Self {
        let mut worker =
            Self { http: site.http.clone(), worker_url: site.worker_url.clone(), token, session: 0 };
        let session = worker.call("register", &json!({})).await;
        worker.session = session["session"].as_i64().unwrap();
        worker
    }

    async fn call(&self, path: &str, body: &Value) -> Value {
        let request =
            self.http.post(format!("{}/worker/v1/{path}", self.worker_url)).bearer_auth(&self.token);
        let answer = request.json(body).send().await.unwrap().error_for_status().unwrap();
        answer.json().await.unwrap()
    }

    /// Polls until there is a job.
    async fn next(&self) -> Value {
        let body = json!({ "session": self.session, "running": null, "wait_seconds": 20 });
        loop {
            let answer = self.call("poll", &body).await;
            if answer["instruction"]["work"].is_object() {
                return answer["instruction"]["work"].clone();
            }
        }
    }

    /// Ends a job without results, which would add the time of the object store.
    async fn end(&self, work: &Value) {
        let (job, attempt) = (work["job_id"].as_str().unwrap(), &work["attempt"]);
        let body = json!({ "session": self.session, "code": "measured", "message": "Measured.", "retryable": false });
        self.call(&format!("attempts/{job}/{attempt}/fail"), &body).await;
    }
}

//! Reports of progress: the transactions that write and the log of Postgres, from the first report of all
//! jobs to the last. Workers have a poll open meanwhile, as runners do. The baseline is a run without
//! reports: what everything else writes in the same time.

use std::time::Duration;

use atelier_jobs::{
    App, Config, EndedConfig, LimitsConfig, MIGRATIONS, NAME, ProgressConfig, SchedulerConfig, StreamsConfig,
    WebhooksConfig,
};
use auth::Role;
use futures::future::join_all;
use ids::TenantId;
use peer::Endpoint;
use serde_json::{Value, json};
use service::Process;
use testkit::{Client, Issuer, Valkey};
use tokio::time::{MissedTickBehavior, interval};

use crate::{
    Args, Kept,
    postgres::{self, Written},
};

/// As often as a runner.
const REPORT: Duration = Duration::from_millis(500);

struct Worker {
    worker_api: Client,
    session: Value,
    work: Value,
}

impl Worker {
    async fn report(&self, step: u32, steps: u32) {
        let (job, attempt) = (self.work["job_id"].as_str().unwrap(), &self.work["attempt"]);
        let path = format!("/worker/v1/attempts/{job}/{attempt}/progress");
        let body = json!({ "session": self.session, "phase": "working", "step": step, "steps": steps });
        let _ = self.worker_api.post(&path, body).await.expect(200);
    }

    /// Keeps a poll open.
    async fn poll(&self) {
        let running = json!({ "job_id": self.work["job_id"], "attempt": self.work["attempt"] });
        loop {
            let body = json!({ "session": self.session, "running": running, "wait_seconds": 20 });
            let _ = self.worker_api.post("/worker/v1/poll", body).await.expect(200);
        }
    }

    async fn run(&self, args: &Args, reports: bool) {
        let mut ticks = interval(REPORT);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for step in 1..=args.reports {
            ticks.tick().await;
            if reports {
                self.report(step, args.reports).await;
            }
        }
    }
}

pub(crate) async fn run(args: &Args, store: &Valkey, kept: Kept, reports: bool) -> Written {
    let (db, issuer) = (postgres::fresh(), Issuer::start().await);
    let any = "127.0.0.1:0".parse().unwrap();
    let token = testkit::service_token(NAME).into();
    let config = Config {
        listen: any,
        worker_listen: any,
        database: db.service(NAME, &MIGRATIONS).await,
        auth: issuer.config(),
        storage: Endpoint { url: "http://127.0.0.1:1".parse().unwrap(), token },
        mq: None,
        callers: testkit::callers(),
        ended: EndedConfig::default(),
        limits: LimitsConfig::default(),
        scheduler: SchedulerConfig::default(),
        fleet: None,
        stock: None,
        cache: kept.config(store),
        progress: ProgressConfig { store_ms: (kept == Kept::Nowhere).then_some(0) },
        streams: StreamsConfig::default(),
        encryption_keys: Vec::new(),
        webhooks: WebhooksConfig::default(),
        audit: audit::RetentionConfig::default(),
        telemetry: None,
    };
    let process = Process::default();
    let app = App::new(config, process.clone()).unwrap();
    app.start_workers();
    let (api, worker_api) = (testkit::serve(app.router()).await, testkit::serve(app.worker_router()).await);
    let (api, worker_api) = (Client::new(&api), Client::new(&worker_api));
    let admin = api.token(&issuer.admin());
    let pool = json!({ "name": "bench", "gpu_specs": ["small"] });
    let pool = admin.post("/v1/platform-pools", pool).await.expect(201);
    let path = format!("/v1/platform-pools/{}/workers", pool.str("id"));
    let member = api.token(&issuer.user(TenantId::new(), Role::Member));
    let workers = (0..args.jobs).map(async |n| {
        let body = json!({ "name": format!("worker-{n}"), "gpu_spec": "small", "node": format!("node-{n}") });
        let worker_api = worker_api.token(admin.post(&path, body).await.expect(201).str("token"));
        let parameters = json!({ "prompt": n.to_string() });
        let job = json!({ "application": "stable-diffusion", "method": "txt2img", "parameters": parameters });
        let _ = member.post("/v1/jobs", job).await.expect(202);
        let session =
            worker_api.post("/worker/v1/register", json!({})).await.expect(200).body["session"].clone();
        loop {
            let body = json!({ "session": session, "running": null, "wait_seconds": 20 });
            let answer = worker_api.post("/worker/v1/poll", body).await.expect(200);
            let work = answer.body["instruction"]["work"].clone();
            if work.is_object() {
                let worker = Worker { worker_api, session, work };
                worker.report(0, args.reports).await;
                return worker;
            }
        }
    });
    let workers = join_all(workers).await;
    let mut conn = db.admin().await;
    let before = Written::now(&mut conn).await;
    let polls = join_all(workers.iter().map(Worker::poll));
    tokio::select! {
        _ = polls => {}
        _ = join_all(workers.iter().map(|worker| worker.run(args, reports))) => {}
    }
    let written = Written::now(&mut conn).await.without(before);
    process.shutdown.begin();
    process.shutdown.finish().await;
    written
}

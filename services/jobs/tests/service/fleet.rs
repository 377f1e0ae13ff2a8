//! Stand-ins for the processes of workers.

use serde_json::{Value, json};
use testkit::{Client, Response, eventually};

use crate::fixture::{Fixture, Service};

/// The process of a worker.
pub(crate) struct Worker {
    pub(crate) id: String,
    pub(crate) token: String,
    worker_api: Client,
    pub(crate) session: i64,
}

/// An attempt that a worker got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Work {
    pub(crate) job: String,
    pub(crate) attempt: i64,
}

impl Worker {
    /// Creates a worker of the pool. Its process has not registered.
    pub(crate) async fn create(fixture: &Fixture, service: &Service, pool: &str, name: &str) -> Self {
        Self::create_on(fixture, service, pool, name, ("small", "node-1")).await
    }

    async fn create_on(
        fixture: &Fixture,
        service: &Service,
        pool: &str,
        name: &str,
        (gpu_spec, node): (&str, &str),
    ) -> Self {
        let body = json!({ "name": name, "gpu_spec": gpu_spec, "node": node });
        let path = format!("/v1/platform-pools/{pool}/workers");
        let made = fixture.admin(service).post(&path, body).await.expect(201);
        let token = made.str("token").to_owned();
        Self {
            id: made.str("id").to_owned(),
            worker_api: service.worker_api.token(&token),
            token,
            session: 0,
        }
    }

    /// The process of a worker that the platform runs.
    pub(crate) fn with_token(service: &Service, id: &str, token: &str) -> Self {
        Self {
            id: id.to_owned(),
            worker_api: service.worker_api.token(token),
            token: token.to_owned(),
            session: 0,
        }
    }

    /// The same process, by way of another replica.
    pub(crate) fn through(&self, service: &Service) -> Self {
        let (id, token) = (self.id.clone(), self.token.clone());
        Self { id, worker_api: service.worker_api.token(&token), token, session: self.session }
    }

    /// Creates a worker, and registers its process.
    pub(crate) async fn start(fixture: &Fixture, service: &Service, pool: &str, name: &str) -> Self {
        let mut worker = Self::create(fixture, service, pool, name).await;
        worker.register().await;
        worker
    }

    /// Creates a worker on a node, and registers its process.
    pub(crate) async fn start_on(
        fixture: &Fixture,
        service: &Service,
        pool: &str,
        name: &str,
        node: &str,
    ) -> Self {
        let mut worker = Self::create_on(fixture, service, pool, name, ("small", node)).await;
        worker.register().await;
        worker
    }

    /// Creates a worker with a GPU, and registers its process.
    pub(crate) async fn start_with(
        fixture: &Fixture,
        service: &Service,
        pool: &str,
        name: &str,
        gpu_spec: &str,
    ) -> Self {
        let mut worker = Self::create_on(fixture, service, pool, name, (gpu_spec, "node-1")).await;
        worker.register().await;
        worker
    }

    /// Begins a session.
    pub(crate) async fn register(&mut self) {
        self.register_with(json!({})).await;
    }

    /// Begins a session of a worker that has these models.
    pub(crate) async fn register_with(&mut self, models: Value) {
        let session = self.worker_api.post("/worker/v1/register", models).await.expect(200);
        assert_eq!(session.str("worker_id"), self.id);
        self.session = session.body["session"].as_i64().unwrap();
    }

    /// Reports the models that the worker has now.
    pub(crate) async fn report_models(&self, mut models: Value) -> Response {
        models["session"] = json!(self.session);
        self.worker_api.post("/worker/v1/models", models).await
    }

    /// Ends the session.
    pub(crate) async fn unregister(&self) -> Response {
        self.worker_api.post("/worker/v1/unregister", json!({ "session": self.session })).await
    }

    pub(crate) async fn poll(&self, running: Option<&Work>, wait_seconds: u32) -> Response {
        let running = running.map(|work| json!({ "job_id": work.job, "attempt": work.attempt }));
        let body = json!({ "session": self.session, "running": running, "wait_seconds": wait_seconds });
        self.worker_api.post("/worker/v1/poll", body).await
    }

    /// Polls until there is a generation.
    pub(crate) async fn work(&self) -> Work {
        let (work, instruction) = self.instruction().await;
        assert_eq!(instruction["parameters"]["prompt"], "a fox");
        work
    }

    /// Polls until there is work. Returns it, and the instruction.
    pub(crate) async fn instruction(&self) -> (Work, Value) {
        eventually("the worker gets a job", async || {
            let answer = self.poll(None, 1).await.expect(200);
            let work = &answer.body["instruction"]["work"];
            let job = work["job_id"].as_str()?.to_owned();
            Some((Work { job, attempt: work["attempt"].as_i64().unwrap() }, work.clone()))
        })
        .await
    }

    /// Asks for the files that the attempt needs.
    pub(crate) async fn inputs(&self, work: &Work) -> Response {
        self.call(work, "inputs", json!({})).await
    }

    /// Asks where a checkpoint of 3 bytes goes, until there is an answer.
    pub(crate) async fn request_checkpoint(&self, work: &Work, step: u32, sha256: &str) -> Response {
        let body = json!({ "step": step, "sha256": sha256, "bytes": 3 });
        eventually("the checkpoint has an address", async || {
            let answer = self.call(work, "checkpoints", body.clone()).await;
            (answer.status < 500).then_some(answer)
        })
        .await
    }

    /// Polls until the attempt is to be stopped. Returns why.
    pub(crate) async fn stop(&self, running: &Work) -> String {
        eventually("the worker is told to stop", async || {
            let answer = self.poll(Some(running), 1).await.expect(200);
            answer.body["instruction"]["stop"]["reason"].as_str().map(str::to_owned)
        })
        .await
    }

    pub(crate) async fn call(&self, work: &Work, what: &str, mut body: Value) -> Response {
        body["session"] = json!(self.session);
        let path = format!("/worker/v1/attempts/{}/{}/{what}", work.job, work.attempt);
        self.worker_api.post(&path, body).await
    }

    pub(crate) async fn progress(&self, work: &Work, step: u32) -> Response {
        self.call(work, "progress", json!({ "phase": "working", "step": step, "steps": 20 })).await
    }

    /// Asks where a result of 3 bytes goes, until there is an answer.
    pub(crate) async fn request_upload(&self, work: &Work, name: &str) -> Response {
        let body = json!({ "name": name, "content_type": "image/png", "bytes": 3 });
        eventually("the upload has an address", async || {
            let answer = self.call(work, "uploads", body.clone()).await;
            (answer.status < 500).then_some(answer)
        })
        .await
    }

    /// Uploads a result of 3 bytes.
    pub(crate) async fn upload(&self, work: &Work, name: &str) {
        let url = self.request_upload(work, name).await.expect(200).str("url").to_owned();
        assert_eq!(put(&url, "abc").await, 200);
    }

    /// Ends the attempt with results of 3 bytes, uploaded or not.
    pub(crate) async fn complete_with(&self, work: &Work, names: &[&str]) -> Response {
        let picture = |name: &&str| json!({ "name": name, "content_type": "image/png", "sha256": "00".repeat(32), "bytes": 3 });
        let artifacts: Vec<_> = names.iter().map(picture).collect();
        self.call(work, "complete", json!({ "artifacts": artifacts })).await
    }

    /// Uploads a result, unless the attempt is not the worker's, and ends the attempt with it.
    pub(crate) async fn complete(&self, work: &Work) -> Response {
        let answer = self.request_upload(work, "0.png").await;
        if answer.status == 200 {
            assert_eq!(put(answer.str("url"), "abc").await, 200);
        }
        self.complete_with(work, &["0.png"]).await
    }

    pub(crate) async fn fail(&self, work: &Work, retryable: bool) -> Response {
        self.fail_with(work, "engine-failed", retryable).await
    }

    pub(crate) async fn fail_with(&self, work: &Work, code: &str, retryable: bool) -> Response {
        let body = json!({ "code": code, "message": "It broke.", "retryable": retryable });
        self.call(work, "fail", body).await
    }

    pub(crate) async fn leave(&self, work: &Work) -> Response {
        self.call(work, "leave", json!({})).await
    }
}

/// Polls for these workers until one has work. Returns which.
pub(crate) async fn any_work(workers: &[&Worker]) -> (usize, Work) {
    eventually("a worker gets a job", async || {
        for (n, worker) in workers.iter().enumerate() {
            let answer = worker.poll(None, 0).await.expect(200);
            let work = &answer.body["instruction"]["work"];
            if let Some(job) = work["job_id"].as_str() {
                let attempt = work["attempt"].as_i64().unwrap();
                return Some((n, Work { job: job.to_owned(), attempt }));
            }
        }
        None
    })
    .await
}

/// Uploads to a signed URL. Returns the status.
pub(crate) async fn put(url: &str, content: &'static str) -> u16 {
    put_as(url, "image/png", content).await
}

/// Uploads content of a media type to a signed URL. Returns the status.
pub(crate) async fn put_as(url: &str, content_type: &str, content: &'static str) -> u16 {
    let put = reqwest::Client::new().put(url).header("content-type", content_type).body(content);
    put.send().await.unwrap().status().as_u16()
}

/// Waits for a job's state.
pub(crate) async fn reaches(member: &Client, job: &str, state: &str) -> Response {
    eventually(&format!("the job is {state}"), async || {
        let read = member.get(&format!("/v1/jobs/{job}")).await.expect(200);
        (read.str("state") == state).then_some(read)
    })
    .await
}

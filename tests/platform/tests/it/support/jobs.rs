//! The jobs service, and workers as their processes act: the pods of the cluster run none.

use futures::FutureExt;
use ids::{InstanceId, TenantId};
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use serde_json::{Value, json};
use service::Process;
use testkit::{Client, Response, within};

use super::{Platform, Replica};

/// Longest time until a worker has an instance, or a job.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);

/// A replica of the jobs service. It ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Jobs {
    _replica: Replica,
    /// The API, for administrators.
    pub(crate) admin: Client,
    /// The listener for workers.
    worker_api: Client,
}

/// An attempt that a worker got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Work {
    /// Id of the job.
    pub(crate) job: String,
    /// Number of the attempt.
    pub(crate) attempt: i64,
}

/// The process of a worker.
#[derive(Debug)]
pub(crate) struct Worker {
    /// Id of its instance.
    pub(crate) instance: String,
    /// Name of its node.
    pub(crate) node: String,
    worker_api: Client,
    session: i64,
}

impl Jobs {
    pub(crate) async fn start(config: atelier_jobs::Config, admin: &str) -> Self {
        let (replica, (api, worker_api)) = Replica::start(move |process: Process| {
            async move {
                let app = atelier_jobs::App::new(config, process).unwrap();
                app.start_workers();
                (testkit::serve(app.router()).await, testkit::serve(app.worker_router()).await)
            }
            .boxed()
        })
        .await;
        Self {
            _replica: replica,
            admin: Client::new(&api).token(admin),
            worker_api: Client::new(&worker_api),
        }
    }

    /// Waits until a worker of the pool runs that is not this one, and registers its process.
    pub(crate) async fn worker(
        &self,
        platform: &Platform,
        pool: &str,
        owner: TenantId,
        but: Option<&Worker>,
    ) -> Worker {
        let (instance, node) = within(PATIENCE, "a worker runs", async || {
            let workers = self.admin.get(&format!("/v1/platform-pools/{pool}/workers")).await.expect(200);
            let runs = |worker: &&Value| {
                worker["stage"] == "placed"
                    && worker["node"] != ""
                    && but.is_none_or(|but| worker["instance_id"] != but.instance.as_str())
            };
            let worker = workers.body["items"].as_array().unwrap().iter().find(runs)?;
            let text = |name: &str| worker[name].as_str().unwrap().to_owned();
            Some((text("instance_id"), text("node")))
        })
        .await;
        let id: InstanceId = instance.parse().unwrap();
        let secrets: Api<Secret> = Api::namespaced(platform.kube().clone(), &owner.k8s_name());
        let secret = secrets.get(&format!("{}-1", id.k8s_name())).await.unwrap();
        let token = String::from_utf8(secret.data.unwrap()["ATELIER_WORKER_TOKEN"].0.clone()).unwrap();
        let mut worker = Worker { instance, node, worker_api: self.worker_api.token(&token), session: 0 };
        let session = worker.register().await.expect(200);
        worker.session = session.body["session"].as_i64().unwrap();
        worker
    }
}

impl Worker {
    /// Begins a session.
    pub(crate) async fn register(&self) -> Response {
        self.worker_api.post("/worker/v1/register", json!({})).await
    }

    /// Polls until there is work.
    pub(crate) async fn work(&self) -> Work {
        within(PATIENCE, "the worker gets a job", async || {
            let body = json!({ "session": self.session, "wait_seconds": 1 });
            let answer = self.worker_api.post("/worker/v1/poll", body).await.expect(200);
            let work = &answer.body["instruction"]["work"];
            let job = work["job_id"].as_str()?.to_owned();
            Some(Work { job, attempt: work["attempt"].as_i64().unwrap() })
        })
        .await
    }

    /// Reports that the attempt works.
    pub(crate) async fn progress(&self, work: &Work) -> Response {
        self.call(work, "progress", json!({ "session": self.session, "phase": "working" })).await
    }

    /// Ends the attempt, without results.
    pub(crate) async fn complete(&self, work: &Work) -> Response {
        self.call(work, "complete", json!({ "session": self.session, "artifacts": [] })).await
    }

    async fn call(&self, work: &Work, what: &str, body: Value) -> Response {
        let path = format!("/worker/v1/attempts/{}/{}/{what}", work.job, work.attempt);
        self.worker_api.post(&path, body).await
    }
}

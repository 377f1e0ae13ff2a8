//! Trainings: their inputs, their checkpoints, and the models that they make.

use ids::{ModelId, TenantId};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use sqlx::Connection as _;
use testkit::{Client, eventually};

use crate::{
    fixture::{Fixture, Service, fox, pool, submit},
    fleet::{Work, Worker, put_as, reaches},
    uploads::{pictures, training},
};

const FILE: &str = "model.safetensors";

struct Studio {
    fixture: Fixture,
    service: Service,
    member: Client,
    stranger: Client,
    worker: Worker,
}

impl Studio {
    async fn new() -> Self {
        let mut fixture = Fixture::new().await;
        fixture.config.scheduler.retry_ms = 1;
        let service = fixture.start().await;
        let pool = pool(&fixture.admin(&service)).await;
        let member = fixture.member(&service, TenantId::new());
        let stranger = fixture.member(&service, TenantId::new());
        let worker = Worker::start(&fixture, &service, &pool, "first").await;
        Self { fixture, service, member, stranger, worker }
    }

    /// Submits a training, which the worker gets.
    async fn training(&self) -> Work {
        let images = pictures(&self.member, 3).await;
        let _ = self.member.post("/v1/jobs", training(&images)).await.expect(202);
        self.worker.instruction().await.0
    }

    /// Trains a model. Returns the job and the model.
    async fn model(&self) -> (String, String) {
        let work = self.training().await;
        self.worker.upload(&work, FILE).await;
        let _ = self.worker.complete_with(&work, &[FILE]).await.expect(200);
        let job = reaches(&self.member, &work.job, "succeeded").await;
        (work.job, job.str("model_id").to_owned())
    }

    async fn execute(&self, sql: &'static str) {
        let mut conn = self.fixture.db.admin().await;
        sqlx::query(sql).execute(&mut conn).await.unwrap();
        conn.close().await.unwrap();
    }

    async fn count(&self, what: &'static str) -> i64 {
        let mut conn = self.fixture.db.admin().await;
        let sql = sqlx::AssertSqlSafe(format!("select count(*) from jobs.{what}"));
        let count = sqlx::query_scalar(sql).fetch_one(&mut conn).await.unwrap();
        conn.close().await.unwrap();
        count
    }
}

async fn content(url: &str) -> String {
    reqwest::get(url).await.unwrap().text().await.unwrap()
}

#[tokio::test]
async fn a_training_makes_one_model() {
    let studio = Studio::new().await;
    let images = pictures(&studio.member, 3).await;
    let job = studio.member.post("/v1/jobs", training(&images)).await.expect(202).str("id").to_owned();
    let (lost, instruction) = studio.worker.instruction().await;
    assert_eq!(instruction["application"], "dreambooth");
    assert_eq!(instruction["parameters"]["images"], json!(images));
    let inputs = studio.worker.inputs(&lost).await.expect(200);
    let urls: Vec<_> = inputs.body["uploads"].as_array().unwrap().iter().map(|one| &one["url"]).collect();
    assert_eq!(urls.len(), 3);
    for url in urls {
        assert_eq!(content(url.as_str().unwrap()).await, "abc");
    }
    // the first attempt has its file, and does not count
    studio.worker.upload(&lost, FILE).await;
    let _ = studio.worker.fail(&lost, true).await.expect(200);
    let (work, _) = studio.worker.instruction().await;
    assert_eq!((work.job.as_str(), work.attempt), (job.as_str(), 2));
    studio.worker.complete_with(&lost, &[FILE]).await.expect_problem(409, "attempt-not-yours");

    // no model without the file
    studio.worker.upload(&work, "loss.csv").await;
    let refused = studio.worker.complete_with(&work, &["loss.csv"]).await;
    assert_eq!(refused.expect_problem(409, "upload-missing").body["names"], json!([FILE]));
    let refused = studio.worker.complete_with(&work, &["loss.csv", FILE]).await;
    assert_eq!(refused.expect_problem(409, "upload-missing").body["names"], json!([FILE]));
    studio.worker.upload(&work, FILE).await;
    for _ in 0..2 {
        let done = studio.worker.complete_with(&work, &["loss.csv", FILE]).await.expect(200);
        assert_eq!(done.str("state"), "succeeded");
    }

    let page = studio.member.get("/v1/models").await.expect(200);
    let [model] = &page.body["items"].as_array().unwrap()[..] else { panic!("not one: {}", page.text) };
    assert_eq!(
        (&model["name"], &model["kind"], &model["base_model"], &model["job_id"], &model["bytes"]),
        (&json!("Rex"), &json!("lora"), &json!("default"), &json!(job), &json!(3))
    );
    assert_eq!(reaches(&studio.member, &job, "succeeded").await.body["model_id"], model["id"]);
    let path = format!("/v1/models/{}", model["id"].as_str().unwrap());
    let file = studio.member.get(&format!("{path}/content")).await.expect(307);
    assert_eq!(content(file.header("location").unwrap()).await, "abc");
    studio.service.stop().await;
}

#[tokio::test]
async fn a_model_belongs_to_its_tenant() {
    let studio = Studio::new().await;
    let (_, model) = studio.model().await;
    let path = format!("/v1/models/{model}");
    let read = studio.member.get(&path).await.expect(200);
    let etag = read.header("etag").unwrap().to_owned();
    for answer in [
        studio.stranger.get(&path).await,
        studio.stranger.get(&format!("{path}/content")).await,
        studio.stranger.patch(&path, &etag, json!({ "name": "mine" })).await,
        studio.stranger.delete(&path).await,
        studio.member.get(&format!("/v1/models/{}", ModelId::new())).await,
    ] {
        answer.expect_problem(404, "not-found");
    }
    assert_eq!(studio.stranger.get("/v1/models").await.expect(200).body["items"], json!([]));
    let mut body = fox();
    body["parameters"]["models"] = json!([model]);
    let refused = studio.stranger.post("/v1/jobs", body.clone()).await.expect_problem(422, "input-missing");
    assert_eq!(refused.body["inputs"], json!([model]));

    let renamed = studio.member.patch(&path, &etag, json!({ "name": "our dog" })).await.expect(200);
    assert_eq!(renamed.str("name"), "our dog");
    let etag = renamed.header("etag").unwrap();
    let renamed = studio.member.patch(&path, etag, json!({ "name": "Ko\u{308}ter" })).await.expect(200);
    assert_eq!(renamed.str("name"), "K\u{f6}ter");
    let stale = studio.member.patch(&path, etag, json!({ "name": "x" })).await;
    stale.expect_problem(412, "changed-meanwhile");

    // the tenant's generation gets the file
    submit(&studio.member, body.clone()).await;
    let (work, instruction) = studio.worker.instruction().await;
    assert_eq!(instruction["parameters"]["models"], json!([{ "id": model, "weight": 1.0 }]));
    let inputs = studio.worker.inputs(&work).await.expect(200);
    assert_eq!(inputs.body["models"][0]["id"], json!(model));
    assert_eq!(content(inputs.body["models"][0]["url"].as_str().unwrap()).await, "abc");
    let _ = studio.worker.complete(&work).await.expect(200);
    body["parameters"]["model"] = json!("anime");
    studio.member.post("/v1/jobs", body).await.expect_problem(422, "invalid-field");
    studio.service.stop().await;
}

#[tokio::test]
async fn a_deleted_model_takes_the_results_of_its_training_along() {
    let studio = Studio::new().await;
    let (job, model) = studio.model().await;
    let path = format!("/v1/models/{model}");
    let file = studio.member.get(&format!("{path}/content")).await.expect(307);
    let file = file.header("location").unwrap().to_owned();
    let mut body = fox();
    body["parameters"]["models"] = json!([model]);
    submit(&studio.member, body.clone()).await;
    let (work, _) = studio.worker.instruction().await;
    let _ = studio.member.delete(&path).await.expect(204);
    studio.member.get(&path).await.expect_problem(404, "not-found");
    studio.worker.inputs(&work).await.expect_problem(422, "input-missing");
    studio.member.post("/v1/jobs", body).await.expect_problem(422, "input-missing");
    let left = studio.member.get(&format!("/v1/jobs/{job}/artifacts")).await.expect(200);
    assert_eq!(left.body["items"], json!([]));
    assert_eq!(studio.member.get(&format!("/v1/jobs/{job}")).await.expect(200).body["model_id"], Value::Null);
    eventually("the file is deleted", async || {
        (reqwest::get(&file).await.unwrap().status() == 404).then_some(())
    })
    .await;
    studio.service.stop().await;
}

#[tokio::test]
async fn a_model_outlives_its_job() {
    let studio = Studio::new().await;
    let (job, model) = studio.model().await;
    studio.execute("update jobs.jobs set ended_at = now() - interval '91 days'").await;
    studio.service.process.workers.inject_panic("jobs.jobs.retention");
    eventually("the job is deleted", async || {
        (studio.member.get(&format!("/v1/jobs/{job}")).await.status == 404).then_some(())
    })
    .await;
    let file = studio.member.get(&format!("/v1/models/{model}/content")).await.expect(307);
    let file = file.header("location").unwrap().to_owned();
    assert_eq!(studio.count("outputs where delete_at is not null").await, 0);
    assert_eq!(content(&file).await, "abc");
    let _ = studio.member.delete(&format!("/v1/models/{model}")).await.expect(204);
    eventually("the file is deleted", async || {
        (studio.count("outputs").await == 0 && reqwest::get(&file).await.unwrap().status() == 404)
            .then_some(())
    })
    .await;
    studio.service.stop().await;
}

#[tokio::test]
async fn a_later_attempt_gets_the_checkpoints_of_earlier_ones() {
    let studio = Studio::new().await;
    let work = studio.training().await;
    assert_eq!(studio.worker.inputs(&work).await.expect(200).body["checkpoints"], json!([]));
    let hash = |content: &str| hex::encode(Sha256::digest(content));
    for (step, text) in [(100, "one"), (200, "two"), (300, "six")] {
        let url = studio.worker.request_checkpoint(&work, step, &hash(text)).await.expect(200);
        assert_eq!(put_as(url.str("url"), "application/octet-stream", text).await, 200);
    }
    // announced, and never uploaded: the content at its place is of an earlier one
    let _ = studio.worker.request_checkpoint(&work, 400, &hash("xxx")).await.expect(200);
    let _ = studio.worker.fail(&work, true).await.expect(200);
    let (again, _) = studio.worker.instruction().await;
    assert_eq!((again.job.as_str(), again.attempt), (work.job.as_str(), 2));
    let inputs = studio.worker.inputs(&again).await.expect(200);
    let checkpoints = inputs.body["checkpoints"].as_array().unwrap();
    let steps: Vec<_> = checkpoints.iter().map(|one| one["id"].as_i64().unwrap()).collect();
    assert_eq!(steps, [400, 300]);
    let texts = [
        content(checkpoints[0]["url"].as_str().unwrap()).await,
        content(checkpoints[1]["url"].as_str().unwrap()).await,
    ];
    assert_ne!(checkpoints[0]["sha256"], json!(hash(&texts[0])));
    assert_eq!((texts[1].as_str(), &checkpoints[1]["sha256"]), ("six", &json!(hash("six"))));
    studio.worker.request_checkpoint(&work, 500, &hash("x")).await.expect_problem(409, "attempt-not-yours");

    studio.worker.upload(&again, FILE).await;
    assert_eq!(studio.count("outputs where attempt = 0 and delete_at is null").await, 1);
    let _ = studio.worker.complete_with(&again, &[FILE]).await.expect(200);
    assert_eq!(studio.count("outputs where attempt = 0 and delete_at is not null").await, 1);
    studio.service.stop().await;
}

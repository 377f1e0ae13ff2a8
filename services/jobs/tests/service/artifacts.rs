//! Results of jobs: uploaded by workers, downloaded by users, deleted with what they belong to.

use ids::TenantId;
use serde_json::{Value, json};
use sqlx::Connection as _;
use testkit::{Client, eventually};

use crate::{
    fixture::{Fixture, Service, pool, submit},
    fleet::{Work, Worker, put, reaches},
};

/// A worker that runs a tenant's job.
struct Studio {
    fixture: Fixture,
    service: Service,
    tenant: TenantId,
    member: Client,
    worker: Worker,
}

impl Studio {
    async fn new() -> Self {
        let fixture = Fixture::new().await;
        let service = fixture.start().await;
        let pool = pool(&fixture.admin(&service)).await;
        let tenant = TenantId::new();
        let member = fixture.member(&service, tenant);
        let worker = Worker::start(&fixture, &service, &pool, "first").await;
        Self { fixture, service, tenant, member, worker }
    }

    async fn work(&self) -> Work {
        submit(&self.member, json!({})).await;
        self.worker.work().await
    }

    /// A member of the tenant, at the storage service.
    fn storages(&self) -> Client {
        self.fixture.storage.token(&self.fixture.issuer.user(self.tenant, auth::Role::Member))
    }

    async fn count(&self, table: &str) -> i64 {
        let mut conn = self.fixture.db.admin().await;
        let sql = sqlx::AssertSqlSafe(format!("select count(*) from jobs.{table}"));
        let count = sqlx::query_scalar(sql).fetch_one(&mut conn).await.unwrap();
        conn.close().await.unwrap();
        count
    }

    async fn execute(&self, sql: &'static str) {
        let mut conn = self.fixture.db.admin().await;
        sqlx::query(sql).execute(&mut conn).await.unwrap();
        conn.close().await.unwrap();
    }
}

/// The only artifact of a job.
async fn artifact(member: &Client, job: &str) -> Value {
    let page = member.get(&format!("/v1/jobs/{job}/artifacts")).await.expect(200);
    let [artifact] = &page.body["items"].as_array().unwrap()[..] else { panic!("not one: {}", page.text) };
    artifact.clone()
}

#[tokio::test]
async fn results_are_uploaded_by_the_worker_and_downloaded_by_their_tenant() {
    let studio = Studio::new().await;
    let work = studio.work().await;
    // exactly what was announced
    let url = studio.worker.request_upload(&work, "0.png").await.expect(200).str("url").to_owned();
    assert_eq!(put(&url, "abcd").await, 403);
    assert_eq!(put(&url.replace("0.png", "1.png"), "abc").await, 403);
    assert_eq!(put(&url, "abc").await, 200);
    assert_eq!(studio.worker.complete(&work).await.expect(200).str("state"), "succeeded");

    let made = artifact(&studio.member, &work.job).await;
    assert_eq!(
        (&made["name"], &made["content_type"], &made["bytes"], &made["sha256"]),
        (&json!("0.png"), &json!("image/png"), &json!(3), &json!("00".repeat(32)))
    );
    let path = format!("/v1/jobs/{}/artifacts/{}/content", work.job, made["id"].as_str().unwrap());
    let redirect = studio.member.get(&path).await.expect(307);
    assert_eq!(redirect.header("cache-control"), Some("no-store"));
    let content = reqwest::get(redirect.header("location").unwrap()).await.unwrap();
    assert_eq!(content.headers()["content-type"], "image/png");
    assert_eq!(content.headers()["content-disposition"], "attachment; filename=\"0.png\"");
    assert_eq!(content.text().await.unwrap(), "abc");

    // the bucket is the tenant's own
    let storages = studio.storages().get("/v1/storages").await.expect(200);
    assert_eq!(storages.body["items"][0]["name"], "job-outputs");
    let stranger = studio.fixture.member(&studio.service, TenantId::new());
    stranger.get(&path).await.expect_problem(404, "not-found");
    stranger.get(&format!("/v1/jobs/{}/artifacts", work.job)).await.expect_problem(404, "not-found");
    studio.service.stop().await;
}

#[tokio::test]
async fn an_attempt_does_not_complete_without_its_results() {
    let studio = Studio::new().await;
    let work = studio.work().await;
    let refused = studio.worker.complete_with(&work, &["0.png"]).await.expect_problem(409, "upload-missing");
    assert_eq!(refused.body["names"], json!(["0.png"]));
    studio.worker.upload(&work, "0.png").await;
    let refused = studio.worker.complete_with(&work, &["0.png", "1.png"]).await;
    assert_eq!(refused.expect_problem(409, "upload-missing").body["names"], json!(["1.png"]));
    studio.worker.upload(&work, "1.png").await;
    for _ in 0..2 {
        let done = studio.worker.complete_with(&work, &["0.png", "1.png"]).await.expect(200);
        assert_eq!(done.str("state"), "succeeded");
    }
    assert_eq!(studio.count("artifacts").await, 2);
    for name in ["../x", "..", "a/b", "a\nb", ""] {
        studio.worker.request_upload(&work, name).await.expect_problem(422, "invalid-field");
    }
    studio.worker.request_upload(&work, "2.png").await.expect_problem(409, "attempt-not-yours");
    studio.service.stop().await;
}

#[tokio::test]
async fn what_does_not_count_is_deleted() {
    let studio = Studio::new().await;
    let lost = studio.work().await;
    studio.worker.upload(&lost, "0.png").await;
    let url = studio.worker.request_upload(&lost, "0.png").await.expect(200).str("url").to_owned();
    let _ = studio.worker.fail(&lost, false).await.expect(200);
    reaches(&studio.member, &lost.job, "failed").await;
    // not before a late upload is impossible
    assert_eq!(studio.count("outputs where delete_at > now() + interval '30 minutes'").await, 1);
    assert_eq!(put(&url, "abc").await, 200);
    let kept = studio.work().await;
    let _ = studio.worker.complete(&kept).await.expect(200);
    studio.execute("update jobs.outputs set delete_at = now() where delete_at is not null").await;
    eventually("the failed attempt's objects are deleted", async || {
        (studio.count("outputs").await == 1).then_some(())
    })
    .await;
    let made = artifact(&studio.member, &kept.job).await;
    let path = format!("/v1/jobs/{}/artifacts/{}/content", kept.job, made["id"].as_str().unwrap());
    let location = studio.member.get(&path).await.expect(307).header("location").unwrap().to_owned();
    assert_eq!(reqwest::get(&location).await.unwrap().status(), 200);
    let gone = location.replace(&kept.job, &lost.job);
    assert_ne!(reqwest::get(&gone).await.unwrap().status(), 200);

    // the objects of an old job are deleted with it
    studio.execute("update jobs.jobs set ended_at = now() - interval '91 days'").await;
    studio.service.process.workers.inject_panic("jobs.jobs.retention");
    eventually("the old job's objects are deleted", async || {
        (studio.count("outputs").await == 0).then_some(())
    })
    .await;
    assert_eq!(studio.count("jobs").await, 0);
    assert_eq!(reqwest::get(&location).await.unwrap().status(), 404);
    studio.service.stop().await;
}

#[tokio::test]
async fn a_tenant_may_delete_the_bucket_and_gets_another() {
    let studio = Studio::new().await;
    let work = studio.work().await;
    let _ = studio.worker.complete(&work).await.expect(200);
    let made = artifact(&studio.member, &work.job).await;
    let path = format!("/v1/jobs/{}/artifacts/{}/content", work.job, made["id"].as_str().unwrap());
    let storages = studio.storages();
    let bucket =
        storages.get("/v1/storages").await.expect(200).body["items"][0]["id"].as_str().unwrap().to_owned();
    let _ = storages.delete(&format!("/v1/storages/{bucket}")).await.expect(202);
    eventually("the bucket is gone", async || {
        (storages.get(&format!("/v1/storages/{bucket}")).await.status == 404).then_some(())
    })
    .await;
    studio.member.get(&path).await.expect_problem(410, "artifact-gone");
    let work = studio.work().await;
    assert_eq!(studio.worker.complete(&work).await.expect(200).str("state"), "succeeded");
    studio.service.stop().await;
}

#[tokio::test]
async fn a_worker_is_told_that_the_tenant_has_no_room() {
    let studio = Studio::new().await;
    let admin = studio.fixture.storage.token(&studio.fixture.issuer.admin());
    let quota = format!("/v1/platform-storage-quotas/{}?reason=test", studio.tenant);
    let none = admin.header("if-match", "*").put(&quota, json!({ "storages": 0, "gib": null })).await;
    assert!(none.status < 300, "{}", none.text);
    let work = studio.work().await;
    let refused = studio.worker.request_upload(&work, "0.png").await.expect_problem(409, "quota-exceeded");
    assert_eq!(refused.body["quota"], "storages");
    studio.service.stop().await;
}

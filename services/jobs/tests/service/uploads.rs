//! Files that users upload for jobs.

use auth::Role;
use ids::{TenantId, UploadId};
use serde_json::{Value, json};
use sqlx::Connection as _;
use testkit::{Client, Response, eventually};

use crate::{
    fixture::{Fixture, Service, pool},
    fleet::put,
};

/// Creates an upload of 3 bytes, when the bucket of the tenant is ready.
pub(crate) async fn create(member: &Client, name: &str) -> Response {
    create_of(member, name, 3).await
}

/// Creates an upload, when the bucket of the tenant is ready.
pub(crate) async fn create_of(member: &Client, name: &str, bytes: usize) -> Response {
    let body = json!({ "name": name, "content_type": "image/png", "bytes": bytes });
    eventually("the upload is created", async || {
        let answer = member.post("/v1/uploads", body.clone()).await;
        (answer.status < 500).then_some(answer)
    })
    .await
    .expect(201)
}

/// Uploads pictures. Returns their ids.
pub(crate) async fn pictures(member: &Client, count: usize) -> Vec<String> {
    let mut ids = Vec::new();
    for n in 0..count {
        let made = create(member, &format!("{n}.png")).await;
        assert_eq!(put(made.str("put_url"), "abc").await, 200);
        ids.push(made.str("id").to_owned());
    }
    ids
}

/// The body of a training.
pub(crate) fn training(images: &[String]) -> Value {
    json!({ "application": "dreambooth", "method": "train",
            "parameters": { "images": images, "theme": "dog", "name": "Rex" } })
}

struct Desk {
    fixture: Fixture,
    service: Service,
    tenant: TenantId,
    member: Client,
}

impl Desk {
    async fn new() -> Self {
        let fixture = Fixture::new().await;
        let service = fixture.start().await;
        let _ = pool(&fixture.admin(&service)).await;
        let tenant = TenantId::new();
        let member = fixture.member(&service, tenant);
        Self { fixture, service, tenant, member }
    }

    async fn execute(&self, sql: &'static str) -> u64 {
        let mut conn = self.fixture.db.admin().await;
        let done = sqlx::query(sql).execute(&mut conn).await.unwrap().rows_affected();
        conn.close().await.unwrap();
        done
    }
}

#[tokio::test]
async fn an_upload_is_ready_when_its_content_is_there() {
    let desk = Desk::new().await;
    let made = create(&desk.member, "dog.png").await;
    let (id, url) = (made.str("id").to_owned(), made.str("put_url").to_owned());
    let path = format!("/v1/uploads/{id}");
    assert_eq!((made.str("state"), made.header("location")), ("pending", Some(path.as_str())));
    assert_eq!(desk.member.get(&path).await.expect(200).str("state"), "pending");
    assert_eq!(put(&url, "abcd").await, 403, "exactly what was announced");
    assert_eq!(put(&url, "abc").await, 200);
    let ready = desk.member.get(&path).await.expect(200);
    assert_eq!((ready.str("state"), &ready.body["put_url"]), ("ready", &Value::Null));

    let stranger = desk.fixture.member(&desk.service, TenantId::new());
    stranger.get(&path).await.expect_problem(404, "not-found");
    let viewer = desk.service.client.token(&desk.fixture.issuer.user(desk.tenant, Role::Viewer));
    let _ = viewer.get(&path).await.expect(200);
    let body = json!({ "name": "a.png", "content_type": "image/png", "bytes": 3 });
    viewer.post("/v1/uploads", body.clone()).await.expect_problem(403, "forbidden");
    let once = desk.member.key("one-upload");
    let first = once.post("/v1/uploads", body.clone()).await.expect(201);
    let again = once.post("/v1/uploads", body).await.expect(201);
    assert_eq!((first.str("id"), &again.body["put_url"]), (again.str("id"), &Value::Null));
    let invalid = json!({ "name": "a/b", "content_type": "text/html", "bytes": 33_554_433 });
    let refused = desk.member.post("/v1/uploads", invalid).await.expect_problem(422, "invalid-field");
    assert_eq!(refused.body["errors"].as_array().unwrap().len(), 3);
    desk.service.stop().await;
}

#[tokio::test]
async fn a_training_needs_pictures_of_its_tenant() {
    let desk = Desk::new().await;
    let mine = pictures(&desk.member, 3).await;
    let stranger = desk.fixture.member(&desk.service, TenantId::new());
    let foreign = pictures(&stranger, 1).await.remove(0);
    let pending = create(&desk.member, "late.png").await.str("id").to_owned();
    let unknown = UploadId::new().to_string();
    for missing in [foreign, pending, unknown] {
        let images = [mine[0].clone(), mine[1].clone(), missing.clone()];
        let refused = desk.member.post("/v1/jobs", training(&images)).await;
        assert_eq!(refused.expect_problem(422, "input-missing").body["inputs"], json!([missing]));
        // a number of a request that was refused is free
        let req_no = "5d2c6a0e-7f57-4c2e-9c55-2f9f0d4b7f10";
        let mut numbered = training(&images);
        numbered["req_no"] = json!(req_no);
        let batch = json!({ "jobs": [numbered] });
        let refused = desk.member.post("/v1/job-batches", batch).await.expect(202);
        assert_eq!(refused.body["items"][0]["problem"]["inputs"], json!([missing]));
        let found = desk.member.get(&format!("/v1/jobs?req_no={req_no}")).await.expect(200);
        assert_eq!(found.body["items"], json!([]));
    }
    let made = desk.member.post("/v1/jobs", training(&mine)).await.expect(202);
    assert_eq!((made.str("kind"), &made.body["model_id"]), ("training", &Value::Null));
    desk.service.stop().await;
}

#[tokio::test]
async fn uploads_that_no_job_uses_are_deleted() {
    let desk = Desk::new().await;
    let used = pictures(&desk.member, 3).await;
    let unused = create(&desk.member, "unused.png").await;
    assert_eq!(put(unused.str("put_url"), "abc").await, 200);
    let job = desk.member.post("/v1/jobs", training(&used)).await.expect(202).str("id").to_owned();
    assert_eq!(desk.execute("update jobs.uploads set delete_at = now()").await, 4);
    let gone = async |id: &str| {
        eventually("the upload is deleted", async || {
            (desk.member.get(&format!("/v1/uploads/{id}")).await.status == 404).then_some(())
        })
        .await;
    };
    gone(unused.str("id")).await;
    let content = reqwest::Client::new().get(unused.str("put_url")).send().await.unwrap();
    assert_ne!(content.status(), 200);
    for id in &used {
        assert_eq!(desk.member.get(&format!("/v1/uploads/{id}")).await.expect(200).str("state"), "ready");
    }
    let _ = desk.member.post(&format!("/v1/jobs/{job}/cancel"), Value::Null).await.expect(202);
    assert_eq!(desk.execute("update jobs.uploads set delete_at = now()").await, 3);
    gone(&used[0]).await;
    desk.member.post("/v1/jobs", training(&used)).await.expect_problem(422, "input-missing");
    desk.service.stop().await;
}

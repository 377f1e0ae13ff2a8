//! Objects that are staged out of the tenant's reach, and delivered.

use aws_sdk_s3::error::ProvideErrorMetadata as _;
use ids::{StorageId, TenantId};
use serde_json::{Value, json};
use testkit::{Client, Response, eventually};

use crate::{
    buckets::s3,
    fixture::{Fixture, Service},
    objects::bucket,
};

/// The bucket of a tenant for outputs, which the jobs service fills.
struct Dock {
    fixture: Fixture,
    service: Service,
    jobs: Client,
    tenant: TenantId,
    id: String,
}

impl Dock {
    async fn new() -> Self {
        let fixture = Fixture::new().await;
        let service = fixture.start().await;
        let jobs = service.client.service("jobs");
        let spec = json!({ "name": "object", "kind": "bucket", "min_size_gib": 1, "max_size_gib": 100,
                           "price_per_gib_month": "0.01", "currency": "USD" });
        let _ = fixture.admin(&service).post("/v1/storage-specs", spec).await.expect(201);
        let tenant = TenantId::new();
        let id = bucket(&jobs, tenant).await;
        Self { fixture, service, jobs, tenant, id }
    }

    /// The tenant's own client of the object store.
    async fn tenant_s3(&self) -> aws_sdk_s3::Client {
        let member = self.fixture.member(&self.service, self.tenant);
        let path = format!("/v1/storages/{}/credentials", self.id);
        s3(&member.post(&path, Value::Null).await.expect(201).body)
    }

    fn bucket_name(&self) -> String {
        self.id.parse::<StorageId>().unwrap().k8s_name()
    }

    async fn sign(&self, kind: &str, object: &str, bytes: usize) -> Response {
        let body = json!({ "tenant_id": self.tenant, "kind": kind, "object": object, "content_type": "text/plain",
                           "bytes": bytes });
        self.jobs.post(&format!("/internal/v1/buckets/{}/urls", self.id), body).await
    }

    /// Stages an object. Returns its address.
    async fn stage(&self, object: &str, content: &'static str) -> String {
        let url = self.sign("stage", object, content.len()).await.expect(200).str("url").to_owned();
        let put = reqwest::Client::new().put(&url).header("content-type", "text/plain");
        let put = put.header("content-length", content.len()).body(content);
        assert_eq!(put.send().await.unwrap().status(), 200, "{object}");
        url
    }

    async fn deliver(&self, object: &str, bytes: usize) -> Response {
        let body = json!({ "tenant_id": self.tenant, "object": object, "bytes": bytes });
        self.jobs.post(&format!("/internal/v1/buckets/{}/deliveries", self.id), body).await.expect(200)
    }

    async fn read(&self, object: &str) -> reqwest::Response {
        let url = self.sign("download", object, 3).await.expect(200).str("url").to_owned();
        reqwest::get(url).await.unwrap()
    }

    fn below(&self, kind: &str, prefix: &str) -> String {
        let (id, tenant) = (&self.id, self.tenant);
        format!("/internal/v1/buckets/{id}/{kind}?tenant_id={tenant}&prefix={prefix}")
    }
}

#[tokio::test]
async fn a_staged_object_is_out_of_the_tenants_reach_until_it_is_delivered() {
    let dock = Dock::new().await;
    let own = dock.tenant_s3().await;
    let object = "jobs/a/1/0.png";
    let url = dock.stage(object, "abc").await;
    let path = url.split('?').next().unwrap().strip_prefix(&dock.fixture.objects.endpoint).unwrap();
    let (bucket, key) = path.trim_start_matches('/').split_once('/').unwrap();
    let key = key.replace("%2F", "/");
    assert_ne!(bucket, dock.bucket_name());
    let read = own.get_object().bucket(bucket).key(&key).send().await.unwrap_err();
    assert_eq!(read.code(), Some("AccessDenied"));
    let removed = own.delete_object().bucket(bucket).key(&key).send().await.unwrap_err();
    assert_eq!(removed.code(), Some("AccessDenied"));
    let listed = own.list_objects_v2().bucket(bucket).send().await.unwrap_err();
    assert_eq!(listed.code(), Some("AccessDenied"));
    let copied = own.copy_object().bucket(dock.bucket_name()).key("x").copy_source(format!("{bucket}/{key}"));
    assert_eq!(copied.send().await.unwrap_err().code(), Some("AccessDenied"));
    assert_eq!(dock.read(object).await.status(), 404);

    assert_eq!(dock.deliver(object, 4).await.str("outcome"), "not_staged", "of another size");
    assert_eq!(dock.deliver("jobs/a/1/1.png", 3).await.str("outcome"), "not_staged");
    for _ in 0..2 {
        assert_eq!(dock.deliver(object, 3).await.body, json!({ "outcome": "delivered", "message": null }));
    }
    let content = dock.read(object).await;
    assert_eq!(content.headers()["content-type"], "text/plain");
    assert_eq!(content.text().await.unwrap(), "abc");
    let stranger = json!({ "tenant_id": TenantId::new(), "object": object, "bytes": 3 });
    let foreign = dock.jobs.post(&format!("/internal/v1/buckets/{}/deliveries", dock.id), stranger).await;
    foreign.expect_problem(404, "not-found");

    // what is staged goes, what was delivered stays
    dock.stage("jobs/a/10/0.png", "abc").await;
    for done in [false, true] {
        let deletion = dock.jobs.delete(&dock.below("staged", "jobs/a/1/")).await.expect(200);
        assert_eq!(deletion.body, json!({ "done": done }));
    }
    assert_eq!(dock.deliver(object, 3).await.str("outcome"), "delivered", "it was before");
    assert_eq!(dock.deliver("jobs/a/10/0.png", 3).await.str("outcome"), "delivered");
    dock.service.stop().await;
}

#[tokio::test]
async fn objects_have_any_name_and_may_be_empty() {
    let dock = Dock::new().await;
    let names = [
        "a b.png",
        "\u{fc}ber/\u{1f600}.txt",
        "%41+b&c=d?e#f",
        "-\"'<>\\|`{}^~;:@,$!*()[]",
        ".hidden",
        "a..b",
        " ",
    ];
    for name in names {
        let object = format!("jobs/a/1/{name}");
        dock.stage(&object, "abc").await;
        assert_eq!(dock.deliver(&object, 3).await.str("outcome"), "delivered", "{name}");
        let content = dock.read(&object).await;
        assert_eq!(content.status(), 200, "{name}");
        assert_eq!(content.text().await.unwrap(), "abc", "{name}");
    }
    let found = dock.jobs.get(&dock.below("objects", "jobs/a/1/")).await.expect(200);
    let mut found: Vec<&str> =
        found.body["items"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    let mut wanted: Vec<String> = names.iter().map(|name| format!("jobs/a/1/{name}")).collect();
    found.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(found, wanted);
    let saved = dock.read("jobs/a/1/a b.png").await;
    assert_eq!(saved.headers()["content-disposition"], "attachment; filename=\"a b.png\"");
    let saved = dock.read("jobs/a/1/\u{fc}ber/\u{1f600}.txt").await;
    let header = "attachment; filename=\"_.txt\"; filename*=UTF-8''%F0%9F%98%80%2Etxt";
    assert_eq!(saved.headers()["content-disposition"], header);

    dock.stage("jobs/a/2/empty", "").await;
    assert_eq!(dock.deliver("jobs/a/2/empty", 0).await.str("outcome"), "delivered");
    let content = dock.read("jobs/a/2/empty").await;
    assert_eq!((content.status().as_u16(), content.text().await.unwrap().len()), (200, 0));
    for _ in 0..2 {
        let _ = dock.jobs.delete(&dock.below("objects", "jobs/a/1/")).await.expect(200);
    }
    let left = dock.jobs.get(&dock.below("objects", "jobs/a/1/")).await.expect(200);
    assert_eq!(left.body["items"], json!([]));
    dock.service.stop().await;
}

#[tokio::test]
async fn a_bucket_that_takes_nothing_says_why() {
    let dock = Dock::new().await;
    let (own, bucket) = (dock.tenant_s3().await, dock.bucket_name());
    dock.stage("jobs/a/1/0.png", "abc").await;
    // the reconciler sets the quota back
    eventually("the bucket is full", async || {
        let query = [
            ("quota", ""),
            ("uid", &dock.tenant.k8s_name()),
            ("bucket", &bucket),
            ("max-size-kb", "0"),
            ("max-objects", "-1"),
            ("enabled", "true"),
        ];
        assert_eq!(dock.fixture.rgw("PUT", "bucket", &query).await.0, 200);
        let answer = dock.deliver("jobs/a/1/0.png", 3).await;
        (answer.str("outcome") == "bucket_full").then_some(())
    })
    .await;
    eventually("the bucket has room again", async || {
        let answer = dock.deliver("jobs/a/1/0.png", 3).await;
        (answer.str("outcome") == "delivered").then_some(())
    })
    .await;
    // the embedded object store has no policies
    if std::env::var("RGW_ENDPOINT").is_ok() {
        let policy = json!({ "Version": "2012-10-17", "Statement": [
            { "Effect": "Deny", "Principal": "*", "Action": "s3:PutObject", "Resource": [format!("arn:aws:s3:::{bucket}/*")] } ] });
        own.put_bucket_policy().bucket(&bucket).policy(policy.to_string()).send().await.unwrap();
        dock.stage("jobs/a/1/1.png", "abc").await;
        assert_eq!(dock.deliver("jobs/a/1/1.png", 3).await.str("outcome"), "refused");
        own.delete_bucket_policy().bucket(&bucket).send().await.unwrap();
        assert_eq!(dock.deliver("jobs/a/1/1.png", 3).await.str("outcome"), "delivered");
    }
    let found = own.list_objects_v2().bucket(&bucket).send().await.unwrap();
    for object in found.contents() {
        own.delete_object().bucket(&bucket).key(object.key().unwrap()).send().await.unwrap();
    }
    own.delete_bucket().bucket(&bucket).send().await.unwrap();
    dock.stage("jobs/a/2/0.png", "abc").await;
    assert_eq!(dock.deliver("jobs/a/2/0.png", 3).await.str("outcome"), "bucket_missing");
    dock.service.stop().await;
}

#[tokio::test]
async fn a_bucket_that_its_tenant_deleted_or_closed_is_not_available() {
    let dock = Dock::new().await;
    let (own, bucket) = (dock.tenant_s3().await, dock.bucket_name());
    let refused = async |answer: Response| {
        let problem = answer.expect_problem(409, "storage-not-available");
        assert!(problem.str("detail").starts_with("The storage is "), "{}", problem.text);
    };
    // the embedded object store has no policies
    if std::env::var("RGW_ENDPOINT").is_ok() {
        let policy = json!({ "Version": "2012-10-17", "Statement": [
            { "Effect": "Deny", "Principal": "*", "Action": "s3:ListBucket", "Resource": [format!("arn:aws:s3:::{bucket}")] } ] });
        own.put_bucket_policy().bucket(&bucket).policy(policy.to_string()).send().await.unwrap();
        refused(dock.jobs.get(&dock.below("objects", "jobs/a/0/")).await).await;
        own.delete_bucket_policy().bucket(&bucket).send().await.unwrap();
    }
    let _ = dock.jobs.get(&dock.below("objects", "jobs/a/0/")).await.expect(200);
    own.delete_bucket().bucket(&bucket).send().await.unwrap();
    refused(dock.jobs.get(&dock.below("objects", "jobs/a/0/")).await).await;
    refused(dock.jobs.delete(&dock.below("objects", "jobs/a/0/")).await).await;
    dock.service.stop().await;
}

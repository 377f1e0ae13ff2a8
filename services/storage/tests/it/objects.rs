//! Objects that other services read and write in buckets of tenants.

use aws_sdk_s3::types::{CorsConfiguration, CorsRule};
use ids::{StorageId, TenantId};
use serde_json::{Value, json};
use testkit::{Client, Response, eventually};

use crate::fixture::{Fixture, make};

/// The jobs service, the only caller.
const CALLER: &str = "jobs";

async fn create_spec(admin: &Client, name: &str, price: &str, min_size: i64) {
    let spec = json!({ "name": name, "kind": "bucket", "min_size_gib": min_size, "max_size_gib": 100,
                       "price_per_gib_month": price, "currency": "USD" });
    let _ = admin.post("/v1/storage-specs", spec).await.expect(201);
}

async fn put_bucket(jobs: &Client, tenant: TenantId) -> Response {
    jobs.put(&format!("/internal/v1/tenants/{tenant}/output-bucket"), Value::Null).await
}

/// Orders the bucket and waits for it. Returns its id.
pub(crate) async fn bucket(jobs: &Client, tenant: TenantId) -> String {
    eventually("the bucket is available", async || {
        let bucket = put_bucket(jobs, tenant).await.expect(200);
        (bucket.str("state") == "available").then(|| bucket.str("id").to_owned())
    })
    .await
}

async fn sign(jobs: &Client, bucket: &str, tenant: TenantId, kind: &str, object: &str) -> Response {
    let body = json!({ "tenant_id": tenant, "kind": kind, "object": object, "content_type": "text/plain", "bytes": 3 });
    jobs.post(&format!("/internal/v1/buckets/{bucket}/urls"), body).await
}

pub(crate) async fn upload(jobs: &Client, bucket: &str, tenant: TenantId, object: &str) {
    let url = sign(jobs, bucket, tenant, "upload", object).await.expect(200).str("url").to_owned();
    let put = reqwest::Client::new().put(url).header("content-type", "text/plain").body("abc");
    assert_eq!(put.send().await.unwrap().status(), 200);
}

fn objects(bucket: &str, tenant: TenantId, prefix: &str) -> String {
    format!("/internal/v1/buckets/{bucket}/objects?tenant_id={tenant}&prefix={prefix}")
}

#[tokio::test]
async fn the_bucket_for_outputs_is_ordered_once() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let (jobs, admin) = (service.client.service(CALLER), fixture.admin(&service));
    let tenant = TenantId::new();
    put_bucket(&jobs, tenant).await.expect_problem(409, "no-bucket-spec");
    create_spec(&admin, "dear", "0.1", 1).await;
    create_spec(&admin, "cheap", "0.01", 20).await;
    let member = fixture.member(&service, tenant);
    let answers = futures::future::join_all((0..8).map(|_| put_bucket(&jobs, tenant))).await;
    let ids: Vec<_> = answers.into_iter().map(|answer| answer.expect(200).str("id").to_owned()).collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    assert_eq!(bucket(&jobs, tenant).await, ids[0]);
    let seen = member.get("/v1/storages").await.expect(200);
    let [seen] = &seen.body["items"].as_array().unwrap()[..] else { panic!("not one: {}", seen.text) };
    assert_eq!(
        (&seen["name"], &seen["size_gib"], &seen["storage_spec"]["name"]),
        (&json!("job-outputs"), &json!(20), &json!("cheap"))
    );

    // the name may be taken
    let other = TenantId::new();
    let own = json!({ "name": "Job-Outputs", "storage_spec": "dear", "size_gib": 1 });
    let _ = fixture.member(&service, other).post("/v1/storages", own).await.expect(202);
    let id = bucket(&jobs, other).await;
    let seen = fixture.member(&service, other).get(&format!("/v1/storages/{id}")).await.expect(200);
    assert!(seen.str("name").starts_with("job-outputs-"), "{}", seen.text);
    service.stop().await;
}

#[tokio::test]
async fn a_url_is_for_one_object_and_a_prefix_for_those_below() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let (jobs, admin) = (service.client.service(CALLER), fixture.admin(&service));
    create_spec(&admin, "cheap", "0.01", 1).await;
    let (tenant, stranger) = (TenantId::new(), TenantId::new());
    let id = bucket(&jobs, tenant).await;
    for object in ["jobs/a/1/x", "jobs/a/1/y", "jobs/a/10/x", "jobs/b/1/x"] {
        upload(&jobs, &id, tenant, object).await;
    }
    let found = jobs.get(&objects(&id, tenant, "jobs/a/1/")).await.expect(200);
    let items = found.body["items"].as_array().unwrap();
    let seen: Vec<_> = items.iter().map(|item| (&item["name"], &item["bytes"])).collect();
    assert_eq!(seen, [(&json!("jobs/a/1/x"), &json!(3)), (&json!("jobs/a/1/y"), &json!(3))]);
    // the content of both is "abc"
    assert!(
        items.iter().all(|item| item["etag"] == "\"900150983cd24fb0d6963f7d28e17f72\""),
        "{}",
        found.text
    );
    let url = sign(&jobs, &id, tenant, "download", "jobs/a/1/x").await.expect(200).str("url").to_owned();
    let content = reqwest::get(&url).await.unwrap();
    assert_eq!(content.headers()["content-disposition"], "attachment; filename=\"x\"");
    assert_eq!(content.text().await.unwrap(), "abc");
    assert_eq!(reqwest::get(url.replace("/a/1/x", "/b/1/x")).await.unwrap().status(), 403);

    for done in [false, true, true] {
        let deletion = jobs.delete(&objects(&id, tenant, "jobs/a/1/")).await.expect(200);
        assert_eq!(deletion.body, json!({ "done": done }));
    }
    let left = jobs.get(&objects(&id, tenant, "jobs/a/")).await.expect(200);
    let names: Vec<_> = left.body["items"].as_array().unwrap().iter().map(|item| &item["name"]).collect();
    assert_eq!(names, [&json!("jobs/a/10/x")]);

    // another tenant's bucket does not exist
    sign(&jobs, &id, stranger, "download", "jobs/a/10/x").await.expect_problem(404, "not-found");
    jobs.delete(&objects(&id, stranger, "jobs/a/10/")).await.expect_problem(404, "not-found");
    for object in ["a", "jobs/", "jobs/../a", "jobs/./a", "jobs//a", "jobs/a\n", "jobs/\u{85}", "/jobs/a"] {
        sign(&jobs, &id, tenant, "upload", object).await.expect_problem(422, "invalid-field");
    }
    for prefix in ["", "jobs/", "jobs/a", "models/"] {
        jobs.delete(&objects(&id, tenant, prefix)).await.expect_problem(422, "invalid-field");
    }

    // what a suspended tenant has is not reached
    let order = json!({ "generation": 1, "state": "suspended", "delete_storages": false });
    let identity = service.client.service("identity");
    let _ = identity.put(&format!("/internal/v1/tenants/{tenant}"), order).await.expect(200);
    sign(&jobs, &id, tenant, "download", "jobs/a/10/x").await.expect_problem(403, "tenant-suspended");
    let _ = put_bucket(&jobs, stranger).await.expect(200);
    service.stop().await;
}

/// The origin that the object store lets a page of `origin` upload from.
async fn allowed(url: &str, origin: &str) -> Option<String> {
    let ask = reqwest::Client::new().request(reqwest::Method::OPTIONS, url).header("origin", origin);
    let ask = ask.header("access-control-request-method", "PUT");
    let answer = ask.header("access-control-request-headers", "content-type").send().await.unwrap();
    let origin = answer.headers().get("access-control-allow-origin")?;
    Some(origin.to_str().unwrap().to_owned())
}

#[tokio::test]
async fn the_console_may_use_the_bucket_for_outputs_and_rules_of_the_tenant_stay() {
    const CONSOLE: &str = "https://console.test";
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let (jobs, admin) = (service.client.service(CALLER), fixture.admin(&service));
    create_spec(&admin, "cheap", "0.01", 1).await;
    let tenant = TenantId::new();
    let id = bucket(&jobs, tenant).await;
    let signed = sign(&jobs, &id, tenant, "upload", "jobs/a.txt").await.expect(200);
    let url = signed.str("url");
    assert_eq!(allowed(url, CONSOLE).await.as_deref(), Some(CONSOLE));
    assert_eq!(allowed(url, "https://other.test").await, None);

    let member = fixture.member(&service, tenant);
    let made = member.post(&format!("/v1/storages/{id}/credentials"), Value::Null).await.expect(201);
    let (s3, name) = (crate::buckets::s3(&made.body), id.parse::<StorageId>().unwrap().k8s_name());
    let own = CorsRule::builder().allowed_origins("https://studio.test").allowed_methods("PUT");
    let own = own.allowed_headers("content-type").build().unwrap();
    let rules = CorsConfiguration::builder().cors_rules(own).build().unwrap();
    s3.put_bucket_cors().bucket(&name).cors_configuration(rules).send().await.unwrap();
    eventually("both are allowed", async || {
        let both =
            (allowed(url, CONSOLE).await.is_some(), allowed(url, "https://studio.test").await.is_some());
        (both == (true, true)).then_some(())
    })
    .await;
    let rules = async || s3.get_bucket_cors().bucket(&name).send().await.unwrap().cors_rules().len();
    assert_eq!(rules().await, 2);

    // buckets of the tenant are its own
    let own = make(&member, "archive", "cheap", 1).await;
    let signed = sign(&jobs, own.str("id"), tenant, "upload", "jobs/a.txt").await.expect(200);
    assert_eq!(allowed(signed.str("url"), CONSOLE).await, None);
    service.stop().await;
}

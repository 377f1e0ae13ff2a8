//! Invalid requests get a 4xx problem and have no effect.

use ids::TenantId;
use serde_json::{Value, json};
use sqlx::Connection as _;

use crate::fixture::{Fixture, ended, make, remove, specs};

#[tokio::test]
async fn invalid_storages_are_refused_and_have_no_effect() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    specs(&fixture.admin(&service)).await;
    let tenant = TenantId::new();
    let member = fixture.member(&service, tenant);
    let good = json!({ "name": "art", "storage_spec": "archive", "size_gib": 1 });
    for (field, value, pointer) in [
        ("name", json!(""), "/name"),
        ("name", json!(" x"), "/name"),
        ("name", json!("x".repeat(101)), "/name"),
        ("name", json!(null), "/name"),
        ("storage_spec", json!("nope"), "/storage_spec"),
        ("storage_spec", json!("sspec_01939f0a7c3d7e6b8a1f4f0d5c2b1a00"), "/storage_spec"),
        ("size_gib", json!(0), "/size_gib"),
        ("size_gib", json!(-1), "/size_gib"),
        ("size_gib", json!(51), "/size_gib"),
        ("size_gib", json!(null), "/size_gib"),
        ("size_gib", json!(1.5), "/size_gib"),
        ("size_gib", json!("1"), "/size_gib"),
        ("size_gib", json!(1e30), "/size_gib"),
        ("datacenter", json!("uk-1"), "/datacenter"),
        ("colour", json!("red"), "/colour"),
    ] {
        let mut body = good.clone();
        body[field] = value.clone();
        let refused = member.post("/v1/storages", body).await.expect_problem(422, "invalid-field");
        assert_eq!(refused.body["errors"][0]["pointer"], pointer, "{value}: {}", refused.text);
    }
    // no cluster is configured
    let volume = json!({ "name": "v", "storage_spec": "ssd", "size_gib": 1 });
    let refused = member.post("/v1/storages", volume).await.expect_problem(422, "invalid-field");
    assert_eq!(refused.body["errors"][0]["pointer"], "/datacenter");
    member.post("/v1/storages", Value::Null).await.expect_problem(415, "unsupported-media-type");
    member
        .post("/v1/storages", json!({ "name": "x".repeat(300_000) }))
        .await
        .expect_problem(413, "body-too-large");
    for query in ["limit=0", "limit=201", "limit=x", "cursor=x", "state=gone", "colour=red"] {
        member.get(&format!("/v1/storages?{query}")).await.expect_problem(422, "invalid-field");
    }
    member.get("/v1/nothing").await.expect_problem(404, "no-such-route");
    assert_eq!(member.get("/v1/storages").await.expect(200).body["items"], json!([]));
    assert_eq!(member.get("/v1/storage-operations").await.expect(200).body["items"], json!([]));
    assert_eq!(fixture.user_keys(tenant).await, None);
}

#[tokio::test]
async fn a_repeated_request_is_carried_out_once() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    specs(&fixture.admin(&service)).await;
    let tenant = TenantId::new();
    let member = fixture.member(&service, tenant);
    let body = json!({ "name": "art", "storage_spec": "archive", "size_gib": 1 });
    let same = member.key("order-1");
    let first = same.post("/v1/storages", body.clone()).await.expect(202);
    let again = same.post("/v1/storages", body.clone()).await.expect(202);
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!((again.str("id"), again.header("location")), (first.str("id"), first.header("location")));
    let mut other = body.clone();
    other["size_gib"] = json!(2);
    same.post("/v1/storages", other).await.expect_problem(422, "idempotency-key-reused");
    member
        .key("bad key")
        .post("/v1/storages", body.clone())
        .await
        .expect_problem(400, "idempotency-key-invalid");
    member.post("/v1/storages", body.clone()).await.expect_problem(409, "name-taken");
    // the same characters are the same name
    let named = |name: &str| json!({ "name": name, "storage_spec": body["storage_spec"], "size_gib": 1 });
    let cologne = member.post("/v1/storages", named("Ko\u{308}ln")).await.expect(202);
    assert_eq!(cologne.str("name"), "K\u{f6}ln");
    member.post("/v1/storages", named("K\u{f6}ln")).await.expect_problem(409, "name-taken");
    // idempotency keys belong to a tenant
    let stranger = fixture.member(&service, TenantId::new()).key("order-1");
    let theirs = stranger.post("/v1/storages", body).await.expect(202);
    assert_ne!(theirs.str("id"), first.str("id"));

    let http = reqwest::Client::new();
    let url = format!("{}/v1/storages", service.client.base());
    let token = fixture.issuer.user(tenant, auth::Role::Member);
    let keyless = http.post(&url).bearer_auth(&token).json(&json!({})).send().await.unwrap();
    assert_eq!(keyless.status(), 400);
    let torn = http
        .post(&url)
        .bearer_auth(&token)
        .header("idempotency-key", "t")
        .header("content-type", "application/json");
    assert_eq!(torn.body("{").send().await.unwrap().status(), 400);

    ended(&member, first.str("operation_id")).await;
    let path = format!("/v1/storages/{}", first.str("id"));
    let etagless = member.send(reqwest::Method::PATCH, &path, &json!({ "name": "b" })).await;
    etagless.expect_problem(428, "if-match-required");
    remove(&member, first.str("id")).await;
}

#[tokio::test]
async fn all_old_idempotency_keys_are_deleted() {
    let fixture = Fixture::new().await;
    let mut admin = fixture.db.admin().await;
    let old = "insert into storage.idempotency_keys
               select 'ten_x', n::text, '', 202, '{}', null, now() - interval '2 days'
               from generate_series(1, 10500) n";
    sqlx::query(old).execute(&mut admin).await.unwrap();
    let _service = fixture.start().await;
    testkit::eventually("all are deleted", async || {
        let left = "select count(*) from storage.idempotency_keys";
        let left: i64 = sqlx::query_scalar(left).fetch_one(&mut admin).await.unwrap();
        (left == 0).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_name_that_another_request_takes_first_is_refused() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    specs(&fixture.admin(&service)).await;
    let member = fixture.member(&service, TenantId::new());
    let (one, two) = (make(&member, "one", "archive", 1).await, make(&member, "two", "archive", 1).await);
    let mut naming = fixture.db.admin().await;
    let mut named = naming.begin().await.unwrap();
    let rename = "update storage.storages set name = 'Three' where name = 'two'";
    sqlx::query(rename).execute(&mut *named).await.unwrap();
    let renaming = {
        let (member, path) = (member.clone(), format!("/v1/storages/{}", one.str("id")));
        tokio::spawn(async move { member.patch(&path, "*", json!({ "name": "three" })).await })
    };
    fixture.db.wait_for_blocked_query().await;
    named.commit().await.unwrap();
    renaming.await.unwrap().expect_problem(409, "name-taken");
    for made in [one, two] {
        remove(&member, made.str("id")).await;
    }
}

#[tokio::test]
async fn volumes_have_no_credentials_and_need_a_known_datacenter() {
    let fixture = Fixture::with_cluster().await;
    let service = fixture.start().await;
    specs(&fixture.admin(&service)).await;
    let member = fixture.member(&service, TenantId::new());
    let volume = make(&member, "v", "ssd", 1).await;
    let path = format!("/v1/storages/{}/credentials", volume.str("id"));
    member.post(&path, Value::Null).await.expect_problem(409, "not-a-bucket");
    let elsewhere = json!({ "name": "w", "storage_spec": "ssd", "size_gib": 1, "datacenter": "mars-1" });
    let refused = member.post("/v1/storages", elsewhere).await.expect_problem(422, "invalid-field");
    assert_eq!(refused.body["errors"][0]["pointer"], "/datacenter");
    remove(&member, volume.str("id")).await;
}

#[tokio::test]
async fn a_forged_cursor_is_a_client_error() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    specs(&fixture.admin(&service)).await;
    let member = fixture.member(&service, TenantId::new());
    let bucket = make(&member, "art", "archive", 1).await;
    let cursor = api::Cursor::encode(&("-009999-06-01T00:00:00Z", "ATC"));
    let path = format!("/v1/storages/{}/credentials?cursor={cursor}", bucket.str("id"));
    member.get(&path).await.expect_problem(400, "bad-request");
    remove(&member, bucket.str("id")).await;
}

#[tokio::test]
async fn a_tenant_has_quotas_that_concurrent_requests_share() {
    let mut fixture = Fixture::new().await;
    fixture.config.limits = atelier_storage::LimitsConfig { storages_per_tenant: 3, gib_per_tenant: 50 };
    let service = fixture.start().await;
    specs(&fixture.admin(&service)).await;
    let member = fixture.member(&service, TenantId::new());
    let order =
        |n: usize, size: i64| json!({ "name": format!("b{n}"), "storage_spec": "archive", "size_gib": size });
    let orders = (0..8).map(|n| member.post("/v1/storages", order(n, 10)));
    let answers = futures::future::join_all(orders).await;
    let (made, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.status == 202);
    assert_eq!((made.len(), refused.len()), (3, 5));
    for answer in refused {
        let answer = answer.expect_problem(409, "quota-exceeded");
        let numbers = ["limit", "used", "requested"].map(|name| answer.body[name].as_i64().unwrap());
        assert_eq!((answer.str("quota"), numbers), ("storages", [3, 3, 1]));
        assert!(!answer.str("next").is_empty());
    }
    // one that is being deleted counts until it is gone
    for answer in &made {
        let _ = ended(&member, answer.str("operation_id")).await;
    }
    remove(&member, made[0].str("id")).await;
    let path = |n: usize| format!("/v1/storages/{}", made[n].str("id"));
    let grown = async |n: usize, size: i64| member.patch(&path(n), "*", json!({ "size_gib": size })).await;
    let both = futures::future::join(grown(1, 30), grown(2, 30)).await;
    let mut statuses = [both.0.status, both.1.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [202, 409], "{} {}", both.0.text, both.1.text);
    let refused = member.post("/v1/storages", order(9, 11)).await.expect_problem(409, "quota-exceeded");
    assert_eq!((refused.str("quota"), &refused.body["used"]), ("storage_gib", &json!(40)));
    let _ = member.post("/v1/storages", order(9, 10)).await.expect(202);
    let _ = member.patch(&path(1), "*", json!({ "name": "renamed" })).await.expect(200);
    // another tenant has its own
    let _ = fixture.member(&service, TenantId::new()).post("/v1/storages", order(0, 50)).await.expect(202);
}

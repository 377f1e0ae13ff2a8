//! Storage specifications.

use ids::TenantId;
use serde_json::json;

use crate::fixture::{Fixture, make, specs};

#[tokio::test]
async fn specifications_are_created_listed_changed_and_retired() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let (admin, member) = (fixture.admin(&service), fixture.member(&service, TenantId::new()));
    specs(&admin).await;
    let fixed = json!({ "name": "ssd-500", "kind": "volume", "size_gib": 500, "price_per_gib_month": "0.08",
        "currency": "EUR", "storage_class": "ceph-block", "access_mode": "read_write_once" });
    let made = admin.post("/v1/storage-specs", fixed.clone()).await.expect(201);
    assert_eq!(
        (made.body["min_size_gib"].as_i64(), made.body["max_size_gib"].as_i64()),
        (Some(500), Some(500))
    );
    assert_eq!(made.str("price_per_gib_month"), "0.08");
    let path = format!("/v1/storage-specs/{}", made.str("id"));
    assert_eq!(made.header("location"), Some(path.as_str()));
    admin.post("/v1/storage-specs", fixed).await.expect_problem(409, "name-taken");

    let found = member.get("/v1/storage-specs?name_prefix=ssd").await.expect(200);
    let names = |page: &testkit::Response| {
        page.body["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|s| s["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&found), ["ssd", "ssd-500"]);
    let first = member.get("/v1/storage-specs?limit=1").await.expect(200);
    assert_eq!(names(&first), ["archive"]);
    let next = member.get(&format!("/v1/storage-specs?limit=2&cursor={}", first.str("next_cursor"))).await;
    assert_eq!(names(&next.expect(200)), ["ssd", "ssd-500"]);

    let etag = member.get(&path).await.expect(200).header("etag").unwrap().to_owned();
    let retired =
        admin.patch(&path, &etag, json!({ "state": "retired", "price_per_gib_month": "0.09" })).await;
    assert_eq!(retired.expect(200).str("price_per_gib_month"), "0.09");
    admin.patch(&path, &etag, json!({ "state": "active" })).await.expect_problem(412, "changed-meanwhile");
    let order = json!({ "name": "x", "storage_spec": "ssd-500" });
    member.post("/v1/storages", order).await.expect_problem(409, "storage-spec-retired");

    make(&member, "art", "archive", 1).await;
    let archive = member.get("/v1/storage-specs/").await;
    assert_eq!(archive.status, 404);
    let id = first.body["items"][0]["id"].as_str().unwrap();
    admin.delete(&format!("/v1/storage-specs/{id}")).await.expect_problem(409, "storage-spec-in-use");
    let _ = admin.delete(&path).await.expect(204);
    admin.get(&path).await.expect_problem(404, "not-found");
}

#[tokio::test]
async fn only_administrators_write_them() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let member = fixture.member(&service, TenantId::new());
    member
        .post(
            "/v1/storage-specs",
            json!({ "name": "x", "kind": "volume", "size_gib": 1,
        "price_per_gib_month": "0", "currency": "USD" }),
        )
        .await
        .expect_problem(403, "forbidden");
    service.client.get("/v1/storage-specs").await.expect_problem(401, "unauthenticated");
}

#[tokio::test]
async fn invalid_specifications_are_refused_by_field() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let admin = fixture.admin(&service);
    let good = json!({ "name": "x", "kind": "volume", "size_gib": 1, "price_per_gib_month": "0.1", "currency": "USD" });
    for (field, value, pointer) in [
        ("name", json!("Not A Name"), "/name"),
        ("name", json!(7), "/name"),
        ("kind", json!("tape"), "/kind"),
        ("size_gib", json!(0), "/min_size_gib"),
        ("size_gib", json!(-1), "/min_size_gib"),
        ("size_gib", json!(9_000_000_000_000_000_000_u64), "/min_size_gib"),
        ("min_size_gib", json!(1), "/size_gib"),
        ("price_per_gib_month", json!("-1"), "/price_per_gib_month"),
        ("price_per_gib_month", json!("0.0000000001"), "/price_per_gib_month"),
        ("price_per_gib_month", json!("cheap"), "/price_per_gib_month"),
        ("currency", json!("usd"), "/currency"),
        ("storage_class", json!("../x"), "/storage_class"),
        ("colour", json!("red"), "/colour"),
    ] {
        let mut body = good.clone();
        body[field] = value;
        let refused = admin.post("/v1/storage-specs", body).await.expect_problem(422, "invalid-field");
        assert_eq!(refused.body["errors"][0]["pointer"], pointer, "{}", refused.text);
    }
    let page = admin.get("/v1/storage-specs").await.expect(200);
    assert_eq!(page.body["items"], json!([]));
}

#[tokio::test]
async fn everybody_sees_what_storage_costs() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let admin = fixture.admin(&service);
    specs(&admin).await;
    let offers = service.client.get("/v1/storage-offers").await.expect(200);
    assert_eq!(offers.header("cache-control"), Some("public, max-age=30"));
    let found = admin.get("/v1/storage-specs").await.expect(200);
    let pairs = |page: &testkit::Response| {
        let items = page.body["items"].as_array().unwrap();
        items.iter().map(|one| (one["name"].clone(), one["price_per_gib_month"].clone())).collect::<Vec<_>>()
    };
    assert_eq!(pairs(&offers), pairs(&found));
    let retired = format!("/v1/storage-specs/{}", found.body["items"][0]["id"].as_str().unwrap());
    let _ = admin.patch(&retired, "*", json!({ "state": "retired" })).await.expect(200);
    let left = service.client.get("/v1/storage-offers").await.expect(200);
    assert_eq!(pairs(&left), pairs(&found)[1..]);
}

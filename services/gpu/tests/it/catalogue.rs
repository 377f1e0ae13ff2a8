//! The catalogue: everyone reads, administrators write.

use auth::Role;
use ids::ImageId;
use serde_json::json;

use crate::harness::{Setup, World, service};

#[tokio::test(flavor = "multi_thread")]
async fn administrators_keep_the_catalogue_and_users_read_it() {
    let world = World::with(Setup { units: 0, workers: false }).await;
    let (admin, member) = (world.admin(), world.member());
    let mut new = service();
    new["version"] = json!("2");
    let made = admin.post("/v1/services", new.clone()).await.expect(201);
    let path = format!("/v1/services/{}", made.str("id"));
    admin.post("/v1/services", new).await.expect_problem(409, "service-version-exists");

    let list = member.get("/v1/services?limit=1").await.expect(200);
    assert_eq!(list.body["items"][0]["version"], "1");
    let next = format!("/v1/services?limit=1&cursor={}", list.str("next_cursor"));
    let list = member.get(&next).await.expect(200);
    assert_eq!(list.body["items"][0]["version"], "2");
    // what an administrator put into the environment may be a secret
    assert_eq!(list.body["items"][0]["template"]["env"][0], json!({ "name": "MODE", "value": "" }));

    let etag = made.header("etag").unwrap();
    let changed = admin.patch(&path, etag, json!({ "enabled": false })).await.expect(200);
    assert_eq!(changed.body["enabled"], false);
    admin.patch(&path, etag, json!({ "enabled": true })).await.expect_problem(412, "changed-meanwhile");
    member.get(&path).await.expect_problem(404, "not-found");
    let _ = admin.get(&path).await.expect(200);
    let mut order = World::order();
    order["version"] = json!("2");
    let refused = member.post("/v1/instances", order).await.expect_problem(422, "invalid-field");
    assert_eq!(refused.body["errors"][0]["pointer"], "/version");

    let _ = admin.delete(&path).await.expect(204);
    admin.delete(&path).await.expect_problem(404, "not-found");
    for who in [member, world.user(world.tenant, Role::Owner)] {
        who.post("/v1/services", service()).await.expect_problem(403, "forbidden");
        who.delete(&path).await.expect_problem(403, "forbidden");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_template_that_cannot_run_is_refused_with_the_place() {
    let world = World::with(Setup { units: 0, workers: false }).await;
    for (pointer, value) in [
        ("/template/image", json!("")),
        ("/template/ports", json!([])),
        ("/template/ports/0/port", json!([{ "port": 0, "is_public": true, "is_probe": true }])),
        ("/template/ports/0/port", json!([{ "port": 70000, "is_public": true, "is_probe": true }])),
        (
            "/template/ports/0/base_url",
            json!([{ "port": 1, "is_public": true, "is_probe": true, "base_url": "x" }]),
        ),
        ("/template/working_dir", json!("relative")),
        ("/template/storage_mount_path", json!("/a/../b")),
        ("/template/shm_size_mib", json!(-1)),
        ("/template/start_timeout_seconds", json!(0)),
        ("/template/env/0/name", json!([{ "name": "A=B" }])),
        ("/template/surprise", json!(1)),
    ] {
        let mut new = service();
        new["version"] = json!("9");
        let field = pointer.split('/').nth(2).unwrap();
        new["template"][field] = value;
        let refused = world.admin().post("/v1/services", new).await.expect_problem(422, "invalid-field");
        assert_eq!(refused.body["errors"][0]["pointer"], pointer, "{}", refused.text);
    }
    let none = format!("/v1/services/{}", ImageId::new());
    world.admin().patch(&none, "*", json!({})).await.expect_problem(404, "not-found");
}

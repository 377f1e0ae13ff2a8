//! The catalogue: everyone reads, administrators write.

use auth::Role;
use cache::CacheConfig;
use ids::ImageId;
use serde_json::json;
use testkit::{Client, Valkey, eventually};

use crate::harness::{Fixture, Replica, Setup, service};

#[tokio::test(flavor = "multi_thread")]
async fn administrators_keep_the_catalogue_and_users_read_it() {
    let fixture = Fixture::with(Setup { units: 0, workers: false, ..Setup::default() }).await;
    let (admin, member) = (fixture.admin(), fixture.member());
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
    let mut order = Fixture::order();
    order["version"] = json!("2");
    let refused = member.post("/v1/instances", order).await.expect_problem(422, "invalid-field");
    assert_eq!(refused.body["errors"][0]["pointer"], "/version");

    let _ = admin.delete(&path).await.expect(204);
    admin.delete(&path).await.expect_problem(404, "not-found");
    for who in [member, fixture.user(fixture.tenant, Role::Owner)] {
        who.post("/v1/services", service()).await.expect_problem(403, "forbidden");
        who.delete(&path).await.expect_problem(403, "forbidden");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn new_instances_use_the_recommended_version_and_none_that_is_deprecated() {
    let fixture = Fixture::start().await;
    let (admin, member) = (fixture.admin(), fixture.member());
    let mut order = Fixture::order();
    order.as_object_mut().unwrap().remove("version");
    let refused = member.post("/v1/instances", order.clone()).await.expect_problem(422, "invalid-field");
    assert_eq!(refused.body["errors"][0]["pointer"], "/version");

    let first = member.get("/v1/services").await.expect(200).body["items"][0].clone();
    let first = format!("/v1/services/{}", first["id"].as_str().unwrap());
    let made = admin.patch(&first, "*", json!({ "recommended": true })).await.expect(200);
    assert_eq!(made.body["recommended"], true);
    let mut new = service();
    new["version"] = json!("2");
    new["recommended"] = json!(true);
    let second = admin.post("/v1/services", new).await.expect(201);
    let second = format!("/v1/services/{}", second.str("id"));
    // at most one version is recommended, and the ETag of the other has changed
    assert_eq!(admin.get(&first).await.expect(200).body["recommended"], false);
    let etag = made.header("etag").unwrap();
    admin.patch(&first, etag, json!({ "description": "" })).await.expect_problem(412, "changed-meanwhile");
    let id = fixture.ordered(order.clone()).await;
    fixture.brought_up(id).await;
    assert_eq!(fixture.in_state(id, "running").await.body["version"], "2");

    let changed = admin.patch(&second, "*", json!({ "deprecated": true })).await.expect(200);
    assert_eq!((&changed.body["deprecated"], &changed.body["recommended"]), (&json!(true), &json!(false)));
    assert_eq!(member.get(&second).await.expect(200).body["deprecated"], true);
    order["version"] = json!("2");
    let refused = member.post("/v1/instances", order).await.expect_problem(422, "invalid-field");
    assert!(refused.text.contains("deprecated"), "{}", refused.text);
    let refused = admin.patch(&second, "*", json!({ "recommended": true })).await;
    let refused = refused.expect_problem(422, "invalid-field");
    assert_eq!(refused.body["errors"][0]["pointer"], "/recommended");
    // an existing instance starts as before
    let unit = fixture.unit_of(id).await;
    fixture.act(id, "stop").await;
    fixture.emptied(&unit).await;
    fixture.operator.ended(&unit, 160).await;
    fixture.in_state(id, "stopped").await;
    fixture.act(id, "start").await;
    fixture.brought_up(id).await;
}

/// Two administrators recommend versions of one service at the same time, again and again.
#[tokio::test(flavor = "multi_thread")]
async fn concurrent_changes_leave_one_recommended_version() {
    let fixture = Fixture::with(Setup { units: 0, workers: false, ..Setup::default() }).await;
    let admin = fixture.admin();
    let mut paths = Vec::new();
    for version in ["2", "3", "4", "5"] {
        let mut new = service();
        new["version"] = json!(version);
        let made = admin.post("/v1/services", new).await.expect(201);
        paths.push(format!("/v1/services/{}", made.str("id")));
    }
    for _ in 0..5 {
        let all = paths.iter().map(|path| admin.patch(path, "*", json!({ "recommended": true })));
        for answer in futures::future::join_all(all).await {
            let _ = answer.expect(200);
        }
        let list = admin.get("/v1/services").await.expect(200);
        let items = list.body["items"].as_array().unwrap();
        assert_eq!(items.iter().filter(|item| item["recommended"] == true).count(), 1, "{}", list.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_people_see_of_a_version_is_checked_and_returned() {
    let fixture = Fixture::with(Setup { units: 0, workers: false, ..Setup::default() }).await;
    let admin = fixture.admin();
    let shown = json!({
        "descriptions": { "de": "Bilder malen", "zh-CN": "画图" },
        "icon_url": "https://icons.example/webui.svg",
        "links": [{ "title": "Handbook", "url": "https://docs.example/webui" }],
    });
    let mut new = service();
    new["version"] = json!("2");
    for (name, value) in shown.as_object().unwrap() {
        new[name] = value.clone();
    }
    let made = admin.post("/v1/services", new).await.expect(201);
    let path = format!("/v1/services/{}", made.str("id"));
    let seen = fixture.member().get(&path).await.expect(200);
    for (name, value) in shown.as_object().unwrap() {
        assert_eq!(&seen.body[name], value);
    }
    let change = json!({ "icon_url": "", "links": [], "descriptions": {} });
    let cleared = admin.patch(&path, "*", change).await.expect(200);
    assert_eq!(
        (&cleared.body["icon_url"], &cleared.body["links"], &cleared.body["descriptions"]),
        (&json!(null), &json!([]), &json!({}))
    );
    for (pointer, change) in [
        ("/icon_url", json!({ "icon_url": "http://icons.example/a.png" })),
        ("/links/0/url", json!({ "links": [{ "title": "x", "url": "javascript:alert(1)" }] })),
        ("/links/0/title", json!({ "links": [{ "title": "", "url": "https://a.example" }] })),
        ("/descriptions/en_US", json!({ "descriptions": { "en_US": "x" } })),
        ("/descriptions/en", json!({ "descriptions": { "en": "x".repeat(1001) } })),
    ] {
        let refused = admin.patch(&path, "*", change).await.expect_problem(422, "invalid-field");
        assert_eq!(refused.body["errors"][0]["pointer"], pointer, "{}", refused.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_template_that_cannot_run_is_refused_with_the_place() {
    let fixture = Fixture::with(Setup { units: 0, workers: false, ..Setup::default() }).await;
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
        let refused = fixture.admin().post("/v1/services", new).await.expect_problem(422, "invalid-field");
        assert_eq!(refused.body["errors"][0]["pointer"], pointer, "{}", refused.text);
    }
    let none = format!("/v1/services/{}", ImageId::new());
    fixture.admin().patch(&none, "*", json!({})).await.expect_problem(404, "not-found");
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_share_what_users_see_and_forget_it_with_a_change() {
    let store = Valkey::start().await;
    let fixture = Fixture::with(Setup { units: 0, workers: false, ..Setup::default() }).await;
    let mut config = fixture.config.clone();
    config.cache = Some(CacheConfig { url: store.url().into(), key: ("A".repeat(43) + "=").into() });
    let (one, two) = (Replica::start(&config, false).await, Replica::start(&config, false).await);
    let at = |replica: &Replica, token: String| Client::new(&replica.base).token(&token);
    let admin = at(&one, fixture.issuer.admin());
    let token = || fixture.issuer.user(fixture.tenant, Role::Viewer);
    let (here, there) = (at(&one, token()), at(&two, token()));
    let list = here.get("/v1/services").await.expect(200);
    let path = format!("/v1/services/{}", list.body["items"][0]["id"].as_str().unwrap());
    for path in ["/v1/services", &path] {
        // neither sees a change without a notification
        eventually("replicas share an answer", async || {
            let before = here.get(path).await.expect(200);
            fixture.execute("update gpu.service_images set description = description || 'x'").await;
            let after = there.get(path).await.expect(200);
            (after.text == before.text && after.header("etag") == before.header("etag")).then_some(())
        })
        .await;
        // administrators see the values of the environment, and the present state
        let seen = admin.get(path).await.expect(200);
        assert!(seen.text.contains(r#""value":"plain""#), "{}", seen.text);
        assert!(!there.get(path).await.expect(200).text.contains(r#""value":"plain""#));
    }
    let changed = admin.patch(&path, "*", json!({ "description": "Draws." })).await.expect(200);
    eventually("everybody sees the change", async || {
        let seen = there.get(&path).await.expect(200);
        (seen.str("description") == "Draws." && seen.header("etag") == changed.header("etag")).then_some(())
    })
    .await;
    let _ = admin.patch(&path, "*", json!({ "enabled": false })).await.expect(200);
    eventually("a disabled version is hidden", async || (there.get(&path).await.status == 404).then_some(()))
        .await;
    let () = store.run("FLUSHALL", "SYNC").await;
    assert_eq!(there.get("/v1/services").await.expect(200).body["items"], json!([]));
    drop(store);
    let _ = admin.patch(&path, "*", json!({ "enabled": true })).await.expect(200);
    for client in [&here, &there] {
        assert_eq!(client.get(&path).await.expect(200).str("description"), "Draws.");
    }
}

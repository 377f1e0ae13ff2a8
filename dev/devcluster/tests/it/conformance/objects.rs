//! Create, read, update, delete, list, and invalid requests.

use crate::support::*;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

fn config_map(name: &str, labels: impl Into<Value>) -> Value {
    let labels: Value = labels.into();
    json!({ "metadata": { "name": name, "labels": labels }, "data": { "a": "1" } })
}

#[tokio::test]
async fn an_object_is_created_changed_and_deleted() {
    let t = Test::any().await;
    let api: Api<ConfigMap> = t.api();
    let made = create(&api, config_map("one", json!({}))).await;
    assert!(made.uid().is_some() && made.creation_timestamp().is_some());
    let again = api
        .create(&PostParams::default(), &serde_json::from_value(config_map("one", json!({}))).unwrap())
        .await;
    assert_eq!(failure(again).1, "AlreadyExists");

    let mut mine = made.clone();
    mine.data.as_mut().unwrap().insert("b".into(), "2".into());
    let updated = api.replace("one", &PostParams::default(), &mine).await.unwrap();
    assert_ne!(rv(&updated), rv(&made));
    let stale = api.replace("one", &PostParams::default(), &mine).await;
    assert_eq!(failure(stale).0, 409);

    // an update without changes writes nothing
    let same = api.replace("one", &PostParams::default(), &updated).await.unwrap();
    assert_eq!(rv(&same), rv(&updated));
    let same = api
        .patch("one", &PatchParams::default(), &Patch::Merge(json!({ "data": { "b": "2" } })))
        .await
        .unwrap();
    assert_eq!(rv(&same), rv(&updated));

    let patched = api
        .patch("one", &PatchParams::default(), &Patch::Merge(json!({ "data": { "a": null } })))
        .await
        .unwrap();
    assert_eq!(patched.data.unwrap().keys().collect::<Vec<_>>(), ["b"]);
    let ops = json!([{ "op": "test", "path": "/data/b", "value": "2" }, { "op": "replace", "path": "/data/b", "value": "3" }]);
    let path = format!("/api/v1/namespaces/{}/configmaps/one", t.namespace);
    let json_patch = [("content-type", "application/json-patch+json")];
    assert_eq!(t.send("PATCH", &path, &json_patch, ops.to_string()).await.0, 200);
    assert_eq!(api.get("one").await.unwrap().data.unwrap()["b"], "3");

    api.delete("one", &DeleteParams::default()).await.unwrap();
    assert_eq!(failure(api.get("one").await).1, "NotFound");
    assert_eq!(failure(api.delete("one", &DeleteParams::default()).await).0, 404);
    t.stop().await;
}

#[tokio::test]
async fn lists_select_and_continue() {
    let t = Test::any().await;
    let api: Api<ConfigMap> = t.api();
    for i in 0..7 {
        create(&api, config_map(&format!("m{i}"), json!({ "even": (i % 2 == 0).to_string() }))).await;
    }
    let even = api.list(&ListParams::default().labels("even=true")).await.unwrap();
    assert_eq!(even.items.len(), 4);
    let one = api.list(&ListParams::default().fields("metadata.name=m3")).await.unwrap();
    assert_eq!(one.items.len(), 1);
    assert_eq!(failure(api.list(&ListParams::default().fields("data.a=1")).await).0, 400);
    let mut names = Vec::new();
    let mut page = ListParams::default().limit(3);
    loop {
        let list = api.list(&page).await.unwrap();
        names.extend(list.items.iter().map(ResourceExt::name_any).filter(|name| name.starts_with('m')));
        match list.metadata.continue_.filter(|c| !c.is_empty()) {
            Some(token) => page = page.continue_token(&token),
            None => break,
        }
    }
    assert_eq!(names, ["m0", "m1", "m2", "m3", "m4", "m5", "m6"]);
    api.delete_collection(&DeleteParams::default(), &ListParams::default().labels("even=true"))
        .await
        .unwrap();
    let left = api.list(&ListParams::default().labels("even")).await.unwrap();
    assert_eq!(left.items.len(), 3);
    t.stop().await;
}

#[tokio::test]
async fn invalid_requests_are_refused() {
    let t = Test::any().await;
    let maps = "/api/v1/namespaces/NAMESPACE/configmaps";
    for (method, path, body, code) in [
        ("POST", "/api/v1/namespaces/nowhere/configmaps", json!({ "metadata": { "name": "a" } }), 404),
        ("POST", maps, json!({ "metadata": { "name": "Bad_Name" } }), 422),
        ("POST", maps, json!({ "metadata": { "name": "a" }, "data": { "x": 1 } }), 400),
        ("POST", maps, json!({ "kind": "Secret", "metadata": { "name": "a" } }), 400),
        (
            "POST",
            &format!("{maps}?fieldValidation=Strict"),
            json!({ "metadata": { "name": "a" }, "colour": "red" }),
            400,
        ),
        ("PUT", "/api/v1/namespaces/NAMESPACE", json!({}), 400),
        ("PATCH", "/api/v1/namespaces/NAMESPACE", json!({}), 415),
        (
            "POST",
            "/api/v1/namespaces/NAMESPACE/pods",
            json!({ "metadata": { "name": "a" }, "spec": { "containers": [] } }),
            422,
        ),
    ] {
        let path = path.replace("NAMESPACE", &t.namespace);
        let (status, _, answer) = t.send(method, &path, &[], object(&path, body).to_string()).await;
        assert_eq!(status, code, "{method} {path}: {answer}");
        assert_eq!((&answer["kind"], &answer["code"]), (&json!("Status"), &json!(code)));
    }
    let (code, _, _) = t.send("POST", "/api/v1/namespaces", &[], "{".to_owned()).await;
    assert_eq!(code, 400);
    let path = maps.replace("NAMESPACE", &t.namespace);
    let body = object(&path, json!({ "metadata": { "name": "w" }, "colour": "red" }));
    let (_, headers, _) = t.send("POST", &path, &[], body.to_string()).await;
    assert!(headers["warning"].to_str().unwrap().contains("unknown field"));
    t.stop().await;
}

/// Adds the kind of the path, which a real API server requires.
fn object(path: &str, mut body: Value) -> Value {
    if body["metadata"].is_object() && body["kind"].is_null() {
        body["kind"] = if path.contains("/pods") { "Pod" } else { "ConfigMap" }.into();
        body["apiVersion"] = "v1".into();
    }
    body
}

#[tokio::test]
async fn dry_runs_and_generated_names() {
    let t = Test::any().await;
    let api: Api<ConfigMap> = t.api();
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    let value = serde_json::from_value(config_map("dry", json!({}))).unwrap();
    api.create(&dry, &value).await.unwrap();
    assert!(api.get_opt("dry").await.unwrap().is_none());
    let a = create(&api, json!({ "metadata": { "generateName": "g-" } })).await;
    let b = create(&api, json!({ "metadata": { "generateName": "g-" } })).await;
    assert!(a.name_any().starts_with("g-") && a.name_any() != b.name_any());
    t.stop().await;
}

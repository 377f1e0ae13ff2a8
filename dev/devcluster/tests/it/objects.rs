//! Create, read, update, delete, list, and what is refused.

use crate::support::*;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

fn config_map(name: &str, labels: impl Into<Value>) -> Value {
    let labels: Value = labels.into();
    json!({ "metadata": { "name": name, "labels": labels }, "data": { "a": "1" } })
}

#[tokio::test]
async fn an_object_lives_and_conflicts_are_told() {
    let t = Test::fake().await;
    let api: Api<ConfigMap> = t.api("default");
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

    // nothing changed: nothing is written
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
    let answer = t
        .http("PATCH", "/api/v1/namespaces/default/configmaps/one")
        .header("content-type", "application/json-patch+json");
    let answer = answer.body(ops.to_string()).send().await.unwrap();
    assert_eq!(answer.status().as_u16(), 200);
    assert_eq!(api.get("one").await.unwrap().data.unwrap()["b"], "3");

    api.delete("one", &DeleteParams::default()).await.unwrap();
    assert_eq!(failure(api.get("one").await).1, "NotFound");
    assert_eq!(failure(api.delete("one", &DeleteParams::default()).await).0, 404);
    t.cluster.stop().await;
}

#[tokio::test]
async fn lists_select_and_continue() {
    let t = Test::fake().await;
    let api: Api<ConfigMap> = t.api("default");
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
        names.extend(list.items.iter().map(ResourceExt::name_any));
        match list.metadata.continue_.filter(|c| !c.is_empty()) {
            Some(token) => page = page.continue_token(&token),
            None => break,
        }
    }
    assert_eq!(names, ["m0", "m1", "m2", "m3", "m4", "m5", "m6"]);
    api.delete_collection(&DeleteParams::default(), &ListParams::default().labels("even=true"))
        .await
        .unwrap();
    assert_eq!(api.list(&ListParams::default()).await.unwrap().items.len(), 3);
    t.cluster.stop().await;
}

#[tokio::test]
async fn the_unknown_is_refused() {
    let t = Test::fake().await;
    for (method, path, body, code) in [
        ("GET", "/apis/apps/v1/deployments", json!(null), 404),
        ("GET", "/api/v1/namespaces/default/endpoints", json!(null), 404),
        ("POST", "/api/v1/namespaces/nowhere/configmaps", json!({ "metadata": { "name": "a" } }), 404),
        ("POST", "/api/v1/namespaces/default/configmaps", json!({ "metadata": { "name": "Bad_Name" } }), 422),
        (
            "POST",
            "/api/v1/namespaces/default/configmaps",
            json!({ "metadata": { "name": "a" }, "data": { "x": 1 } }),
            400,
        ),
        (
            "POST",
            "/api/v1/namespaces/default/configmaps",
            json!({ "kind": "Secret", "metadata": { "name": "a" } }),
            400,
        ),
        (
            "POST",
            "/api/v1/namespaces/default/configmaps?fieldValidation=Strict",
            json!({ "metadata": { "name": "a" }, "colour": "red" }),
            400,
        ),
        (
            "POST",
            "/api/v1/namespaces/default/configmaps?dryRun=Some",
            json!({ "metadata": { "name": "a" } }),
            400,
        ),
        ("PUT", "/api/v1/namespaces/default", json!({}), 400),
        ("PATCH", "/api/v1/namespaces/default", json!({}), 415),
        (
            "POST",
            "/api/v1/namespaces/default/pods",
            json!({ "metadata": { "name": "a" }, "spec": { "containers": [] } }),
            422,
        ),
        (
            "POST",
            "/api/v1/namespaces/default/pods",
            json!({ "metadata": { "name": "a" }, "spec": { "containers": [{ "name": "m", "image": "x" }], "initContainers": [{ "name": "i", "image": "x" }] } }),
            422,
        ),
    ] {
        let answer = t.http(method, path).body(body.to_string()).send().await.unwrap();
        assert_eq!(answer.status().as_u16(), code, "{method} {path}");
        let status: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
        assert_eq!(status["kind"], "Status");
        assert_eq!(status["code"], code);
    }
    let torn = t.http("POST", "/api/v1/namespaces").body("{").send().await.unwrap();
    assert_eq!(torn.status().as_u16(), 400);
    let warned = t
        .http("POST", "/api/v1/namespaces/default/configmaps")
        .body(json!({ "metadata": { "name": "w" }, "colour": "red" }).to_string())
        .send()
        .await
        .unwrap();
    assert!(warned.headers()["warning"].to_str().unwrap().contains("unknown field"));
    t.cluster.stop().await;
}

#[tokio::test]
async fn dry_runs_and_generated_names() {
    let t = Test::fake().await;
    let api: Api<ConfigMap> = t.api("default");
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    let value = serde_json::from_value(config_map("dry", json!({}))).unwrap();
    api.create(&dry, &value).await.unwrap();
    assert!(api.get_opt("dry").await.unwrap().is_none());
    let a = create(&api, json!({ "metadata": { "generateName": "g-" } })).await;
    let b = create(&api, json!({ "metadata": { "generateName": "g-" } })).await;
    assert!(a.name_any().starts_with("g-") && a.name_any() != b.name_any());
    t.cluster.stop().await;
}

#[tokio::test]
async fn kubectl_and_kube_read_the_same_over_tls() {
    let t = Test::fake().await;
    let client = client_of(t.cluster.kubeconfig_path()).await;
    let all: Api<Namespace> = Api::all(client.clone());
    assert!(all.get_opt("kube-system").await.unwrap().is_some());
    assert_eq!(client.apiserver_version().await.unwrap().minor, "34");
    let mut kubectl = tokio::process::Command::new("kubectl");
    kubectl
        .args(["get", "nodes", "--no-headers", "--kubeconfig"])
        .arg(t.cluster.kubeconfig_path())
        .env("HOME", t.dir.path());
    match kubectl.output().await {
        Ok(out) => assert!(
            String::from_utf8_lossy(&out.stdout).contains("f1"),
            "{}",
            String::from_utf8_lossy(&out.stderr)
        ),
        Err(e) => assert_eq!(e.kind(), std::io::ErrorKind::NotFound, "kubectl is optional"),
    }
    t.cluster.stop().await;
}

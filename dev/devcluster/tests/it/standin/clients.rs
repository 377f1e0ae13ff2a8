//! What only the development cluster serves or refuses, and how long changes can be watched.

use crate::support::*;
use futures::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Api, ListParams, Patch, PatchParams, WatchEvent, WatchParams};
use serde_json::json;

#[tokio::test]
async fn a_watch_from_an_old_version_expires() {
    let t = Test::fake().await;
    let api: Api<ConfigMap> = t.api();
    create(&api, json!({ "metadata": { "name": "a" }, "data": { "n": "0" } })).await;
    let old = api.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
    for n in 1..8_300 {
        let body = json!({ "data": { "n": n.to_string() } });
        api.patch("a", &PatchParams::default(), &Patch::Merge(body)).await.unwrap();
    }
    // the error is the first event: kube's watcher lists again after such an event, but not after an HTTP error
    let mut events = api.watch(&WatchParams::default(), &old).await.unwrap().boxed();
    let Some(Ok(WatchEvent::Error(status))) = events.next().await else { panic!("not an error event") };
    assert_eq!((status.code, status.reason.as_str()), (410, "Expired"));
    t.stop().await;
}

#[tokio::test]
async fn kubectl_and_kube_read_the_same_over_tls() {
    let t = Test::fake().await;
    let client = client_of(t.cluster().kubeconfig_path()).await;
    let all: Api<Namespace> = Api::all(client.clone());
    assert!(all.get_opt("kube-system").await.unwrap().is_some());
    assert_eq!(client.apiserver_version().await.unwrap().minor, "34");
    let mut kubectl = tokio::process::Command::new("kubectl");
    kubectl
        .args(["get", "nodes", "--no-headers", "--kubeconfig"])
        .arg(t.cluster().kubeconfig_path())
        .env("HOME", t.dir.path());
    match kubectl.output().await {
        Ok(out) => assert!(
            String::from_utf8_lossy(&out.stdout).contains("f1"),
            "{}",
            String::from_utf8_lossy(&out.stderr)
        ),
        Err(e) => assert_eq!(e.kind(), std::io::ErrorKind::NotFound, "kubectl is optional"),
    }
    t.stop().await;
}

#[tokio::test]
async fn unsupported_requests_are_refused() {
    let t = Test::fake().await;
    let init = json!({ "metadata": { "name": "a" }, "spec": {
        "containers": [{ "name": "m", "image": "x" }], "initContainers": [{ "name": "i", "image": "x" }] } });
    for (method, path, body, code) in [
        ("GET", "/apis/apps/v1/deployments", json!(null), 404),
        ("GET", "/api/v1/namespaces/default/services", json!(null), 404),
        ("POST", "/api/v1/namespaces/default/pods", init, 422),
        ("POST", "/api/v1/namespaces/default/pods/a/eviction", json!({}), 400),
        ("POST", "/devcluster/nodes/nowhere/fail", json!(null), 404),
    ] {
        let (status, _, answer) = t.send(method, path, &[], body.to_string()).await;
        assert_eq!(status, code, "{method} {path}: {answer}");
        assert_eq!((&answer["kind"], &answer["code"]), (&json!("Status"), &json!(code)));
    }
    t.stop().await;
}

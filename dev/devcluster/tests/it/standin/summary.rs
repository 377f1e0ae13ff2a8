//! What a node reports of its pods' processes.

use crate::support::*;
use atelier_devcluster::{Config, ImageConfig, NodeConfig, Part};
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::Client;
use kube::api::{Api, PostParams};
use serde_json::{Value, json};
use testkit::eventually;

fn real(c: &mut Config) {
    c.nodes = vec![NodeConfig::new("n1"), NodeConfig::new("n2")];
    c.images.push(ImageConfig::new("sh:*", ["/bin/sh", "-c"]));
}

/// Creates a pod on `n1` that runs a script.
async fn run(t: &Test, name: &str, script: &str) {
    let mut value = pod(name, "sh:1", json!({ "nodeName": "n1" }));
    value["spec"]["containers"][0]["args"] = json!([script]);
    create(&t.pods(), value).await;
    until(&t.pods(), name, is_ready).await;
}

async fn ask(client: &Client, node: &str, path: &str) -> kube::Result<Value> {
    let path = format!("/api/v1/nodes/{node}/proxy/{path}");
    client.request(http::Request::get(path).body(Vec::new()).unwrap()).await
}

async fn stats(t: &Test, name: &str) -> Value {
    let summary = ask(&t.client, "n1", "stats/summary").await.unwrap();
    let pods = summary["pods"].as_array().unwrap().clone();
    pods.into_iter().find(|pod| pod["podRef"]["name"] == name).unwrap_or_default()
}

#[tokio::test]
async fn a_node_reports_what_the_processes_of_its_pods_use() {
    let t = Test::with(real).await;
    run(&t, "idle", "exec sleep 1000").await;
    // the child process does the work
    run(&t, "busy", "head -c 3000000 /dev/zero > \"$ATELIER_ROOTFS/file\"; (while :; do :; done); true")
        .await;
    let busy = eventually("the pod has used CPU time", async || {
        let stats = stats(&t, "busy").await;
        let used = stats["containers"][0]["cpu"]["usageCoreNanoSeconds"].as_u64()?;
        let disk = stats["ephemeral-storage"]["usedBytes"].as_u64()?;
        (used > 200_000_000 && disk > 3_000_000).then_some(stats)
    })
    .await;
    assert_eq!(busy["podRef"]["namespace"], "default");
    assert_eq!(busy["containers"][0]["name"], "main");
    assert!(busy["containers"][0]["memory"]["workingSetBytes"].as_u64().unwrap() > 100_000, "{busy}");
    assert!(busy["network"]["rxBytes"].is_u64() && busy["network"]["txBytes"].is_u64(), "{busy}");
    let idle = stats(&t, "idle").await;
    assert!(idle["containers"][0]["cpu"]["usageCoreNanoSeconds"].as_u64().unwrap() < 200_000_000, "{idle}");
    assert!(idle["ephemeral-storage"]["usedBytes"].as_u64().unwrap() < 1_000_000, "{idle}");
    let other = ask(&t.client, "n2", "stats/summary").await.unwrap();
    assert_eq!(other["pods"], json!([]), "pods of another node");
    assert_eq!(failure(ask(&t.client, "n3", "stats/summary").await).0, 404);
    assert_eq!(failure(ask(&t.client, "n1", "configz").await).0, 400);
    let kubelet = Part::Kubelet("n1".to_owned());
    t.cluster().stop_part(&kubelet);
    // the usual client tries again
    let url = format!("{}/api/v1/nodes/n1/proxy/stats/summary", t.cluster().url);
    let status = async || {
        let request = reqwest::Client::new().get(&url).bearer_auth(&t.cluster().token);
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(status().await, 503);
    t.cluster().start_part(&kubelet).await;
    assert_eq!(status().await, 200);
    t.stop().await;
}

#[tokio::test]
async fn only_who_may_use_the_proxy_of_nodes_reads_them() {
    let t = Test::with(real).await;
    let accounts: Api<ServiceAccount> = t.api();
    create(&accounts, json!({ "metadata": { "name": "reader" } })).await;
    let request: TokenRequest = serde_json::from_value(json!({ "spec": { "audiences": [] } })).unwrap();
    let token = accounts.create_token_request("reader", &PostParams::default(), &request).await.unwrap();
    let reader = t.client_as(&token.status.unwrap().token).await;
    assert_eq!(failure(ask(&reader, "n1", "stats/summary").await).0, 403);
    let roles: Api<ClusterRole> = Api::all(t.client.clone());
    let bindings: Api<ClusterRoleBinding> = Api::all(t.client.clone());
    create(&roles, json!({ "metadata": { "name": "stats" }, "rules": [{ "apiGroups": [""], "resources": ["nodes/proxy"], "verbs": ["get"] }] })).await;
    create(&bindings, json!({ "metadata": { "name": "stats" }, "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "stats" }, "subjects": [{ "kind": "ServiceAccount", "name": "reader", "namespace": t.namespace }] })).await;
    until_allowed(async || ask(&reader, "n1", "stats/summary").await).await;
    t.stop().await;
}

//! Tokens, quotas, and namespaces with pods and volumes.

use crate::support::*;
use atelier_devcluster::Part;
use k8s_openapi::api::core::v1::{
    Namespace, PersistentVolume, PersistentVolumeClaim, Pod, ResourceQuota, ServiceAccount,
};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::json;

#[tokio::test]
async fn requests_without_a_valid_token_are_refused() {
    let t = Test::fake().await;
    let url = format!("{}/api/v1/pods", t.cluster().url);
    let http = reqwest::Client::new();
    assert_eq!(http.get(&url).send().await.unwrap().status().as_u16(), 401);
    assert_eq!(http.get(&url).bearer_auth("wrong").send().await.unwrap().status().as_u16(), 401);
    assert_eq!(http.get(format!("{}/readyz", t.cluster().url)).send().await.unwrap().status().as_u16(), 200);
    t.stop().await;
}

#[tokio::test]
async fn quotas_hold() {
    let t = Test::fake().await;
    let small = t.make_namespace("small", json!({})).await;
    let quotas: Api<ResourceQuota> = t.api_in(&small);
    create(&quotas, json!({ "metadata": { "name": "q" }, "spec": { "hard": { "pods": "2", "requests.nvidia.com/gpu": "3", "requests.cpu": "2" } } })).await;
    until(&quotas, "q", |q| q.status.as_ref().is_some_and(|s| s.used.is_some())).await;
    let pods: Api<Pod> = t.api_in(&small);
    let put = async |name: &str, gpus: u32, cpu: Option<&str>| {
        let mut value = gpu_pod(name, gpus, "");
        if let Some(cpu) = cpu {
            value["spec"]["containers"][0]["resources"]["requests"] =
                json!({ "cpu": cpu, "nvidia.com/gpu": gpus.to_string() });
        }
        pods.create(&PostParams::default(), &serde_json::from_value(value).unwrap()).await
    };
    assert!(failure(put("nocpu", 1, None).await).2.contains("must specify requests.cpu"));
    put("a", 2, Some("500m")).await.unwrap();
    assert!(failure(put("b", 2, Some("1")).await).2.contains("exceeded quota: q, requested: requests.nvidia.com/gpu=2, used: requests.nvidia.com/gpu=2, limited: requests.nvidia.com/gpu=3"));
    put("b", 1, Some("1")).await.unwrap();
    assert!(failure(put("c", 0, Some("100m")).await).2.contains("pods=1"));
    let used = |q: &ResourceQuota| q.status.clone().unwrap().used.unwrap()["pods"].0 == "2";
    until(&quotas, "q", used).await;
    t.stop().await;
}

/// A quota limits nothing until the controller has written its status.
#[tokio::test]
async fn a_quota_without_a_status_limits_nothing_and_one_without_usage_refuses() {
    let t = Test::fake().await;
    let n = t.make_namespace("n", json!({})).await;
    t.cluster().stop_part(&Part::Controllers);
    let quotas: Api<ResourceQuota> = t.api_in(&n);
    create(&quotas, json!({ "metadata": { "name": "q" }, "spec": { "hard": { "pods": "0" } } })).await;
    let pods: Api<Pod> = t.api_in(&n);
    create(&pods, pod("a", "pause:1", json!({}))).await;
    let limits = json!({ "status": { "hard": { "pods": "5" } } });
    quotas.patch_status("q", &PatchParams::default(), &Patch::Merge(limits)).await.unwrap();
    let put = async || {
        pods.create(&PostParams::default(), &serde_json::from_value(pod("b", "pause:1", json!({}))).unwrap())
            .await
    };
    let (code, _, message) = failure(put().await);
    assert_eq!(code, 403);
    assert!(message.ends_with("status unknown for quota: q, resources: pods"), "{message}");
    t.cluster().start_part(&Part::Controllers).await;
    let counted = |q: &ResourceQuota| q.status.as_ref().is_some_and(|s| s.used.is_some());
    until(&quotas, "q", counted).await;
    assert!(failure(put().await).2.contains("exceeded quota: q"));
    t.stop().await;
}

#[tokio::test]
async fn a_namespace_is_deleted_with_its_contents() {
    let t = Test::fake().await;
    let n = t.make_namespace("n", json!({})).await;
    let accounts: Api<ServiceAccount> = t.api_in(&n);
    assert!(accounts.get_opt("default").await.unwrap().is_some());
    let pods = t.api_in(&n);
    create(&pods, pod("p", "pause:1", json!({}))).await;
    until(&pods, "p", is_ready).await;
    let claims: Api<PersistentVolumeClaim> = t.api_in(&n);
    create(&claims, json!({ "metadata": { "name": "c" }, "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } } })).await;
    let bound =
        until(&claims, "c", |c| c.status.as_ref().and_then(|s| s.phase.as_deref()) == Some("Bound")).await;
    let all: Api<Namespace> = Api::all(t.client.clone());
    all.delete(&n, &DeleteParams::default()).await.unwrap();
    gone(&all, &n).await;
    let volumes: Api<PersistentVolume> = Api::all(t.client.clone());
    gone(&volumes, &bound.spec.unwrap().volume_name.unwrap()).await;
    t.make_namespace("n", json!({})).await;
    assert_eq!(failure(all.delete("default", &DeleteParams::default()).await).0, 403);
    t.stop().await;
}

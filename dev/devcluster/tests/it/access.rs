//! Who may do what; quotas, limits, pod security.

use crate::support::*;
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::{ConfigMap, LimitRange, Pod, ResourceQuota, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use serde_json::json;

#[tokio::test]
async fn strangers_are_told_so() {
    let t = Test::fake().await;
    let url = format!("{}/api/v1/pods", t.cluster.url);
    let http = reqwest::Client::new();
    assert_eq!(http.get(&url).send().await.unwrap().status().as_u16(), 401);
    assert_eq!(http.get(&url).bearer_auth("wrong").send().await.unwrap().status().as_u16(), 401);
    assert_eq!(http.get(format!("{}/readyz", t.cluster.url)).send().await.unwrap().status().as_u16(), 200);
    t.cluster.stop().await;
}

#[tokio::test]
async fn a_service_account_has_exactly_its_rights() {
    let t = Test::fake().await;
    let accounts: Api<ServiceAccount> = t.api("default");
    create(&accounts, json!({ "metadata": { "name": "reader" } })).await;
    let request: TokenRequest = serde_json::from_value(json!({ "spec": { "audiences": [] } })).unwrap();
    let token = accounts.create_token_request("reader", &PostParams::default(), &request).await.unwrap();
    let reader = client(&t.cluster.url, &token.status.unwrap().token).await;
    let maps: Api<ConfigMap> = Api::namespaced(reader.clone(), "default");
    let (code, reason, message) = failure(maps.list(&ListParams::default()).await);
    assert_eq!((code, reason.as_str()), (403, "Forbidden"));
    assert!(
        message.contains("User \"system:serviceaccount:default:reader\" cannot list resource \"configmaps\""),
        "{message}"
    );

    let roles: Api<Role> = t.api("default");
    let bindings: Api<RoleBinding> = t.api("default");
    create(&roles, json!({ "metadata": { "name": "r" }, "rules": [{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "create"] }, { "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"], "verbs": ["create"] }] })).await;
    create(&bindings, json!({ "metadata": { "name": "b" }, "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r" }, "subjects": [{ "kind": "ServiceAccount", "name": "reader", "namespace": "default" }] })).await;
    maps.list(&ListParams::default()).await.unwrap();
    create(&maps, json!({ "metadata": { "name": "a" } })).await;
    assert_eq!(failure(maps.delete("a", &DeleteParams::default()).await).0, 403);
    let elsewhere: Api<ConfigMap> = Api::namespaced(reader.clone(), "kube-system");
    assert_eq!(failure(elsewhere.list(&ListParams::default()).await).0, 403);
    let everywhere: Api<ConfigMap> = Api::all(reader.clone());
    assert_eq!(failure(everywhere.list(&ListParams::default()).await).0, 403);
    // nobody grants what they do not have
    let theirs: Api<Role> = Api::namespaced(reader.clone(), "default");
    let grab = serde_json::from_value(json!({ "metadata": { "name": "grab" }, "rules": [{ "apiGroups": [""], "resources": ["secrets"], "verbs": ["get"] }] })).unwrap();
    assert_eq!(failure(theirs.create(&PostParams::default(), &grab).await).0, 403);

    let cluster_roles: Api<ClusterRole> = Api::all(t.client.clone());
    let cluster_bindings: Api<ClusterRoleBinding> = Api::all(t.client.clone());
    create(&cluster_roles, json!({ "metadata": { "name": "cr" }, "rules": [{ "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["a"], "verbs": ["delete"] }, { "apiGroups": [""], "resources": ["configmaps"], "verbs": ["watch", "list"] }] })).await;
    create(&cluster_bindings, json!({ "metadata": { "name": "cb" }, "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cr" }, "subjects": [{ "kind": "Group", "name": "system:serviceaccounts:default", "apiGroup": "rbac.authorization.k8s.io" }] })).await;
    everywhere.list(&ListParams::default()).await.unwrap();
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    // the account's end is the token's end
    accounts.delete("reader", &DeleteParams::default()).await.unwrap();
    assert_eq!(failure(maps.list(&ListParams::default()).await).0, 401);
    t.cluster.stop().await;
}

#[tokio::test]
async fn quotas_and_limits_hold() {
    let t = Test::fake().await;
    t.namespace("small").await;
    let quotas: Api<ResourceQuota> = t.api("small");
    create(&quotas, json!({ "metadata": { "name": "q" }, "spec": { "hard": { "pods": "2", "requests.nvidia.com/gpu": "3", "requests.cpu": "2" } } })).await;
    let pods: Api<Pod> = t.api("small");
    let put = async |name: &str, gpus: u32, cpu: Option<&str>| {
        let mut value = gpu_pod(name, gpus, "");
        if let Some(cpu) = cpu {
            value["spec"]["containers"][0]["resources"]["requests"] =
                json!({ "cpu": cpu, "nvidia.com/gpu": gpus.to_string() });
        }
        pods.create(&PostParams::default(), &serde_json::from_value(value).unwrap()).await
    };
    assert!(failure(put("nocpu", 1, None).await).2.contains("must specify requests.cpu"));
    let limits: Api<LimitRange> = t.api("small");
    create(&limits, json!({ "metadata": { "name": "l" }, "spec": { "limits": [{ "type": "Container", "defaultRequest": { "cpu": "500m" }, "default": { "cpu": "1" }, "max": { "cpu": "2" } }] } })).await;
    let a = put("a", 2, None).await.unwrap();
    assert_eq!(
        a.spec.unwrap().containers[0].resources.as_ref().unwrap().requests.as_ref().unwrap()["cpu"].0,
        "500m"
    );
    assert!(failure(put("b", 2, None).await).2.contains("exceeded quota: q, requested: requests.nvidia.com/gpu=2, used: requests.nvidia.com/gpu=2, limited: requests.nvidia.com/gpu=3"));
    put("b", 1, None).await.unwrap();
    assert!(failure(put("c", 0, None).await).2.contains("pods=1"));
    t.cluster.stop().await;
}

#[tokio::test]
async fn pod_security_levels_hold() {
    let t = Test::fake().await;
    make_namespace(&t.client, "tight", json!({ "pod-security.kubernetes.io/enforce": "restricted" })).await;
    make_namespace(&t.client, "base", json!({ "pod-security.kubernetes.io/enforce": "baseline" })).await;
    let put = async |namespace: &str, extra: serde_json::Value| {
        let pods: Api<Pod> = t.api(namespace);
        pods.create(&PostParams::default(), &serde_json::from_value(pod("p", "pause:1", extra)).unwrap())
            .await
    };
    let (code, _, message) = failure(put("tight", json!({})).await);
    assert_eq!(code, 403);
    for part in [
        "allowPrivilegeEscalation != false",
        "unrestricted capabilities",
        "runAsNonRoot != true",
        "seccompProfile",
    ] {
        assert!(message.contains(part), "{message}");
    }
    let good = json!({
        "securityContext": { "runAsNonRoot": true, "seccompProfile": { "type": "RuntimeDefault" } },
        "containers": [{ "securityContext": { "allowPrivilegeEscalation": false, "capabilities": { "drop": ["ALL"] } } }],
    });
    put("tight", good).await.unwrap();
    assert!(failure(put("base", json!({ "hostNetwork": true })).await).2.contains("host namespaces"));
    let path = json!({ "volumes": [{ "name": "h", "hostPath": { "path": "/" } }] });
    assert!(failure(put("base", path).await).2.contains("hostPath"));
    put("base", json!({})).await.unwrap();
    t.cluster.stop().await;
}

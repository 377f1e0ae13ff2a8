//! Role-based access control and Pod Security.

use crate::support::*;
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use serde_json::json;

#[tokio::test]
async fn a_service_account_has_exactly_its_rights() {
    let t = Test::any().await;
    let accounts: Api<ServiceAccount> = t.api();
    create(&accounts, json!({ "metadata": { "name": "reader" } })).await;
    let request: TokenRequest = serde_json::from_value(json!({ "spec": { "audiences": [] } })).unwrap();
    let token = accounts.create_token_request("reader", &PostParams::default(), &request).await.unwrap();
    let reader = t.client_as(&token.status.unwrap().token).await;
    let maps: Api<ConfigMap> = Api::namespaced(reader.clone(), &t.namespace);
    let (code, reason, message) = failure(maps.list(&ListParams::default()).await);
    assert_eq!((code, reason.as_str()), (403, "Forbidden"));
    assert!(message.contains("reader\" cannot list resource \"configmaps\""), "{message}");

    let roles: Api<Role> = t.api();
    let bindings: Api<RoleBinding> = t.api();
    create(&roles, json!({ "metadata": { "name": "r" }, "rules": [{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "create"] }, { "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"], "verbs": ["create"] }] })).await;
    create(&bindings, json!({ "metadata": { "name": "b" }, "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r" }, "subjects": [{ "kind": "ServiceAccount", "name": "reader", "namespace": t.namespace }] })).await;
    until_allowed(async || maps.list(&ListParams::default()).await).await;
    create(&maps, json!({ "metadata": { "name": "a" } })).await;
    assert_eq!(failure(maps.delete("a", &DeleteParams::default()).await).0, 403);
    let elsewhere: Api<ConfigMap> = Api::namespaced(reader.clone(), "kube-system");
    assert_eq!(failure(elsewhere.list(&ListParams::default()).await).0, 403);
    let everywhere: Api<ConfigMap> = Api::all(reader.clone());
    assert_eq!(failure(everywhere.list(&ListParams::default()).await).0, 403);
    // privilege escalation is refused
    let theirs: Api<Role> = Api::namespaced(reader.clone(), &t.namespace);
    let grab = serde_json::from_value(json!({ "metadata": { "name": "grab" }, "rules": [{ "apiGroups": [""], "resources": ["secrets"], "verbs": ["get"] }] })).unwrap();
    assert_eq!(failure(theirs.create(&PostParams::default(), &grab).await).0, 403);

    let role = format!("conformance-{}", t.id);
    let cluster_roles: Api<ClusterRole> = Api::all(t.client.clone());
    let cluster_bindings: Api<ClusterRoleBinding> = Api::all(t.client.clone());
    create(&cluster_roles, json!({ "metadata": { "name": role }, "rules": [{ "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["a"], "verbs": ["delete"] }, { "apiGroups": [""], "resources": ["configmaps"], "verbs": ["watch", "list"] }] })).await;
    create(&cluster_bindings, json!({ "metadata": { "name": role }, "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role }, "subjects": [{ "kind": "Group", "name": format!("system:serviceaccounts:{}", t.namespace), "apiGroup": "rbac.authorization.k8s.io" }] })).await;
    until_allowed(async || everywhere.list(&ListParams::default()).await).await;
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    // the token becomes invalid with its account; a real API server caches tokens for ten seconds
    accounts.delete("reader", &DeleteParams::default()).await.unwrap();
    until_refused(401, async || maps.list(&ListParams::default()).await).await;
    cluster_bindings.delete(&role, &DeleteParams::default()).await.unwrap();
    cluster_roles.delete(&role, &DeleteParams::default()).await.unwrap();
    t.stop().await;
}

#[tokio::test]
async fn pod_security_levels_hold() {
    let t = Test::any().await;
    let tight =
        t.make_namespace("tight", json!({ "pod-security.kubernetes.io/enforce": "restricted" })).await;
    let base = t.make_namespace("base", json!({ "pod-security.kubernetes.io/enforce": "baseline" })).await;
    let put = async |namespace: &str, extra: serde_json::Value| {
        let pods: Api<Pod> = t.api_in(namespace);
        pods.create(&PostParams::default(), &serde_json::from_value(pod("p", "pause:1", extra)).unwrap())
            .await
    };
    let (code, _, message) = failure(put(&tight, json!({})).await);
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
    put(&tight, good).await.unwrap();
    assert!(failure(put(&base, json!({ "hostNetwork": true })).await).2.contains("host namespaces"));
    let path = json!({ "volumes": [{ "name": "h", "hostPath": { "path": "/" } }] });
    assert!(failure(put(&base, path).await).2.contains("hostPath"));
    put(&base, json!({})).await.unwrap();
    let namespaces: Api<Namespace> = Api::all(t.client.clone());
    for namespace in [&tight, &base] {
        namespaces.delete(namespace, &DeleteParams::default()).await.unwrap();
    }
    t.stop().await;
}

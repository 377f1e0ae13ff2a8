//! Finalizers, preconditions, owners, namespaces.

use crate::support::*;
use k8s_openapi::api::core::v1::{
    ConfigMap, Namespace, PersistentVolume, PersistentVolumeClaim, ServiceAccount,
};
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, Patch, PatchParams, Preconditions, PropagationPolicy};
use serde_json::json;

#[tokio::test]
async fn finalizers_hold_an_object() {
    let t = Test::fake().await;
    let api: Api<ConfigMap> = t.api("default");
    create(&api, json!({ "metadata": { "name": "a", "finalizers": ["x.dev/hold"] } })).await;
    assert!(api.delete("a", &DeleteParams::default()).await.unwrap().is_left());
    let held = api.get("a").await.unwrap();
    assert!(held.metadata.deletion_timestamp.is_some());
    let add = Patch::Merge(json!({ "metadata": { "finalizers": ["x.dev/hold", "x.dev/more"] } }));
    assert_eq!(failure(api.patch("a", &PatchParams::default(), &add).await).0, 422);
    api.patch("a", &PatchParams::default(), &Patch::Merge(json!({ "metadata": { "finalizers": null } })))
        .await
        .unwrap();
    assert!(api.get_opt("a").await.unwrap().is_none());

    let b = create(&api, json!({ "metadata": { "name": "b" } })).await;
    let wrong = DeleteParams::default()
        .preconditions(Preconditions { uid: Some("other".into()), resource_version: None });
    assert_eq!(failure(api.delete("b", &wrong).await).0, 409);
    let right =
        DeleteParams::default().preconditions(Preconditions { uid: b.uid(), resource_version: Some(rv(&b)) });
    api.delete("b", &right).await.unwrap();
    t.cluster.stop().await;
}

#[tokio::test]
async fn what_is_owned_goes_with_its_owner() {
    let t = Test::fake().await;
    let api: Api<ConfigMap> = t.api("default");
    let owned = |name: &str, owner: &ConfigMap| json!({ "metadata": { "name": name, "ownerReferences": [{ "apiVersion": "v1", "kind": "ConfigMap", "name": owner.name_any(), "uid": owner.uid(), "blockOwnerDeletion": true }] } });
    let owner = create(&api, json!({ "metadata": { "name": "owner" } })).await;
    let child = create(&api, owned("child", &owner)).await;
    create(&api, owned("grandchild", &child)).await;
    api.delete("owner", &DeleteParams::default()).await.unwrap();
    gone(&api, "grandchild").await;

    // foreground: the owner waits for its dependents
    let owner = create(&api, json!({ "metadata": { "name": "owner" } })).await;
    let mut held = owned("child", &owner);
    held["metadata"]["finalizers"] = json!(["x.dev/hold"]);
    create(&api, held).await;
    let foreground =
        DeleteParams { propagation_policy: Some(PropagationPolicy::Foreground), ..DeleteParams::default() };
    api.delete("owner", &foreground).await.unwrap();
    until(&api, "child", |c| c.metadata.deletion_timestamp.is_some()).await;
    assert!(api.get_opt("owner").await.unwrap().is_some());
    api.patch("child", &PatchParams::default(), &Patch::Merge(json!({ "metadata": { "finalizers": null } })))
        .await
        .unwrap();
    gone(&api, "owner").await;

    // orphans stay
    let owner = create(&api, json!({ "metadata": { "name": "owner" } })).await;
    create(&api, owned("left", &owner)).await;
    let orphan =
        DeleteParams { propagation_policy: Some(PropagationPolicy::Orphan), ..DeleteParams::default() };
    api.delete("owner", &orphan).await.unwrap();
    gone(&api, "owner").await;
    assert!(api.get("left").await.unwrap().owner_references().is_empty());

    // an owner that does not exist owns nothing for long
    let mut ghost = owner.clone();
    ghost.metadata.uid = Some("11111111-2222-3333-4444-555555555555".into());
    create(&api, owned("ghostly", &ghost)).await;
    gone(&api, "ghostly").await;
    t.cluster.stop().await;
}

#[tokio::test]
async fn a_namespace_takes_its_contents_along() {
    let t = Test::fake().await;
    t.namespace("n").await;
    let accounts: Api<ServiceAccount> = t.api("n");
    assert!(accounts.get_opt("default").await.unwrap().is_some());
    let pods = t.api("n");
    create(&pods, pod("p", "pause:1", json!({}))).await;
    until(&pods, "p", is_ready).await;
    let claims: Api<PersistentVolumeClaim> = t.api("n");
    create(&claims, json!({ "metadata": { "name": "c" }, "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } } })).await;
    let bound =
        until(&claims, "c", |c| c.status.as_ref().and_then(|s| s.phase.as_deref()) == Some("Bound")).await;
    let all: Api<Namespace> = Api::all(t.client.clone());
    all.delete("n", &DeleteParams::default()).await.unwrap();
    gone(&all, "n").await;
    let volumes: Api<PersistentVolume> = Api::all(t.client.clone());
    gone(&volumes, &bound.spec.unwrap().volume_name.unwrap()).await;
    t.namespace("n").await;
    assert_eq!(failure(all.delete("default", &DeleteParams::default()).await).0, 403);
    t.cluster.stop().await;
}

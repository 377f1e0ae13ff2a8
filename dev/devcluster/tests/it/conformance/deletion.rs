//! Finalizers, preconditions and owners.

use crate::support::*;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, Patch, PatchParams, Preconditions, PropagationPolicy};
use serde_json::json;

#[tokio::test]
async fn finalizers_keep_an_object() {
    let t = Test::any().await;
    let api: Api<ConfigMap> = t.api();
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
    t.stop().await;
}

#[tokio::test]
async fn dependents_are_deleted_with_their_owner() {
    let t = Test::any().await;
    let api: Api<ConfigMap> = t.api();
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

    // orphaned dependents stay
    let owner = create(&api, json!({ "metadata": { "name": "owner" } })).await;
    create(&api, owned("left", &owner)).await;
    let orphan =
        DeleteParams { propagation_policy: Some(PropagationPolicy::Orphan), ..DeleteParams::default() };
    api.delete("owner", &orphan).await.unwrap();
    gone(&api, "owner").await;
    assert!(api.get("left").await.unwrap().owner_references().is_empty());

    // objects of an owner that does not exist are collected
    let mut ghost = owner.clone();
    ghost.metadata.uid = Some("11111111-2222-3333-4444-555555555555".into());
    create(&api, owned("ghostly", &ghost)).await;
    gone(&api, "ghostly").await;
    t.stop().await;
}

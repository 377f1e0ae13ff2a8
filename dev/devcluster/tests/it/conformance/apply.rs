//! Server-side apply: ownership, conflicts, removal, keyed lists, status.

use crate::support::*;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::ResourceExt;
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};

async fn apply(api: &Api<ConfigMap>, manager: &str, force: bool, data: Value) -> kube::Result<ConfigMap> {
    let mut params = PatchParams::apply(manager);
    params.force = force;
    let value = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "c" }, "data": data });
    api.patch("c", &params, &Patch::Apply(value)).await
}

#[tokio::test]
async fn fields_have_owners() {
    let t = Test::any().await;
    let api: Api<ConfigMap> = t.api();
    let made = apply(&api, "one", false, json!({ "a": "1", "b": "1" })).await.unwrap();
    // the same apply again writes nothing
    let again = apply(&api, "one", false, json!({ "a": "1", "b": "1" })).await.unwrap();
    assert_eq!(rv(&made), rv(&again));

    apply(&api, "two", false, json!({ "c": "2" })).await.unwrap();
    let (code, _, message) = failure(apply(&api, "two", false, json!({ "a": "2", "c": "2" })).await);
    assert_eq!(code, 409);
    assert!(message.contains("conflict with \"one\"") && message.contains(".data.a"), "{message}");
    // the same value is shared without a conflict
    apply(&api, "two", false, json!({ "a": "1", "c": "2" })).await.unwrap();
    apply(&api, "two", true, json!({ "a": "2", "c": "2" })).await.unwrap();
    let (code, _, _) = failure(apply(&api, "one", false, json!({ "a": "1", "b": "1" })).await);
    assert_eq!(code, 409);

    // a field that is no longer applied is removed if it has no other owner
    let now = apply(&api, "one", false, json!({ "b": "1" })).await.unwrap();
    assert_eq!(now.data.unwrap()["a"], "2");
    let now = apply(&api, "two", false, json!({ "c": "2" })).await.unwrap();
    assert_eq!(now.data.unwrap().keys().collect::<Vec<_>>(), ["b", "c"]);
    let managers: Vec<String> =
        now.metadata.managed_fields.unwrap().into_iter().filter_map(|m| m.manager).collect();
    assert_eq!(managers, ["one", "two"]);

    // an update owns what it changes
    api.patch(
        "c",
        &PatchParams { field_manager: Some("hand".into()), ..PatchParams::default() },
        &Patch::Merge(json!({ "data": { "b": "9" } })),
    )
    .await
    .unwrap();
    let (code, _, message) = failure(apply(&api, "one", false, json!({ "b": "1" })).await);
    assert!(code == 409 && message.contains("\"hand\" using v1"), "{message}");
    t.stop().await;
}

#[tokio::test]
async fn keyed_lists_merge_by_key() {
    let t = Test::any().await;
    let api: Api<Pod> = t.pods();
    let config = |env: Value| {
        json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "p", "annotations": { "a": "1" } },
            "spec": { "schedulerName": "nobody", "containers": [{ "name": "main", "image": "pause:1", "env": env }] },
        })
    };
    let params = PatchParams::apply("one");
    let p =
        api.patch("p", &params, &Patch::Apply(config(json!([{ "name": "A", "value": "1" }])))).await.unwrap();
    let again =
        api.patch("p", &params, &Patch::Apply(config(json!([{ "name": "A", "value": "1" }])))).await.unwrap();
    assert_eq!(rv(&p), rv(&again));
    let labels =
        json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "p", "labels": { "x": "y" } } });
    let p = api.patch("p", &PatchParams::apply("two"), &Patch::Apply(labels)).await.unwrap();
    assert_eq!(p.labels()["x"], "y");
    assert_eq!(p.annotations()["a"], "1");
    let refused =
        api.patch("p", &params, &Patch::Apply(config(json!([{ "name": "B", "value": "1" }])))).await;
    assert_eq!(failure(refused).0, 422);

    // the status is applied separately
    let status = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "p" }, "status": { "nominatedNodeName": "f1", "conditions": [{ "type": "Mine", "status": "True" }] } });
    let p = api.patch_status("p", &PatchParams::apply("operator"), &Patch::Apply(status)).await.unwrap();
    assert_eq!(p.status.as_ref().unwrap().nominated_node_name.as_deref(), Some("f1"));
    let status = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "p" }, "status": {} });
    let p = api.patch_status("p", &PatchParams::apply("operator"), &Patch::Apply(status)).await.unwrap();
    assert_eq!(p.status.unwrap().nominated_node_name, None);

    // a pod that is bound to a node cannot be nominated for one
    let bound = json!({ "metadata": { "name": "q" }, "spec": { "nodeName": "nowhere", "containers": [{ "name": "main", "image": "pause:1" }] } });
    create(&api, bound).await;
    let status = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "q" }, "status": { "nominatedNodeName": "f1" } });
    let (code, _, message) =
        failure(api.patch_status("q", &PatchParams::apply("operator"), &Patch::Apply(status)).await);
    assert!(code == 422 && message.contains("already bound to a node"), "{message}");
    t.stop().await;
}

//! Runtime classes, and what pods take over from them.

use crate::support::*;
use k8s_openapi::api::node::v1::RuntimeClass;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

/// A class of the test alone, which is deleted with it.
async fn class(t: &Test, extra: Value) -> (Api<RuntimeClass>, String) {
    let name = format!("rc-{}", t.id);
    let classes: Api<RuntimeClass> = Api::all(t.client.clone());
    let mut value = json!({ "metadata": { "name": name }, "handler": "runc" });
    value.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    create(&classes, value).await;
    (classes, name)
}

#[tokio::test]
async fn a_pod_takes_over_overhead_selector_and_tolerations_of_its_class() {
    let t = Test::any().await;
    let toleration = json!({ "key": "sandbox", "operator": "Exists", "effect": "NoSchedule" });
    let scheduling = json!({ "nodeSelector": { "sandbox": "yes" }, "tolerations": [toleration] });
    let overhead = json!({ "podFixed": { "cpu": "250m", "memory": "64Mi" } });
    let (classes, name) = class(&t, json!({ "overhead": overhead, "scheduling": scheduling })).await;
    let of_class = |pod_name: &str, extra: Value| {
        let mut value = pod(pod_name, "sh:1", extra);
        value["spec"]["runtimeClassName"] = json!(name);
        value["spec"]["automountServiceAccountToken"] = json!(false);
        serde_json::from_value(value).unwrap()
    };
    let put = async |pod| t.pods().create(&PostParams::default(), &pod).await;
    let made =
        until_allowed(async || put(of_class("taken", json!({ "nodeSelector": { "zone": "a" } }))).await)
            .await;
    let spec = made.spec.unwrap();
    let amounts = spec.overhead.unwrap();
    assert_eq!((amounts["cpu"].0.as_str(), amounts["memory"].0.as_str()), ("250m", "64Mi"));
    let selector = spec.node_selector.unwrap();
    assert_eq!((selector["zone"].as_str(), selector["sandbox"].as_str()), ("a", "yes"));
    assert!(spec.tolerations.unwrap().iter().any(|one| one.key.as_deref() == Some("sandbox")));
    let same = put(of_class("same", json!({ "overhead": { "cpu": "0.25", "memory": "64Mi" } }))).await;
    assert!(same.is_ok(), "{same:?}");
    let other =
        failure(put(of_class("other", json!({ "overhead": { "cpu": "1", "memory": "64Mi" } }))).await);
    assert!(other.0 == 403 && other.2.contains("Pod's Overhead doesn't match RuntimeClass's"), "{other:?}");
    let conflict = failure(put(of_class("conflict", json!({ "nodeSelector": { "sandbox": "no" } }))).await);
    assert!(
        conflict.0 == 403 && conflict.2.contains("conflict: runtimeClass.scheduling.nodeSelector"),
        "{conflict:?}"
    );
    classes.delete(&name, &DeleteParams::default()).await.unwrap();
    t.stop().await;
}

#[tokio::test]
async fn a_pod_of_a_class_that_does_not_exist_is_refused() {
    let t = Test::any().await;
    let put = async |extra: Value| {
        let value = serde_json::from_value(pod("p", "sh:1", extra)).unwrap();
        t.pods().create(&PostParams::default(), &value).await
    };
    let missing = async || put(json!({ "runtimeClassName": "no-such-class" })).await;
    let missing = failure(missing().await);
    assert_eq!(missing.0, 403);
    assert!(missing.2.contains("pod rejected: RuntimeClass \"no-such-class\" not found"), "{missing:?}");
    let alone = failure(put(json!({ "overhead": { "cpu": "1m" } })).await);
    assert!(
        alone.0 == 403 && alone.2.contains("Pod Overhead set without corresponding RuntimeClass"),
        "{alone:?}"
    );
    t.stop().await;
}

#[tokio::test]
async fn the_handler_of_a_class_is_a_label_and_immutable() {
    let t = Test::any().await;
    let (classes, name) = class(&t, json!({})).await;
    let patch = Patch::Merge(json!({ "handler": "runsc" }));
    let changed = failure(classes.patch(&name, &PatchParams::default(), &patch).await);
    assert!(changed.0 == 422 && changed.2.contains("field is immutable"), "{changed:?}");
    classes.delete(&name, &DeleteParams::default()).await.unwrap();
    let invalid = json!({ "metadata": { "name": name }, "handler": "Run_SC" });
    let invalid =
        failure(classes.create(&PostParams::default(), &serde_json::from_value(invalid).unwrap()).await);
    assert!(invalid.0 == 422 && invalid.2.contains("RFC 1123 label"), "{invalid:?}");
    t.stop().await;
}

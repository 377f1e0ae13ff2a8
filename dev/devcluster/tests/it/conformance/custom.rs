//! CustomResourceDefinitions: validation, pruning, defaults, CEL, subresources, versions.

use crate::support::*;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

fn definition(group: &str) -> Value {
    json!({
        "metadata": { "name": format!("boxes.{group}") },
        "spec": {
            "group": group, "scope": "Cluster",
            "names": { "kind": "Box", "plural": "boxes", "shortNames": ["bx"] },
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
                "additionalPrinterColumns": [{ "name": "Size", "type": "integer", "jsonPath": ".spec.size" }],
                "schema": { "openAPIV3Schema": {
                    "type": "object",
                    "properties": {
                        "spec": {
                            "type": "object", "required": ["size"],
                            "x-kubernetes-validations": [
                                { "rule": "self.size >= oldSelf.size", "message": "a box only grows" },
                                { "rule": "!has(self.lid) || self.lid.startsWith('l')", "messageExpression": "'no lid: ' + self.lid" },
                                { "rule": "self.sides.all(s, s.cost <= 10)" },
                            ],
                            "properties": {
                                "size": { "type": "integer", "minimum": 1, "maximum": 10 },
                                "colour": { "type": "string", "enum": ["red", "blue"], "default": "red" },
                                "lid": { "type": "string", "pattern": "^[a-z]+$" },
                                "sides": {
                                    "type": "array", "default": [], "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                                    "items": { "type": "object", "required": ["name"], "properties": { "name": { "type": "string" }, "cost": { "type": "integer", "default": 1 } } },
                                },
                                "free": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
                                "port": { "x-kubernetes-int-or-string": true },
                            },
                        },
                        "status": { "type": "object", "properties": { "state": { "type": "string" } } },
                    },
                } },
            }],
        },
    })
}

fn is_established(definition: &CustomResourceDefinition) -> bool {
    let conditions = definition.status.as_ref().and_then(|s| s.conditions.as_ref());
    conditions.is_some_and(|all| all.iter().any(|c| c.type_ == "Established" && c.status == "True"))
}

/// The API group of a test.
fn group(t: &Test) -> String {
    format!("{}.x.dev", t.id)
}

async fn boxes(t: &Test) -> Api<kube::api::DynamicObject> {
    let definitions: Api<CustomResourceDefinition> = Api::all(t.client.clone());
    let made = create(&definitions, definition(&group(t))).await;
    until(&definitions, &made.name_any(), is_established).await;
    dynamic(&t.client, &group(t), "Box", "boxes")
}

fn a_box(t: &Test, name: &str, spec: impl Into<Value>) -> Value {
    let spec: Value = spec.into();
    json!({ "apiVersion": format!("{}/v1", group(t)), "kind": "Box", "metadata": { "name": name }, "spec": spec })
}

/// Removes the definition of the test, which a real cluster would keep.
async fn remove(t: &Test) {
    let definitions: Api<CustomResourceDefinition> = Api::all(t.client.clone());
    definitions.delete(&format!("boxes.{}", group(t)), &DeleteParams::default()).await.ok();
}

#[tokio::test]
async fn schemas_are_enforced() {
    let t = Test::any().await;
    let api = boxes(&t).await;
    let b = create(&api, a_box(&t, "a", json!({ "size": 3, "junk": 1, "sides": [{ "name": "n" }], "free": { "any": [1] }, "port": "http" }))).await;
    assert_eq!(
        b.data["spec"],
        json!({ "size": 3, "sides": [{ "name": "n", "cost": 1 }], "free": { "any": [1] }, "port": "http", "colour": "red" })
    );
    for (spec, text) in [
        (json!({}), "spec.size: Required value"),
        (json!({ "size": 0 }), "should be greater than or equal to 1"),
        (json!({ "size": 11 }), "should be less than or equal to 10"),
        (json!({ "size": "3" }), "must be of type integer"),
        (json!({ "size": 3, "colour": "green" }), "Unsupported value"),
        (json!({ "size": 3, "lid": "L" }), "should match"),
        (json!({ "size": 3, "lid": "x" }), "no lid: x"),
        (json!({ "size": 3, "sides": [{ "name": "n" }, { "name": "n" }] }), "Duplicate value"),
        (json!({ "size": 3, "sides": [{ "name": "n", "cost": 11 }] }), "failed rule"),
        (json!({ "size": 3, "port": [] }), "must be of type integer,string"),
    ] {
        let result = api
            .create(&PostParams::default(), &serde_json::from_value(a_box(&t, "bad", spec.clone())).unwrap())
            .await;
        let (code, reason, message) = failure(result);
        assert!(code == 422 && reason == "Invalid" && message.contains(text), "{spec}: {message}");
    }
    let shrink =
        api.patch("a", &PatchParams::default(), &Patch::Merge(json!({ "spec": { "size": 2 } }))).await;
    assert!(failure(shrink).2.contains("a box only grows"));
    let strict = format!("/apis/{}/v1/boxes?fieldValidation=Strict", group(&t));
    let body = a_box(&t, "s", json!({ "size": 3, "junk": 1 })).to_string();
    assert_eq!(t.send("POST", &strict, &[("content-type", "application/json")], body).await.0, 400);
    let strategic =
        api.patch("a", &PatchParams::default(), &Patch::Strategic(json!({ "spec": { "size": 5 } }))).await;
    assert_eq!(failure(strategic).0, 415);
    remove(&t).await;
    t.stop().await;
}

#[tokio::test]
async fn the_status_subresource_changes_only_the_status() {
    let t = Test::any().await;
    let api = boxes(&t).await;
    let mut with_status = a_box(&t, "a", json!({ "size": 3 }));
    with_status["status"] = json!({ "state": "mine" });
    let b = create(&api, with_status).await;
    assert!(b.data["status"].is_null());
    assert_eq!(b.metadata.generation, Some(1));
    let b = api
        .patch_status(
            "a",
            &PatchParams::default(),
            &Patch::Merge(json!({ "status": { "state": "x" }, "spec": { "size": 9 } })),
        )
        .await
        .unwrap();
    assert_eq!(
        (&b.data["status"]["state"], &b.data["spec"]["size"], b.metadata.generation),
        (&json!("x"), &json!(3), Some(1))
    );
    let b = api
        .patch(
            "a",
            &PatchParams::default(),
            &Patch::Merge(json!({ "status": { "state": "y" }, "spec": { "size": 4 } })),
        )
        .await
        .unwrap();
    assert_eq!(
        (&b.data["status"]["state"], &b.data["spec"]["size"], b.metadata.generation),
        (&json!("x"), &json!(4), Some(2))
    );
    let b = api
        .patch("a", &PatchParams::default(), &Patch::Merge(json!({ "metadata": { "labels": { "a": "b" } } })))
        .await
        .unwrap();
    assert_eq!(b.metadata.generation, Some(2));
    let mut old = b.clone();
    old.metadata.resource_version = None;
    assert_eq!(failure(api.replace("a", &PostParams::default(), &old).await).0, 422);
    remove(&t).await;
    t.stop().await;
}

#[tokio::test]
async fn managers_share_custom_objects() {
    let t = Test::any().await;
    let api = boxes(&t).await;
    let apply = async |manager: &str, spec: Value| {
        api.patch("a", &PatchParams::apply(manager), &Patch::Apply(a_box(&t, "a", spec))).await
    };
    apply("one", json!({ "size": 3, "sides": [{ "name": "n", "cost": 2 }] })).await.unwrap();
    let b = apply("two", json!({ "sides": [{ "name": "s", "cost": 3 }] })).await.unwrap();
    assert_eq!(b.data["spec"]["sides"].as_array().unwrap().len(), 2);
    // defaults have no manager
    apply("two", json!({ "colour": "blue", "sides": [{ "name": "s", "cost": 3 }] })).await.unwrap();
    let (code, _, message) = failure(apply("two", json!({ "sides": [{ "name": "n", "cost": 3 }] })).await);
    assert!(code == 409 && message.contains(".spec.sides[name=\"n\"].cost"), "{message}");
    let b = apply("two", json!({})).await.unwrap();
    assert_eq!(b.data["spec"]["sides"], json!([{ "name": "n", "cost": 2 }]));
    assert_eq!(b.data["spec"]["colour"], "red");
    remove(&t).await;
    t.stop().await;
}

#[tokio::test]
async fn definitions_are_served_and_removed() {
    let t = Test::any().await;
    let definitions: Api<CustomResourceDefinition> = Api::all(t.client.clone());
    for (pointer, value, text) in [
        ("/metadata/name", json!("other.x.dev"), "spec.names.plural"),
        (
            "/spec/versions/0/schema/openAPIV3Schema/properties/spec/x-kubernetes-validations/0/rule",
            json!("self.size >"),
            "compilation failed",
        ),
        (
            "/spec/versions/0/schema/openAPIV3Schema/properties/spec/x-kubernetes-validations/0/rule",
            json!("nothing(self.lid)"),
            "undeclared reference",
        ),
        (
            "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/size/type",
            json!("int"),
            "Unsupported value",
        ),
        ("/spec/versions/0/storage", json!(false), "storage version"),
    ] {
        let mut bad = definition(&group(&t));
        *bad.pointer_mut(pointer).unwrap() = value;
        let result = definitions.create(&PostParams::default(), &serde_json::from_value(bad).unwrap()).await;
        let (code, _, message) = failure(result);
        assert!(code == 422 && message.contains(text), "{pointer}: {message}");
    }
    let name = format!("boxes.{}", group(&t));
    let api = boxes(&t).await;
    create(&api, a_box(&t, "a", json!({ "size": 3 }))).await;
    let accept = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
    let (_, _, table) = t.send("GET", &format!("/apis/{}/v1/boxes", group(&t)), &accept, String::new()).await;
    assert_eq!(table["rows"][0]["cells"], json!(["a", 3]));
    let found = kube::discovery::group(&t.client, &group(&t)).await.unwrap();
    assert_eq!(found.recommended_kind("Box").unwrap().0.plural, "boxes");
    definitions.delete(&name, &DeleteParams::default()).await.unwrap();
    gone(&definitions, &name).await;
    assert_eq!(failure(api.list(&kube::api::ListParams::default()).await).0, 404);
    assert!(boxes(&t).await.get_opt("a").await.unwrap().is_none());
    remove(&t).await;
    t.stop().await;
}

#[tokio::test]
async fn a_metadata_change_passes_transition_rules() {
    let t = Test::any().await;
    let api = boxes(&t).await;
    create(&api, a_box(&t, "a", json!({ "size": 3 }))).await;
    let b = api
        .patch(
            "a",
            &PatchParams::default(),
            &Patch::Merge(json!({ "metadata": { "annotations": { "k": "v" } } })),
        )
        .await
        .unwrap();
    assert_eq!(b.annotations()["k"], "v");
    remove(&t).await;
    t.stop().await;
}

#[tokio::test]
async fn the_definitions_of_atelier_are_served() {
    let t = Test::any().await;
    let definitions: Api<CustomResourceDefinition> = Api::all(t.client.clone());
    for definition in crds::definitions() {
        let name = definition.name_any();
        let apply = async || {
            definitions.patch(&name, &PatchParams::apply("test"), &Patch::Apply(&definition)).await.unwrap()
        };
        apply().await;
        let made = until(&definitions, &name, is_established).await;
        // the operator applies them at every start: no write without a change
        assert_eq!(rv(&apply().await), rv(&made));
    }
    remove(&t).await;
    t.stop().await;
}

//! The operator with exactly the permissions of `deploy/rbac`.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use crds::names;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind, TypeMeta};
use kube::discovery;
use kube::{Api, ResourceExt as _};
use serde::Deserialize as _;
use serde_json::json;

use crate::lab::{Answer, Lab, Request};

/// The requests for kinds that only units with claimed devices need.
type Asked = Arc<Mutex<Vec<String>>>;

/// Applies every document of a manifest.
async fn apply(lab: &Lab, manifest: &str) {
    for document in serde_yaml_ng::Deserializer::from_str(manifest) {
        let value = serde_json::Value::deserialize(document).unwrap();
        if value.is_null() {
            continue;
        }
        let object: DynamicObject = serde_json::from_value(value).unwrap();
        let TypeMeta { api_version, kind } = object.types.clone().unwrap();
        let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
        let (resource, _): (ApiResource, _) =
            discovery::pinned_kind(&lab.client, &GroupVersionKind::gvk(group, version, &kind)).await.unwrap();
        let api: Api<DynamicObject> = match object.namespace() {
            Some(namespace) => Api::namespaced_with(lab.client.clone(), &namespace, &resource),
            None => Api::all_with(lab.client.clone(), &resource),
        };
        api.patch(&object.name_any(), &PatchParams::apply("test").force(), &Patch::Apply(&object))
            .await
            .unwrap();
    }
}

const BASE: &str = include_str!("../../../../deploy/rbac/base.yaml");
const OPERATOR: &str = include_str!("../../../../deploy/rbac/operator.yaml");
const OPERATOR_DRA: &str = include_str!("../../../../deploy/rbac/operator-dra.yaml");

/// A token of the operator's account.
async fn token(lab: &Lab) -> String {
    let accounts: Api<ServiceAccount> = Api::namespaced(lab.client.clone(), "atelier-system");
    let request = TokenRequest {
        spec: TokenRequestSpec { audiences: vec![], ..TokenRequestSpec::default() },
        ..TokenRequest::default()
    };
    let token =
        accounts.create_token_request("atelier-operator", &PostParams::default(), &request).await.unwrap();
    token.status.unwrap().token
}

#[tokio::test(flavor = "multi_thread")]
async fn the_permissions_of_the_manifest_suffice() {
    let lab = Lab::new(1, 2).await;
    apply(&lab, BASE).await;
    apply(&lab, OPERATOR).await;
    let mut operator = lab.operator_as("one", None, Some(token(&lab).await)).await;
    operator.leads().await;
    lab.create_units(1).await;
    lab.held(0).await;
    lab.set_instance(0, Some(lab.instance(0, 1))).await;
    lab.running(0, 1).await;
    lab.patch(0, &json!({"spec": {"instance": {"restart": 1}}})).await;
    lab.until(0, "restarted", |status| {
        status.instance.as_ref().is_some_and(|own| own.restart == 1 && own.running_since.is_some())
    })
    .await;
    lab.set_instance(0, None).await;
    lab.held(0).await;
    lab.end(operator, 1).await;
}

/// What the operator may not read, it does not watch: it asks once, and again after longer and longer pauses.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_operator_may_not_read_is_not_watched() {
    let lab = Lab::new(1, 1).await;
    let roles: Api<ClusterRole> = Api::all(lab.client.clone());
    roles.delete("atelier-operator-dra", &DeleteParams::default()).await.ok();
    apply(&lab, BASE).await;
    apply(&lab, OPERATOR).await;
    let asked: Asked = Asked::default();
    let seen = Arc::clone(&asked);
    let counts: Answer = Arc::new(move |request: &Request| {
        let path = request.uri().path();
        if ["resourceclaims", "persistentvolumes"].iter().any(|kind| path.ends_with(kind)) {
            let query = request.uri().query().unwrap_or_default();
            seen.lock().unwrap().push(format!("{path}?{query}"));
        }
        None
    });
    let mut operator = lab.operator_behind_as("one", counts, token(&lab).await).await;
    operator.leads().await;
    let begun = operator.counts.renewals.load(Ordering::SeqCst);
    // longer than the pause after the first refusal
    testkit::eventually("time has passed", async || {
        (operator.counts.renewals.load(Ordering::SeqCst) >= begun + 12).then_some(())
    })
    .await;
    let asked = asked.lock().unwrap().clone();
    assert!(asked.len() <= 4 && asked.iter().all(|request| request.contains("limit=1")), "{asked:#?}");
    lab.end(operator, 0).await;
}

/// Without the permissions for claims, only units that need them wait, and report why.
#[tokio::test(flavor = "multi_thread")]
async fn the_permissions_for_claimed_devices_suffice_and_can_be_added_later() {
    let lab = Lab::with_devices(1, 1).await;
    let roles: Api<ClusterRole> = Api::all(lab.client.clone());
    roles.delete("atelier-operator-dra", &DeleteParams::default()).await.ok();
    apply(&lab, BASE).await;
    apply(&lab, OPERATOR).await;
    let mut operator = lab.operator_as("one", None, Some(token(&lab).await)).await;
    operator.leads().await;
    lab.create_dra_units(1).await;
    let unsupported = |status: &crds::GpuUnitStatus| {
        status.condition(names::CONDITION_HELD).is_some_and(|held| {
            held.reason == "UnsupportedAllocation" && held.message.contains("operator-dra.yaml")
        })
    };
    lab.until(0, "reported the missing permission", unsupported).await;

    apply(&lab, OPERATOR_DRA).await;
    lab.held_with_devices(0).await;
    let storage = lab.create_storage(0).await;
    let mut instance = lab.instance(0, 1);
    instance["volumes"] = json!([{"name": "data", "mountPath": "/data", "storage": storage}]);
    lab.set_instance(0, Some(instance)).await;
    lab.running(0, 1).await;
    lab.set_instance(0, None).await;
    lab.held_with_devices(0).await;
    lab.end_devices(operator, 1).await;
}

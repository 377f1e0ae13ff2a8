//! System objects: the namespace, the priority classes, and the custom resource definitions.

use crds::names;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};

/// Priority of fresh placeholders: below the default of 0.
const PRIORITY_PLACEHOLDER: i32 = -1000;
/// Priority of the pods that take over a place of their unit: above that of any other pod that waits.
const PRIORITY_INSTANCE: i32 = 1_000_000;

/// The priority classes. None preempts.
fn priority_classes() -> Vec<Value> {
    let class = |name: &str, value: i32, description: &str| {
        json!({
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": {"name": name, "labels": {"app.kubernetes.io/managed-by": names::MANAGER_OPERATOR}},
            "value": value, "preemptionPolicy": "Never", "globalDefault": false, "description": description,
        })
    };
    vec![
        class(names::CLASS_PLACEHOLDER, PRIORITY_PLACEHOLDER, "Holds the place of an idle GPU unit."),
        class(
            names::CLASS_INSTANCE,
            PRIORITY_INSTANCE,
            "Instances of tenants, and placeholders that take a place back.",
        ),
    ]
}

/// Creates the system objects that are missing or differ. Writes nothing otherwise.
pub(crate) async fn ensure(client: &Client) -> Result<(), kube::Error> {
    let params = PatchParams::apply(names::MANAGER_OPERATOR).force();
    let namespaces: Api<Namespace> = Api::all(client.clone());
    if namespaces.get_opt(names::SYSTEM_NAMESPACE).await?.is_none() {
        let body = json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": names::SYSTEM_NAMESPACE, "labels": {"app.kubernetes.io/managed-by": names::MANAGER_OPERATOR}},
        });
        namespaces.patch(names::SYSTEM_NAMESPACE, &params, &Patch::Apply(&body)).await?;
    }
    let classes: Api<PriorityClass> = Api::all(client.clone());
    for body in priority_classes() {
        let name = body["metadata"]["name"].as_str().unwrap_or_default();
        let found = classes.get_opt(name).await?;
        let is_same = found.is_some_and(|found| {
            Some(i64::from(found.value)) == body["value"].as_i64()
                && found.preemption_policy.as_deref() == Some("Never")
        });
        if !is_same {
            classes.patch(name, &params, &Patch::Apply(&body)).await?;
        }
    }
    Ok(())
}

/// Installs or updates the custom resource definitions and the system objects, and waits until the cluster serves the
/// definitions. For development clusters and `atelier-operator install`; the operator itself has no permission for it.
///
/// # Errors
/// If the cluster rejects an object, or does not serve the definitions within a minute.
pub async fn install(client: &Client) -> anyhow::Result<()> {
    let params = PatchParams::apply(names::MANAGER_OPERATOR).force();
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    for definition in crds::definitions() {
        let mut body = serde_json::to_value(&definition)?;
        body["apiVersion"] = json!("apiextensions.k8s.io/v1");
        body["kind"] = json!("CustomResourceDefinition");
        api.patch(&definition.name_any(), &params, &Patch::Apply(&body)).await?;
    }
    for definition in crds::definitions() {
        let name = definition.name_any();
        let served = kube::runtime::wait::await_condition(
            api.clone(),
            &name,
            kube::runtime::conditions::is_crd_established(),
        );
        tokio::time::timeout(std::time::Duration::from_secs(60), served).await??;
    }
    ensure(client).await?;
    Ok(())
}

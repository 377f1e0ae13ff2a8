//! The service with exactly the permissions of `deploy/rbac`.

use crds::ClusterConfig;
use k8s_openapi::api::{
    authentication::v1::{TokenRequest, TokenRequestSpec},
    core::v1::{Secret, ServiceAccount},
};
use kube::{
    Api, ResourceExt,
    api::{DynamicObject, ListParams, Patch, PatchParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
    core::{ApiResource, GroupVersionKind, TypeMeta},
    discovery,
};
use serde::Deserialize;
use serde_json::json;

use crate::harness::{CLUSTER, Fixture, Replica, Setup};

const BASE: &str = include_str!("../../../../deploy/rbac/base.yaml");
const GPU: &str = include_str!("../../../../deploy/rbac/gpu.yaml");

/// Applies every document of a manifest.
async fn apply(kube: &kube::Client, manifest: &str) {
    for document in serde_yaml_ng::Deserializer::from_str(manifest) {
        let value = serde_json::Value::deserialize(document).unwrap();
        if value.is_null() {
            continue;
        }
        let object: DynamicObject = serde_json::from_value(value).unwrap();
        let TypeMeta { api_version, kind } = object.types.clone().unwrap();
        let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
        let kind = GroupVersionKind::gvk(group, version, &kind);
        let (resource, _): (ApiResource, _) = discovery::pinned_kind(kube, &kind).await.unwrap();
        let api: Api<DynamicObject> = match object.namespace() {
            Some(namespace) => Api::namespaced_with(kube.clone(), &namespace, &resource),
            None => Api::all_with(kube.clone(), &resource),
        };
        let params = PatchParams::apply("test").force();
        api.patch(&object.name_any(), &params, &Patch::Apply(&object)).await.unwrap();
    }
}

/// The kubeconfig of the cluster, with the service's account.
async fn kubeconfig_of_the_service(fixture: &Fixture) -> Kubeconfig {
    let accounts: Api<ServiceAccount> = Api::namespaced(fixture.kube.clone(), "atelier-system");
    let spec = TokenRequestSpec { audiences: vec![], ..TokenRequestSpec::default() };
    let request = TokenRequest { spec, ..TokenRequest::default() };
    let answer =
        accounts.create_token_request("atelier-gpu", &PostParams::default(), &request).await.unwrap();
    let own = fixture.config.clusters[CLUSTER].kubeconfig.clone().unwrap();
    let mut config = Kubeconfig::read_from(own).unwrap();
    for user in &mut config.auth_infos {
        let token = Some(answer.status.clone().unwrap().token.into());
        user.auth_info = Some(kube::config::AuthInfo { token, ..kube::config::AuthInfo::default() });
    }
    config
}

#[tokio::test(flavor = "multi_thread")]
async fn the_permissions_of_the_manifest_suffice_for_secrets_and_read_none() {
    let fixture = Fixture::with(Setup { workers: false, ..Setup::default() }).await;
    apply(&fixture.kube, BASE).await;
    apply(&fixture.kube, GPU).await;
    let kubeconfig = kubeconfig_of_the_service(&fixture).await;
    let options = KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig.clone(), &options).await.unwrap();
    let service = kube::Client::try_from(config).unwrap();
    let file = fixture.folder().join("kubeconfig-of-the-service");
    std::fs::write(&file, serde_yaml_ng::to_string(&kubeconfig).unwrap()).unwrap();
    let mut config = fixture.config.clone();
    config.clusters.insert(CLUSTER.into(), ClusterConfig { kubeconfig: Some(file), context: None });
    let replica = Replica::start(&config, true).await;

    let mut order = Fixture::order();
    order["secrets"] = json!([{ "name": "TOKEN", "value": "hunter2" }]);
    let id = fixture.ordered(order).await;
    fixture.brought_up(id).await;
    assert_eq!(fixture.secret_names().await, [format!("{}-1", id.k8s_name())]);
    let secrets: Api<Secret> = Api::namespaced(service, &fixture.tenant.k8s_name());
    let denied = [
        secrets.get(&format!("{}-1", id.k8s_name())).await.map(drop),
        secrets.list(&ListParams::default()).await.map(drop),
    ];
    for answer in denied {
        assert!(matches!(&answer, Err(kube::Error::Api(status)) if status.code == 403), "{answer:?}");
    }
    let unit = fixture.unit_of(id).await;
    fixture.act(id, "stop").await;
    fixture.emptied(&unit).await;
    fixture.operator.ended(&unit, 160).await;
    fixture.in_state(id, "stopped").await;
    assert_eq!(fixture.secret_names().await, [""; 0]);
    replica.process.shutdown.begin();
}

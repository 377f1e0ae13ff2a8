//! Code of tenants in a runtime of its own, and images of private registries.

use atelier_operator::settings::{Settings, TenantCode};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use crds::names;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::node::v1::RuntimeClass;
use kube::api::{DeleteParams, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};
use testkit::{Registry, RegistryAuth, eventually};

use crate::lab::{Lab, is_idle, reason};

/// A handler that containerd has by default.
const HANDLER: &str = "runc";

impl Lab {
    fn class_name(&self) -> String {
        format!("walls-{}", self.id)
    }

    fn classes(&self) -> Api<RuntimeClass> {
        Api::all(self.client.clone())
    }

    async fn create_class(&self, handler: &str) {
        let class = json!({
            "metadata": {"name": self.class_name()}, "handler": handler,
            "overhead": {"podFixed": {"memory": "16Mi", "cpu": "10m"}},
        });
        let class = serde_json::from_value(class).unwrap();
        self.classes().create(&PostParams::default(), &class).await.unwrap();
    }

    async fn delete_class(&self) {
        self.classes().delete(&self.class_name(), &DeleteParams::default()).await.unwrap();
    }

    /// Settings that demand the class for code of tenants.
    fn walled(&self) -> Settings {
        let tenant_code = TenantCode { runtime_class: Some(self.class_name()), ..TenantCode::default() };
        Settings { tenant_code, ..Self::settings() }
    }

    /// An instance with code of its tenant.
    fn of_tenant(&self, attempt: i64) -> Value {
        let mut instance = self.instance(0, attempt);
        instance["trust"] = json!("tenant");
        instance
    }

    async fn failure(&self, attempt: i64) -> (String, String) {
        let failed = |status: &crds::GpuUnitStatus| {
            status.last_failure.as_ref().is_some_and(|failure| failure.attempt == attempt) && is_idle(status)
        };
        let failure = self.until(0, "failed", failed).await.last_failure.unwrap();
        (failure.reason, failure.message)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn code_of_tenants_runs_in_the_class_of_the_policy_and_waits_for_none_that_is_missing() {
    let lab = Lab::with(0, 0, |config| config.nodes[0].runtime_handlers.push(HANDLER.to_owned())).await;
    let operator = lab.operator_with("one", None, None, lab.walled()).await;
    lab.create_real_unit(0).await;
    let held = lab.held(0).await;
    assert_eq!(reason(&held, names::CONDITION_TENANT_CODE), "RuntimeClassMissing");
    eventually("an event says so", async || {
        let events = lab.events(0).await;
        events
            .contains(&format!(
                "RuntimeClassMissing: the cluster has no RuntimeClass \"{}\"",
                lab.class_name()
            ))
            .then_some(())
    })
    .await;
    lab.set_instance(0, Some(lab.of_tenant(1))).await;
    let (code, message) = lab.failure(1).await;
    assert_eq!(code, "RuntimeUnavailable");
    assert!(message.contains(&lab.class_name()), "{message}");

    lab.create_class(HANDLER).await;
    let isolated = |status: &crds::GpuUnitStatus| reason(status, names::CONDITION_TENANT_CODE) == "Isolated";
    lab.until(0, "reported the class", isolated).await;
    lab.set_instance(0, Some(lab.of_tenant(2))).await;
    lab.running(0, 2).await;
    let pods = lab.pods(0).await;
    let pod = pods.iter().find(|pod| pod.labels()[names::LABEL_ROLE] == names::ROLE_INSTANCE).unwrap();
    let spec = pod.spec.as_ref().unwrap();
    assert_eq!(spec.runtime_class_name.as_deref(), Some(lab.class_name().as_str()));
    // the pod and its overhead are as large as the unit: 100m and 64Mi
    assert_eq!(spec.overhead.as_ref().unwrap()["memory"].0, "16Mi");
    let requests = spec.containers[0].resources.as_ref().unwrap().requests.as_ref().unwrap();
    assert_eq!((requests["cpu"].0.as_str(), requests["memory"].0.as_str()), ("90m", "50331648"));

    // what runs stays, what starts does not
    lab.delete_class().await;
    let status = lab
        .until(0, "reported that the class is gone", |status| {
            reason(status, names::CONDITION_TENANT_CODE) == "RuntimeClassMissing"
        })
        .await;
    assert!(status.instance.unwrap().running_since.is_some());
    lab.set_instance(0, None).await;
    lab.held(0).await;
    lab.set_instance(0, Some(lab.instance(0, 3))).await;
    lab.running(0, 3).await;
    lab.set_instance(0, None).await;
    lab.held(0).await;
    lab.end(operator, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_class_whose_handler_the_node_lacks_fails_the_start_at_once() {
    let lab = Lab::new(0, 0).await;
    let operator = lab.operator_with("one", None, None, lab.walled()).await;
    lab.create_class("no-such-handler").await;
    lab.create_real_unit(0).await;
    let held = lab.held(0).await;
    if !lab.is_dev() && reason(&held, names::CONDITION_TENANT_CODE) == "Isolated" {
        eprintln!("skipped: the kubelet of this cluster does not report its runtime handlers");
        lab.delete_class().await;
        return lab.end(operator, 1).await;
    }
    assert_eq!(reason(&held, names::CONDITION_TENANT_CODE), "NodeUnsuitable");
    lab.set_instance(0, Some(lab.of_tenant(1))).await;
    let (code, message) = lab.failure(1).await;
    assert_eq!(code, "RuntimeUnavailable");
    assert!(message.contains("has no runtime handler \"no-such-handler\""), "{message}");
    lab.delete_class().await;
    lab.end(operator, 1).await;
}

/// By default, code of tenants needs a choice of the administrator.
#[tokio::test(flavor = "multi_thread")]
async fn an_operator_that_was_told_nothing_starts_no_code_of_tenants() {
    let lab = Lab::new(1, 1).await;
    let operator = lab.operator("one", None).await;
    lab.create_units(1).await;
    let held = lab.held(0).await;
    assert_eq!(reason(&held, names::CONDITION_TENANT_CODE), "NoIsolatedRuntime");
    lab.set_instance(0, Some(lab.of_tenant(1))).await;
    assert_eq!(lab.failure(1).await.0, "RuntimeUnavailable");
    lab.end(operator, 1).await;
    let lab = Lab::new(1, 1).await;
    let accepted = TenantCode { accept_default_runtime: true, ..TenantCode::default() };
    let settings = Settings { tenant_code: accepted, ..Lab::settings() };
    let operator = lab.operator_with("one", None, None, settings).await;
    lab.create_units(1).await;
    lab.held(0).await;
    lab.set_instance(0, Some(lab.of_tenant(1))).await;
    lab.running(0, 1).await;
    lab.end(operator, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_of_a_private_registry_is_pulled_with_the_credential_of_its_instance_only() {
    for auth in [RegistryAuth::Basic, RegistryAuth::Token] {
        let lab = Lab::new(0, 0).await;
        let Some(cluster) = &lab.cluster else {
            eprintln!("skipped: the nodes of this cluster do not reach a registry of the test");
            return;
        };
        let registry = Registry::start(auth, "robot", "hunter2").await;
        cluster.add_image(devcluster::ImageConfig::new(registry.image(), ["sh"]).pulled());
        let operator = lab.operator("one", None).await;
        lab.create_real_unit(0).await;
        lab.held(0).await;
        let secrets: Api<Secret> = Api::namespaced(lab.client.clone(), &lab.tenant());
        let write = async |name: &str, password: &str| {
            let config = json!({"auths": {(registry.host()): {"username": "robot", "password": password}}});
            let secret = json!({
                "metadata": {"name": name}, "type": "kubernetes.io/dockerconfigjson",
                "data": {".dockerconfigjson": STANDARD.encode(config.to_string())},
            });
            let secret: Secret = serde_json::from_value(secret).unwrap();
            secrets.create(&PostParams::default(), &secret).await.unwrap();
        };
        let with = |attempt: i64, secret: Option<&str>| {
            let mut instance = lab.instance(0, attempt);
            (instance["image"], instance["alwaysPull"]) = (json!(registry.image()), json!(true));
            if let Some(secret) = secret {
                instance["pullSecretName"] = json!(secret);
            }
            instance
        };
        // the namespace exists from the first attempt on, which has no credential
        lab.set_instance(0, Some(with(1, None))).await;
        let (code, message) = lab.failure(1).await;
        assert_eq!(code, "ImagePullDenied", "{message}");
        assert!(message.contains("401 Unauthorized"), "{message}");
        write("right", "hunter2").await;
        write("wrong", "hunter3").await;
        if auth == RegistryAuth::Token {
            lab.set_instance(0, Some(with(2, Some("wrong")))).await;
            let (code, message) = lab.failure(2).await;
            assert_eq!(code, "ImagePullDenied", "{message}");
            assert!(
                !message.contains("hunter3") && !message.contains(&STANDARD.encode("robot:hunter3")),
                "{message}"
            );
            assert_eq!(registry.pulls(), 0);
        }
        lab.set_instance(0, Some(with(3, Some("right")))).await;
        lab.running(0, 3).await;
        assert_eq!(registry.pulls(), 1);
        if auth == RegistryAuth::Basic {
            // the node has the image now; who may not pull it does not get it
            lab.set_instance(0, None).await;
            lab.held(0).await;
            lab.set_instance(0, Some(with(4, None))).await;
            assert_eq!(lab.failure(4).await.0, "ImagePullDenied");
        }
        lab.end(operator, 1).await;
    }
}

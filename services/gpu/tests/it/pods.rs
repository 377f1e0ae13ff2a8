//! Pods of instances as processes of the development cluster.

use ids::InstanceId;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::api::{Api, PostParams};
use serde_json::json;
use testkit::eventually;

use crate::harness::Fixture;

/// The pods of the tenant.
pub(crate) fn of(fixture: &Fixture) -> Api<Pod> {
    Api::namespaced(fixture.kube.clone(), &fixture.tenant.k8s_name())
}

/// Creates the pod of a starting instance. It runs a script; the cluster restarts it.
pub(crate) async fn give(fixture: &Fixture, id: InstanceId, attempt: i64, script: &str) {
    let namespace = fixture.tenant.k8s_name();
    let spaces: Api<Namespace> = Api::all(fixture.kube.clone());
    let space = serde_json::from_value(json!({ "metadata": { "name": namespace } })).unwrap();
    // there already, for a further instance
    let _ = spaces.create(&PostParams::default(), &space).await;
    let pod: Pod = serde_json::from_value(json!({
        "metadata": { "name": format!("{}-{attempt}", id.k8s_name()) },
        "spec": { "terminationGracePeriodSeconds": 5, "containers": [{
            "name": "main", "image": "shell:1", "command": ["sh", "-c", script],
        }] },
    }))
    .unwrap();
    // once the namespace has its service account
    eventually("the pod is created", async || match of(fixture).create(&PostParams::default(), &pod).await {
        Err(kube::Error::Api(status)) if status.code == 403 => None,
        created => Some(created.unwrap()),
    })
    .await;
    eventually("the pod runs", async || {
        let pod = of(fixture).get(&format!("{}-{attempt}", id.k8s_name())).await.unwrap();
        (pod.status?.phase? == "Running").then_some(())
    })
    .await;
}

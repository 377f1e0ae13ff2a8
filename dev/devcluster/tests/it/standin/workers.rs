//! Supervision: panics of workers, and objects that make workers panic.

use crate::support::*;
use atelier_devcluster::{ImageConfig, NodeConfig};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, PersistentVolumeClaim, Pod};
use kube::api::{Api, DeleteParams};
use serde_json::{Value, json};
use testkit::eventually;

#[tokio::test]
async fn every_worker_is_restarted_after_a_panic() {
    let t = Test::fake().await;
    let workers = t.cluster().workers();
    let names = workers.names();
    assert_eq!(names.len(), 12, "{names:?}");
    for name in &names {
        workers.inject_panic(name);
    }
    for name in &names {
        eventually(&format!("{name} runs again"), async || {
            (workers.status(name) == Some((true, 1))).then_some(())
        })
        .await;
    }
    create(&t.pods(), pod("p", "pause:1", json!({}))).await;
    until(&t.pods(), "p", is_ready).await;
    let claims: Api<PersistentVolumeClaim> = t.api();
    create(&claims, claim("c")).await;
    until(&claims, "c", is_bound).await;
    let n = t.make_namespace("n", json!({})).await;
    let namespaces: Api<Namespace> = Api::all(t.client.clone());
    namespaces.delete(&n, &DeleteParams::default()).await.unwrap();
    gone(&namespaces, &n).await;
    t.stop().await;
}

fn claim(name: &str) -> Value {
    json!({ "metadata": { "name": name }, "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } } })
}

fn is_bound(claim: &PersistentVolumeClaim) -> bool {
    claim.status.as_ref().and_then(|s| s.phase.as_deref()) == Some("Bound")
}

fn poisoned(worker: &str, mut object: Value) -> Value {
    object["metadata"]["annotations"] = json!({ "devcluster.atelier.dev/poison": worker });
    object
}

#[tokio::test]
async fn a_poison_object_does_not_stop_others() {
    let t = Test::with(|c| {
        c.nodes.push(NodeConfig::new("n1"));
        c.images.push(ImageConfig::new("sh:*", ["/bin/sh", "-c"]));
    })
    .await;
    let pods: Api<Pod> = t.pods();
    for worker in ["scheduler", "node"] {
        create(&pods, poisoned(worker, pod(worker, "pause:1", json!({})))).await;
    }
    create(&pods, pod("sound", "pause:1", json!({}))).await;
    until(&pods, "sound", is_ready).await;
    for worker in ["scheduler", "node"] {
        assert!(!is_ready(&pods.get(worker).await.unwrap()), "{worker}");
    }

    let claims: Api<PersistentVolumeClaim> = t.api();
    create(&claims, poisoned("volumes", claim("bad"))).await;
    create(&claims, claim("good")).await;
    until(&claims, "good", is_bound).await;
    assert!(!is_bound(&claims.get("bad").await.unwrap()));

    let maps: Api<ConfigMap> = t.api();
    let orphan = |name: &str| json!({ "metadata": { "name": name, "ownerReferences": [{ "apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "11111111-2222-3333-4444-555555555555" }] } });
    create(&maps, poisoned("gc", orphan("bad"))).await;
    create(&maps, orphan("good")).await;
    gone(&maps, "good").await;
    assert!(maps.get_opt("bad").await.unwrap().is_some());

    for (name, worker) in t.cluster().workers().names().iter().map(|n| (n, t.cluster().workers().status(n))) {
        assert_eq!(worker, Some((true, 0)), "{name}: a poison object does not restart a worker");
    }
    t.stop().await;
}

//! The time from the grant of a unit to the instance in the unit's spec, while many others wait.

use std::{path::Path, time::Instant};

use crds::GpuUnit;
use futures::TryStreamExt as _;
use ids::{InstanceId, UnitId};
use kube::{
    Api, Client,
    api::PostParams,
    runtime::{WatchStreamExt as _, watcher},
};
use serde_json::json;
use sqlx::PgConnection;

use crate::{load::Latencies, stock::Stock};

/// A development cluster with our definitions.
pub(crate) async fn start_cluster(folder: &Path) -> (devcluster::Cluster, Client) {
    let mut config = devcluster::Config::new(folder);
    config.journal = false;
    config.nodes = vec![devcluster::NodeConfig::fake("node-1")];
    let cluster = devcluster::Cluster::start(config).await.unwrap();
    let kubeconfig = kube::config::Kubeconfig::read_from(cluster.kubeconfig_path()).unwrap();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await.unwrap();
    let kube = Client::try_from(config).unwrap();
    let definitions = Api::all(kube.clone());
    for definition in crds::definitions() {
        definitions.create(&PostParams::default(), &definition).await.unwrap();
    }
    (cluster, kube)
}

/// Grants units, one after the other, to instances that wait.
pub(crate) async fn run(kube: &Client, stock: &Stock, conn: &mut PgConnection, grants: usize) -> Latencies {
    let units: Api<GpuUnit> = Api::all(kube.clone());
    let waiting: Vec<InstanceId> = sqlx::query_scalar(
        "select id from gpu.instances where name like 'q%' order by md5(id::text) limit $1",
    )
    .bind(i64::try_from(grants).unwrap())
    .fetch_all(conn)
    .await
    .unwrap();
    let changes = watcher(units.clone(), watcher::Config::default()).applied_objects();
    futures::pin_mut!(changes);
    let mut took = Vec::new();
    for instance in waiting {
        let unit = UnitId::new();
        units.create(&PostParams::default(), &empty(unit)).await.unwrap();
        // the service has observed it by now, as it does in operation
        while changes.try_next().await.unwrap().unwrap().metadata.name != Some(unit.k8s_name()) {}
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        let begun = Instant::now();
        stock.grant(instance, unit);
        let desired = loop {
            let changed = changes.try_next().await.unwrap().unwrap();
            if let Some(desired) =
                changed.spec.instance.filter(|_| changed.metadata.name == Some(unit.k8s_name()))
            {
                break desired;
            }
        };
        took.push(begun.elapsed().as_secs_f64() * 1000.0);
        assert_eq!(desired.id, instance.k8s_name(), "another instance was started");
    }
    Latencies::new(took)
}

fn empty(unit: UnitId) -> GpuUnit {
    let held = json!([{ "type": "Held", "status": "True", "reason": "Holding", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z" }]);
    serde_json::from_value(json!({
        "apiVersion": "atelier.dev/v1alpha1", "kind": "GpuUnit", "metadata": { "name": unit.k8s_name() },
        "spec": { "gpuSpec": "bench", "resources": { "cpu": "1", "memory": "1Gi" },
            "gpu": { "model": "RTX 3080", "count": 1,
                "allocation": { "kind": "device", "resource": "nvidia.com/gpu" } } },
        "status": { "state": "init", "node": "node-1", "conditions": held },
    }))
    .unwrap()
}

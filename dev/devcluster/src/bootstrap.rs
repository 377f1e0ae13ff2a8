//! The objects that every cluster has, and what a restart resumes.

use objects::kinds::{DEFINITIONS, custom};
use objects::store::Inner;
use serde_json::{Value, json};

use crate::controllers::{accounts, gc, nodes, volumes::PROVISIONER};
use crate::hub::Hub;
use crate::verbs::system;

/// Serves the stored definitions, creates missing objects and checks all objects.
pub(crate) fn run(hub: &Hub) {
    {
        let mut tx = hub.store.lock();
        serve_definitions(hub, &tx);
        for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
            ensure(hub, &mut tx, "namespaces", name, json!({}));
            accounts::ensure(hub, &mut tx, name);
        }
        ensure(
            hub,
            &mut tx,
            "storageclasses.storage.k8s.io",
            "standard",
            json!({
                "metadata": { "annotations": { "storageclass.kubernetes.io/is-default-class": "true" } },
                "provisioner": PROVISIONER, "allowVolumeExpansion": true,
            }),
        );
        for (name, value) in
            [("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)]
        {
            ensure(hub, &mut tx, "priorityclasses.scheduling.k8s.io", name, json!({ "value": value }));
        }
        for node in &hub.config.nodes {
            if let Err(error) = nodes::register(hub, &mut tx, node) {
                tracing::error!(%error, node = node.name, "cannot register node");
            }
        }
    }
    gc::check_all(hub);
}

fn serve_definitions(hub: &Hub, tx: &Inner) {
    for definition in tx.list(DEFINITIONS, "") {
        match custom::resource_of(&definition.value) {
            Ok(resource) => hub.kinds.insert(resource),
            Err(causes) => {
                tracing::error!(name = definition.name(), ?causes, "cannot serve stored definition");
            }
        }
    }
}

fn ensure(hub: &Hub, tx: &mut Inner, kind: &str, name: &str, mut object: Value) {
    if tx.get(kind, "", name).is_some() {
        return;
    }
    object["metadata"]["name"] = name.into();
    if let Err(error) = system::create(hub, tx, kind, "", "devcluster", object) {
        tracing::error!(%error, kind, name, "cannot create object");
    }
}

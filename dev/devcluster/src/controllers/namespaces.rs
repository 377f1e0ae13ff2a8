//! Namespaces: a default service account in each, and the emptying of terminating ones.

use crate::hub::Hub;
use crate::node::status::set_condition;
use crate::store::Key;
use crate::verbs::{self, Write, delete};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// The namespaces that are always there.
pub(crate) fn ensure_builtin(hub: &Hub) {
    let resource = hub.kind("namespaces");
    for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
        let mut tx = hub.store.lock();
        if tx.get("namespaces", "", name).is_none() {
            let w = Write::internal(&resource, "", name, "devcluster");
            if let Err(error) = verbs::create(hub, &mut tx, &w, json!({ "metadata": { "name": name } })) {
                tracing::error!(%error, name, "namespace not made");
            }
        }
    }
}

/// The default service account, in the same step as its namespace, so that a pod can follow at once.
pub(crate) fn default_account(hub: &Hub, tx: &mut crate::store::Inner, namespace: &str) {
    let resource = hub.kind("serviceaccounts");
    if tx.get("serviceaccounts", namespace, "default").is_none() {
        let w = Write::internal(&resource, namespace, "default", "devcluster");
        if let Err(error) = verbs::create(hub, tx, &w, json!({ "metadata": { "name": "default" } })) {
            tracing::debug!(%error, namespace, "service account not made");
        }
    }
}

/// Empties terminating namespaces and lets them go.
pub(crate) async fn run(hub: Arc<Hub>) {
    'anew: loop {
        let (all, mut feed) = hub.store.subscribe("namespaces");
        let mut open: Vec<String> =
            all.iter().filter(|n| n.terminating()).map(|n| n.name().to_owned()).collect();
        loop {
            open.retain(|name| !empty(&hub, name));
            tokio::select! {
                () = hub.stop.cancelled() => return,
                // contents with finalizers or grace periods end in their own time
                () = tokio::time::sleep(Duration::from_millis(50)), if !open.is_empty() => {}
                changes = feed.next() => match changes {
                    Ok(changes) => for c in changes.iter().filter(|c| c.object.terminating()) {
                        if !open.iter().any(|n| n == c.object.name()) {
                            open.push(c.object.name().to_owned());
                        }
                    },
                    Err(_) => continue 'anew,
                }
            }
        }
    }
}

/// Deletes what is left in a namespace; true when the namespace is gone.
fn empty(hub: &Hub, name: &str) -> bool {
    let mut tx = hub.store.lock();
    let Some(namespace) = tx.get("namespaces", "", name).filter(|n| n.terminating()) else { return true };
    let mut left: Vec<String> = Vec::new();
    for kind in tx.kinds_in(name) {
        let Some(resource) = hub.kinds.get(&kind) else { continue };
        let keys: Vec<Key> = tx.list(&kind, name).map(|o| o.key()).collect();
        let mut count = 0;
        for key in keys {
            let fresh = tx.get(&kind, &key.0, &key.1).is_some_and(|o| !o.terminating());
            if fresh {
                let w = Write::internal(&resource, &key.0, &key.1, "namespace-controller");
                if let Err(error) = delete::delete(hub, &mut tx, &w, &delete::Options::default()) {
                    tracing::debug!(%error, kind, "not deleted");
                }
            }
            count += usize::from(tx.get(&kind, &key.0, &key.1).is_some());
        }
        if count > 0 {
            left.push(format!("{kind} has {count} resource instances"));
        }
    }
    let mut value = namespace.value.clone();
    if !left.is_empty() {
        let message = format!("Some resources are remaining: {}", left.join(", "));
        set_condition(
            &mut value["status"],
            "NamespaceContentRemaining",
            "True",
            "SomeResourcesRemain",
            &message,
        );
        if value != namespace.value {
            tx.put("namespaces", value);
        }
        return false;
    }
    value["spec"]["finalizers"] = json!([]);
    if delete::is_done(&value) {
        delete::finish(hub, &mut tx, &hub.kind("namespaces"), &namespace.key());
        return true;
    }
    if value != namespace.value {
        tx.put("namespaces", value);
    }
    false
}

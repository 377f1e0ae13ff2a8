//! Deletes the contents of terminating namespaces, then the namespaces.

use std::sync::Arc;
use std::time::Duration;

use objects::store::{Key, Object};
use serde_json::json;

use crate::faults::Part;
use crate::hub::Hub;
use crate::isolation::isolated;
use crate::report::set_condition;
use crate::verbs::delete::{self, Options};
use crate::verbs::system;

/// Contents with finalizers or grace periods are checked again after this time.
const RETRY: Duration = Duration::from_millis(50);

pub(crate) async fn run(hub: Arc<Hub>) {
    let mut feed = hub.store.feed(&["namespaces"]);
    let mut open: Vec<Arc<Object>> = Vec::new();
    loop {
        hub.stop.run_until_cancelled(hub.faults.until(&Part::Controllers, true)).await;
        open.retain(|namespace| {
            isolated("namespaces", namespace, || empty(&hub, namespace.name())) == Some(false)
        });
        tokio::select! {
            () = hub.stop.cancelled() => return,
            () = tokio::time::sleep(RETRY), if !open.is_empty() => {}
            event = hub.faults.next(&Part::Controllers, &mut feed) => for namespace in event.present() {
                if namespace.terminating() && !open.iter().any(|n| n.uid() == namespace.uid()) {
                    open.push(namespace.clone());
                }
            },
        }
    }
}

/// Deletes the contents of a namespace. Returns whether the namespace is gone.
fn empty(hub: &Hub, name: &str) -> bool {
    let mut tx = hub.store.lock();
    let Some(namespace) = tx.get("namespaces", "", name).filter(|n| n.terminating()) else { return true };
    let mut left: Vec<String> = Vec::new();
    for kind in tx.kinds_in(name) {
        let keys: Vec<Key> = tx.list(&kind, name).map(|o| o.key()).collect();
        let mut count = 0;
        for key in keys {
            let fresh = tx.get(&kind, &key.0, &key.1).is_some_and(|o| !o.terminating());
            if fresh && let Err(error) = system::delete(hub, &mut tx, &kind, &key, &Options::default()) {
                tracing::debug!(%error, kind, "cannot delete content of namespace");
            }
            count += usize::from(tx.get(&kind, &key.0, &key.1).is_some());
        }
        if count > 0 {
            left.push(format!("{kind} has {count} resource instances"));
        }
    }
    let mut value = namespace.value.clone();
    if left.is_empty() {
        value["spec"]["finalizers"] = json!([]);
        if delete::is_done(&value) {
            delete::finish(hub, &mut tx, &hub.kind("namespaces"), &namespace.key());
            return true;
        }
    } else {
        let message = format!("Some resources are remaining: {}", left.join(", "));
        let (kind, reason) = ("NamespaceContentRemaining", "SomeResourcesRemain");
        set_condition(&mut value["status"], kind, "True", reason, &message);
    }
    if value != namespace.value {
        tx.put("namespaces", value);
    }
    false
}

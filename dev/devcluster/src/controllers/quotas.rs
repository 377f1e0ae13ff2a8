//! The status of resource quotas: what they limit and what is used. Admission counts exactly, but, as in Kubernetes, by
//! the limits of the status: before its first count, a quota limits nothing. Between the two writes of a first count
//! (`quota_count_ms`), the usage is unknown and no pod is admitted; in Kubernetes, this happens while a count fails.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use objects::admission::quota;
use objects::store::Object;
use serde_json::json;

use crate::faults::Part;
use crate::hub::Hub;
use crate::isolation::isolated;
use crate::verbs::system;

const QUOTAS: &str = "resourcequotas";
const CONTROLLER: &str = "resourcequota-controller";

pub(crate) async fn run(hub: Arc<Hub>) {
    let counting = Duration::from_millis(hub.config.quota_count_ms);
    let mut feed = hub.store.feed(&[QUOTAS, "pods", "persistentvolumeclaims", "configmaps", "secrets"]);
    while let Some(event) = hub.stop.run_until_cancelled(hub.faults.next(&Part::Controllers, &mut feed)).await
    {
        let objects = event.present().into_iter().chain(event.deleted());
        let namespaces: BTreeSet<&str> = objects.map(|object| object.namespace()).collect();
        let quotas: Vec<Arc<Object>> = {
            let tx = hub.store.lock();
            namespaces.iter().flat_map(|namespace| tx.list(QUOTAS, namespace).cloned()).collect()
        };
        let new = |quota: &Arc<Object>| quota.value["status"]["hard"].is_null();
        if !counting.is_zero() && quotas.iter().any(new) {
            for quota in quotas.iter().filter(|quota| new(quota)) {
                isolated("quotas", quota, || count(&hub, quota, false));
            }
            tokio::time::sleep(counting).await;
        }
        for quota in &quotas {
            isolated("quotas", quota, || count(&hub, quota, true));
        }
    }
}

/// Writes the limits and, if `used`, the usage.
fn count(hub: &Hub, quota: &Object, used: bool) {
    let mut tx = hub.store.lock();
    let Some(quota) = tx.get(QUOTAS, quota.namespace(), quota.name()).filter(|q| q.uid() == quota.uid())
    else {
        return;
    };
    let mut value = quota.value.clone();
    let hard = &quota.value["spec"]["hard"];
    value["status"] = json!({ "hard": hard });
    if used {
        value["status"]["used"] = quota::count(&tx, quota.namespace(), hard);
    }
    system::update_status(&mut tx, QUOTAS, &quota, value, CONTROLLER);
}

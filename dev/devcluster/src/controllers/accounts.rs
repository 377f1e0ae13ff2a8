//! The service account `default` of each namespace. Until it exists, no pod can be created there.

use std::sync::Arc;

use objects::json::text;
use objects::store::{Inner, Object};
use serde_json::json;

use crate::faults::Part;
use crate::hub::Hub;
use crate::isolation::isolated;
use crate::verbs::system;

const ACCOUNTS: &str = "serviceaccounts";

pub(crate) async fn run(hub: Arc<Hub>) {
    let mut feed = hub.store.feed(&["namespaces", ACCOUNTS]);
    while let Some(event) = hub.stop.run_until_cancelled(hub.faults.next(&Part::Controllers, &mut feed)).await
    {
        let of = |object: &Arc<Object>| match text(&object.value["kind"]) {
            "Namespace" => object.name().to_owned(),
            _ => object.namespace().to_owned(),
        };
        for object in event.present().into_iter().chain(event.deleted()) {
            isolated("accounts", object, || ensure(&hub, &mut hub.store.lock(), &of(object)));
        }
    }
}

/// Creates the account of a namespace if it is missing.
pub(crate) fn ensure(hub: &Hub, tx: &mut Inner, namespace: &str) {
    let active = tx.get("namespaces", "", namespace).is_some_and(|n| !n.terminating());
    if !active || tx.get(ACCOUNTS, namespace, "default").is_some() {
        return;
    }
    let account = json!({ "metadata": { "name": "default" } });
    if let Err(error) = system::create(hub, tx, ACCOUNTS, namespace, "serviceaccount-controller", account) {
        tracing::warn!(%error, namespace, "cannot create service account");
    }
}

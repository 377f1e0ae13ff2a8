//! Watches that expire.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use http_body_util::{BodyExt as _, Full};
use serde_json::json;

use crate::lab::{Answer, Lab, Request, Response};

/// Number of lists of each kind. After the first list, watches get an event that their version is too old, as from current
/// API servers; after the second, an HTTP status, as from older ones. This repeats until the kind is listed again.
type Lists = Arc<Mutex<BTreeMap<String, usize>>>;

fn expires(lists: Lists) -> Answer {
    Arc::new(move |request: &Request| {
        let (path, query) = (request.uri().path(), request.uri().query().unwrap_or_default());
        let mut lists = lists.lock().unwrap();
        if !query.contains("watch=") {
            if request.method() == http::Method::GET
                && query.contains("limit=")
                && !query.contains("continue=")
            {
                *lists.entry(path.to_owned()).or_default() += 1;
            }
            return None;
        }
        let expired = json!({
            "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Expired", "code": 410,
            "message": "too old resource version",
        });
        match lists.get(path) {
            Some(1) => Some(response(200, &json!({"type": "ERROR", "object": expired}))),
            Some(2) => Some(response(410, &expired)),
            _ => None,
        }
    })
}

pub(crate) fn response(status: u16, body: &serde_json::Value) -> Response {
    let body = Full::from(format!("{body}\n")).map_err(Into::into);
    http::Response::builder().status(status).body(Box::new(body) as _).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_whose_version_has_expired_lists_again() {
    let lab = Lab::new(1, 2).await;
    let lists = Lists::default();
    let operator = lab.operator_behind("one", expires(Arc::clone(&lists))).await;
    lab.create_units(1).await;
    let held = lab.held(0).await;
    lab.set_instance(0, Some(lab.instance(0, 1))).await;
    assert_eq!(lab.running(0, 1).await.node, held.node);
    lab.set_instance(0, None).await;
    assert_eq!(lab.held(0).await.node, held.node);
    testkit::eventually("every kind has been listed three times", async || {
        let lists = lists.lock().unwrap();
        (lists.len() >= 5 && lists.values().all(|times| *times >= 3)).then_some(())
    })
    .await;
    lab.end(operator, 1).await;
}

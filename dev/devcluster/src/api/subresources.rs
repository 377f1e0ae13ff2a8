//! Token requests, bindings, and the switch that fails a node.

use axum::response::Response;
use bytes::Bytes;
use http::{Method, StatusCode};
use objects::error::{Cause, Failure};
use objects::json::text;
use serde_json::{Value, json};

use super::json_response;
use super::objects::Call;
use super::request;
use super::tokens;
use crate::hub::Hub;
use crate::scheduler;

/// `POST /api/v1/namespaces/{namespace}/serviceaccounts/{name}/token`.
pub(crate) fn create_token(hub: &Hub, call: &Call<'_>, body: &Bytes) -> Result<Response, Failure> {
    let value = if body.is_empty() { Value::Null } else { request::decode(call.content, body)? };
    let w = call.write()?;
    let mut tx = hub.store.lock();
    let account =
        tx.get("serviceaccounts", w.namespace, w.name).ok_or_else(|| w.resource.not_found(w.name))?;
    let lifetime = value["spec"]["expirationSeconds"].as_i64().unwrap_or(3600);
    if lifetime < 600 {
        let why = "may not specify a duration less than 10 minutes";
        let cause = Cause::invalid("spec.expirationSeconds", &lifetime.into(), why);
        return Err(Failure::invalid("authentication.k8s.io", "TokenRequest", w.name, &[cause]));
    }
    let status = tokens::issue(&mut tx, w.namespace, w.name, account.uid(), lifetime)?;
    let answer = json!({
        "kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1",
        "metadata": { "name": w.name, "namespace": w.namespace },
        "spec": { "audiences": value["spec"]["audiences"], "expirationSeconds": lifetime }, "status": status,
    });
    Ok(json_response(StatusCode::CREATED, &answer))
}

/// `POST /api/v1/namespaces/{namespace}/pods/{name}/binding`: assigns a pod to a node, without asking whether it fits.
pub(crate) fn bind(hub: &Hub, call: &Call<'_>, body: &Bytes) -> Result<Response, Failure> {
    let value = request::decode(call.content, body)?;
    let w = call.write()?;
    let mut tx = hub.store.lock();
    let pod = tx.get("pods", w.namespace, w.name).ok_or_else(|| w.resource.not_found(w.name))?;
    let uid = text(&value["metadata"]["uid"]);
    if !uid.is_empty() && uid != pod.uid() {
        return Err(Failure::conflict("", "pods/binding", w.name, "the pod is another one"));
    }
    scheduler::assign(&mut tx, &pod, text(&value["target"]["name"]))?;
    let status =
        json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201 });
    Ok(json_response(StatusCode::CREATED, &status))
}

/// `POST /devcluster/nodes/{name}/fail|recover`: fails a node with its processes, or recovers it.
pub(crate) fn switch_node(hub: &Hub, method: &Method, rest: &str) -> Result<Response, Failure> {
    if method != Method::POST {
        return Err(Failure::method_not_allowed());
    }
    let (name, action) = rest.split_once('/').ok_or_else(Failure::no_such_resource)?;
    if hub.store.lock().get("nodes", "", name).is_none() {
        return Err(Failure::not_found("", "nodes", name));
    }
    match action {
        "fail" => hub.runtime.set_failed(name, true),
        "recover" => hub.runtime.set_failed(name, false),
        _ => return Err(Failure::no_such_resource()),
    }
    let status =
        json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 200 });
    Ok(json_response(StatusCode::OK, &status))
}

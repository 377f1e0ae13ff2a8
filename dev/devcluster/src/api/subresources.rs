//! Binding, eviction, token requests, access reviews, namespace finalize, and the switch that fails a node.

use super::json_response;
use super::objects::Call;
use super::request::{self, Target};
use super::tokens;
use crate::error::{Cause, Failure};
use crate::hub::Hub;
use crate::kinds::builtin;
use crate::rbac::{self, Access, User};
use crate::scheduler;
use crate::verbs::{Write, delete};
use axum::response::Response;
use bytes::Bytes;
use http::{Method, StatusCode};
use serde_json::{Value, json};

fn success(code: StatusCode) -> Response {
    json_response(
        code,
        &json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": code.as_u16() }),
    )
}

pub(crate) fn create(hub: &Hub, call: &Call<'_>, body: &Bytes) -> Result<Response, Failure> {
    let value = if body.is_empty() { json!({}) } else { request::decode(call.content, body)? };
    let w = call.write()?;
    match (w.resource.id.as_str(), w.subresource) {
        ("pods", "binding") => {
            let node = value["target"]["name"].as_str().unwrap_or("");
            if node.is_empty() {
                return Err(Failure::invalid("", "Binding", w.name, &[Cause::required("target.name", "")]));
            }
            scheduler::bind(hub, &mut hub.store.lock(), w.namespace, w.name, node)?;
            Ok(success(StatusCode::CREATED))
        }
        ("pods", "eviction") => evict(hub, &w, &value),
        ("serviceaccounts", "token") => {
            let mut tx = hub.store.lock();
            let account =
                tx.get("serviceaccounts", w.namespace, w.name).ok_or_else(|| w.resource.not_found(w.name))?;
            let lifetime = value["spec"]["expirationSeconds"].as_i64().unwrap_or(3600);
            if lifetime < 600 {
                let cause = Cause::invalid(
                    "spec.expirationSeconds",
                    &lifetime.into(),
                    "may not specify a duration less than 10 minutes",
                );
                return Err(Failure::invalid("authentication.k8s.io", "TokenRequest", w.name, &[cause]));
            }
            let status = tokens::issue(&mut tx, w.namespace, w.name, account.uid(), lifetime)?;
            let audiences = value["spec"]["audiences"].as_array().cloned().unwrap_or_default();
            let answer = json!({
                "kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1",
                "metadata": { "name": w.name, "namespace": w.namespace },
                "spec": { "audiences": audiences, "expirationSeconds": lifetime }, "status": status,
            });
            Ok(json_response(StatusCode::CREATED, &answer))
        }
        _ => Err(Failure::no_such_resource()),
    }
}

fn evict(hub: &Hub, w: &Write<'_>, value: &Value) -> Result<Response, Failure> {
    let mut tx = hub.store.lock();
    let pod = tx.get("pods", w.namespace, w.name).ok_or_else(|| w.resource.not_found(w.name))?;
    let labels = pod.value["metadata"]["labels"].clone();
    for budget in tx.list("poddisruptionbudgets.policy", w.namespace) {
        if !crate::store::selectors::label_selector_matches(&budget.value["spec"]["selector"], &labels) {
            continue;
        }
        let selected: Vec<_> = tx
            .list("pods", w.namespace)
            .filter(|p| {
                crate::store::selectors::label_selector_matches(
                    &budget.value["spec"]["selector"],
                    &p.value["metadata"]["labels"],
                )
            })
            .collect();
        let healthy =
            selected.iter().filter(|p| !p.terminating() && crate::node::status::is_ready(&p.value)).count();
        let share = |v: &Value| -> Option<usize> {
            match v {
                Value::Number(n) => n.as_u64().and_then(|n| usize::try_from(n).ok()),
                Value::String(s) => {
                    s.strip_suffix('%')?.parse::<usize>().ok().map(|p| (selected.len() * p).div_ceil(100))
                }
                _ => None,
            }
        };
        let need = share(&budget.value["spec"]["minAvailable"])
            .or_else(|| {
                share(&budget.value["spec"]["maxUnavailable"]).map(|n| selected.len().saturating_sub(n))
            })
            .unwrap_or(0);
        if healthy <= need {
            return Err(Failure::too_many(
                "Cannot evict pod as it would violate the pod's disruption budget.",
            ));
        }
    }
    let options = serde_json::from_value(value["deleteOptions"].clone()).unwrap_or_default();
    let write = Write { subresource: "", ..w.clone() };
    delete::delete(hub, &mut tx, &write, &options)?;
    Ok(success(StatusCode::CREATED))
}

/// `PUT /api/v1/namespaces/{name}/finalize`.
pub(crate) fn finalize(hub: &Hub, call: &Call<'_>, body: &Bytes) -> Result<Response, Failure> {
    let value = request::decode(call.content, body)?;
    let w = call.write()?;
    let mut tx = hub.store.lock();
    let old = tx.get("namespaces", "", w.name).ok_or_else(|| w.resource.not_found(w.name))?;
    let mut new = old.value.clone();
    new["spec"]["finalizers"] = value["spec"]["finalizers"].as_array().cloned().unwrap_or_default().into();
    if delete::is_done(&new) {
        delete::finish(hub, &mut tx, w.resource, &old.key());
        return Ok(json_response(StatusCode::OK, &new));
    }
    let object = tx.put("namespaces", new);
    Ok(json_response(StatusCode::OK, &object.value))
}

/// Access reviews: answered, never stored.
pub(crate) fn review(hub: &Hub, target: &Target, user: &User, body: &Bytes) -> Result<Response, Failure> {
    let mut value = request::decode("application/json", body)?;
    builtin::check_review(&target.plural, &value).map_err(Failure::bad_request)?;
    let spec = value["spec"].clone();
    let text = |v: &Value| v.as_str().unwrap_or("").to_owned();
    let subject = if target.plural == "subjectaccessreviews" {
        let groups = spec["groups"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|g| g.as_str().map(str::to_owned))
            .collect();
        User { name: text(&spec["user"]), groups }
    } else {
        user.clone()
    };
    let (a, path) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    let (resource, sub) = (text(&a["resource"]), text(&a["subresource"]));
    let resource = if sub.is_empty() { resource } else { format!("{resource}/{sub}") };
    let verb = if path.is_object() { text(&path["verb"]) } else { text(&a["verb"]) };
    let allowed = rbac::allowed(
        &hub.store.lock(),
        &subject,
        &Access {
            verb: &verb,
            group: &text(&a["group"]),
            resource: &resource,
            namespace: &text(&a["namespace"]),
            name: &text(&a["name"]),
            path: &text(&path["path"]),
        },
    );
    value["status"] = json!({ "allowed": allowed });
    Ok(json_response(StatusCode::CREATED, &value))
}

/// `POST /devcluster/nodes/{name}/fail|recover`: a node dies (its processes with it) or comes back.
pub(crate) fn node_switch(hub: &Hub, method: &Method, rest: &str) -> Result<Response, Failure> {
    if method != Method::POST {
        return Err(Failure::method_not_allowed());
    }
    let (name, action) = rest.split_once('/').ok_or_else(Failure::no_such_resource)?;
    if hub.store.lock().get("nodes", "", name).is_none() {
        return Err(Failure::not_found("", "nodes", name));
    }
    match action {
        "fail" => hub.nodes.fail(name),
        "recover" => hub.nodes.recover(name),
        _ => return Err(Failure::no_such_resource()),
    }
    Ok(success(StatusCode::OK))
}

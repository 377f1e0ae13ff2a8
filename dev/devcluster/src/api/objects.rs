//! Get, list, create, update, patch and delete over HTTP.

use std::sync::Arc;

use axum::extract::Request;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::{HeaderValue, StatusCode};
use objects::error::Failure;
use objects::json::text;
use objects::rbac::User;
use objects::store::{Key, Object};
use objects::write::{Unknown, Write};
use serde_json::{Value, json};

use super::request::{self, Query, Target};
use super::{bytes_response, json_response, table};
use crate::hub::Hub;
use crate::verbs::delete::{self, Deleted, Options};
use crate::verbs::patch::{self, Patch};
use crate::verbs::{Written, create, update};

/// A write request without its body.
pub(crate) struct Call<'a> {
    pub target: &'a Target,
    pub query: &'a Query,
    pub user: &'a User,
    pub manager: &'a str,
    pub content: &'a str,
}

impl<'a> Call<'a> {
    pub(crate) fn write(&self) -> Result<Write<'a>, Failure> {
        Ok(Write {
            resource: &self.target.resource,
            namespace: &self.target.namespace,
            name: &self.target.name,
            subresource: &self.target.subresource,
            manager: self.manager,
            user: Some(self.user),
            dry_run: self.query.dry_run()?,
            unknown: match self.query.get("fieldValidation") {
                None | Some("" | "Warn") => Unknown::Warn,
                Some("Ignore") => Unknown::Ignore,
                Some("Strict") => Unknown::Strict,
                Some(other) => {
                    return Err(Failure::bad_request(format!("invalid fieldValidation {other:?}")));
                }
            },
        })
    }
    fn decode(&self, body: &Bytes) -> Result<Value, Failure> {
        let value = request::decode(self.content, body)?;
        Ok(if self.target.new_events { request::events_to_core(value) } else { value })
    }
    fn answer(&self, code: StatusCode, written: &Written) -> Response {
        let mut response = bytes_response(code, self.target.present(&written.object));
        for warning in &written.warnings {
            let text = format!("299 - \"{}\"", warning.replace('\\', "\\\\").replace('"', "\\\""));
            if let Ok(value) = HeaderValue::from_str(&text) {
                response.headers_mut().append("warning", value);
            }
        }
        response
    }
}

pub(crate) fn get(hub: &Hub, request: &Request, target: &Target) -> Result<Response, Failure> {
    let resource = &target.resource;
    let object = hub.store.lock().get(&resource.id, &target.namespace, &target.name);
    let object = object.ok_or_else(|| resource.not_found(&target.name))?;
    if table::wanted(request.headers()) {
        return Ok(json_response(
            StatusCode::OK,
            &table::of(
                target,
                std::slice::from_ref(&object),
                &json!({ "resourceVersion": object.meta("resourceVersion") }),
            ),
        ));
    }
    Ok(bytes_response(StatusCode::OK, target.present(&object)))
}

/// Decodes a `continue` token: the version of the first page, and the last key.
fn read_token(token: &str) -> Result<(u64, Key), Failure> {
    let bytes = URL_SAFE_NO_PAD.decode(token).ok();
    bytes
        .and_then(|b| serde_json::from_slice(&b).ok())
        .ok_or_else(|| Failure::bad_request("continue key is not valid"))
}

pub(crate) fn list(
    hub: &Hub,
    request: &Request,
    target: &Target,
    query: &Query,
) -> Result<Response, Failure> {
    let resource = &target.resource;
    let selector = target.selector(query)?;
    let limit = usize::try_from(query.number("limit")?.unwrap_or(0)).unwrap_or(0);
    let asked = query.get("resourceVersion").unwrap_or("");
    let start = query.get("continue").filter(|t| !t.is_empty()).map(read_token).transpose()?;
    // selected without the lock, which all other requests wait for
    let (all, rv): (Vec<Arc<Object>>, u64) = {
        let tx = hub.store.lock();
        let now = tx.rv();
        if !asked.is_empty() {
            let asked: u64 = asked
                .parse()
                .map_err(|_| Failure::bad_request(format!("resourceVersion: Invalid value: {asked:?}")))?;
            if asked > now {
                let mut f = Failure::internal(format!("Too large resource version: {asked}, current: {now}"));
                (f.code, f.reason) = (504, "Timeout");
                return Err(f);
            }
        }
        let all: Box<dyn Iterator<Item = &Arc<Object>>> = match &start {
            Some((_, key)) => {
                let namespace = &target.namespace;
                Box::new(
                    tx.list_after(&resource.id, key.clone())
                        .filter(move |o| namespace.is_empty() || o.namespace() == namespace),
                )
            }
            None => tx.list(&resource.id, &target.namespace),
        };
        (all.cloned().collect(), start.map_or(now, |(rv, _)| rv))
    };
    let mut hits = all.into_iter().filter(|object| selector.matches(&object.value));
    let items: Vec<Arc<Object>> =
        if limit == 0 { hits.by_ref().collect() } else { hits.by_ref().take(limit).collect() };
    let more = limit > 0 && hits.next().is_some();
    let mut meta = json!({ "resourceVersion": rv.to_string() });
    if let (true, Some(last)) = (more, items.last()) {
        meta["continue"] = URL_SAFE_NO_PAD.encode(json!([rv, last.key()]).to_string()).into();
    }
    if table::wanted(request.headers()) {
        return Ok(json_response(StatusCode::OK, &table::of(target, &items, &meta)));
    }
    let api_version = target.api_version();
    let head = format!(
        "{{\"kind\":\"{}List\",\"apiVersion\":\"{api_version}\",\"metadata\":{meta},\"items\":[",
        resource.kind
    );
    let mut body = head.into_bytes();
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            body.push(b',');
        }
        body.extend_from_slice(&target.present(item));
    }
    body.extend_from_slice(b"]}");
    Ok(bytes_response(StatusCode::OK, body))
}

pub(crate) fn create(hub: &Hub, call: &Call<'_>, body: &Bytes) -> Result<Response, Failure> {
    let write = call.write()?;
    if !call.target.name.is_empty() || write.resource.namespaced && write.namespace.is_empty() {
        return Err(Failure::method_not_allowed());
    }
    let value = call.decode(body)?;
    let name = text(&value["metadata"]["name"]).to_owned();
    let write = Write { name: &name, ..write };
    let written = create::create(hub, &mut hub.store.lock(), &write, value)?;
    Ok(call.answer(StatusCode::CREATED, &written))
}

pub(crate) fn update(hub: &Hub, call: &Call<'_>, body: &Bytes) -> Result<Response, Failure> {
    let write = call.write()?;
    if write.name.is_empty() {
        return Err(Failure::method_not_allowed());
    }
    let written = update::update(hub, &mut hub.store.lock(), &write, call.decode(body)?)?;
    Ok(call.answer(StatusCode::OK, &written))
}

pub(crate) fn patch(hub: &Hub, call: &Call<'_>, body: &Bytes) -> Result<Response, Failure> {
    let write = call.write()?;
    if write.name.is_empty() {
        return Err(Failure::method_not_allowed());
    }
    let value = request::decode(call.content, body)?;
    let patch = match call.content {
        "application/json-patch+json" => Patch::Json(
            serde_json::from_value(value)
                .map_err(|e| Failure::bad_request(format!("error decoding patch: {e}")))?,
        ),
        "application/merge-patch+json" => Patch::Merge(value),
        "application/strategic-merge-patch+json" => Patch::Strategic(value),
        "application/apply-patch+yaml" => {
            if call.query.get("fieldManager").unwrap_or("").is_empty() {
                return Err(Failure::bad_request(
                    "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch",
                ));
            }
            let config = if call.target.new_events { request::events_to_core(value) } else { value };
            Patch::Apply { config, force: call.query.flag("force") }
        }
        other => {
            return Err(Failure::unsupported_media(format!(
                "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json, application/apply-patch+yaml (got {other})"
            )));
        }
    };
    let mut tx = hub.store.lock();
    let existed = tx.get(&write.resource.id, write.namespace, write.name).is_some();
    let written = patch::patch(hub, &mut tx, &write, patch)?;
    Ok(call.answer(if existed { StatusCode::OK } else { StatusCode::CREATED }, &written))
}

pub(crate) fn delete_options(query: &Query, body: &Bytes) -> Result<Options, Failure> {
    let mut options: Options = if body.is_empty() {
        Options::default()
    } else {
        serde_json::from_slice(body)
            .map_err(|e| Failure::bad_request(format!("error decoding DeleteOptions: {e}")))?
    };
    if let Some(grace) = query.number("gracePeriodSeconds")? {
        options.grace_period_seconds = Some(grace);
    }
    if let Some(policy) = query.get("propagationPolicy") {
        options.propagation_policy = Some(policy.to_owned());
    }
    Ok(options)
}

pub(crate) fn delete(hub: &Hub, call: &Call<'_>, body: &Bytes) -> Result<Response, Failure> {
    let options = delete_options(call.query, body)?;
    let mut write = call.write()?;
    write.dry_run |= options.dry_run.as_ref().is_some_and(|d| !d.is_empty());
    let deleted = delete::delete(hub, &mut hub.store.lock(), &write, &options)?;
    Ok(match deleted {
        Deleted::Waiting(object) => bytes_response(StatusCode::OK, call.target.present(&object)),
        // like Kubernetes: the object for a pod, a Status for other kinds
        Deleted::Gone(object) if write.resource.id == "pods" => {
            bytes_response(StatusCode::OK, call.target.present(&object))
        }
        Deleted::Gone(object) => {
            let mut details =
                json!({ "name": object.name(), "kind": write.resource.plural, "uid": object.uid() });
            if !write.resource.group.is_empty() {
                details["group"] = write.resource.group.clone().into();
            }
            json_response(
                StatusCode::OK,
                &json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details }),
            )
        }
    })
}

pub(crate) fn delete_collection(
    hub: &Hub,
    target: &Target,
    query: &Query,
    user: &User,
    body: &Bytes,
) -> Result<Response, Failure> {
    let resource = &target.resource;
    let selector = target.selector(query)?;
    let options = delete_options(query, body)?;
    let dry_run = query.dry_run()?;
    let mut tx = hub.store.lock();
    let hits: Vec<Arc<Object>> =
        tx.list(&resource.id, &target.namespace).filter(|o| selector.matches(&o.value)).cloned().collect();
    for object in &hits {
        let write = Write {
            namespace: object.namespace(),
            name: object.name(),
            dry_run,
            user: Some(user),
            ..Write::internal(resource, "", "", "")
        };
        match delete::delete(hub, &mut tx, &write, &options) {
            Ok(_) | Err(Failure { code: 404 | 409, .. }) => {}
            Err(e) => return Err(e),
        }
    }
    let items: Vec<&Value> = hits.iter().map(|o| &o.value).collect();
    let meta = json!({ "resourceVersion": tx.rv().to_string() });
    Ok(json_response(
        StatusCode::OK,
        &json!({ "kind": format!("{}List", resource.kind), "apiVersion": target.api_version(), "metadata": meta, "items": items }),
    ))
}

//! Reading a request: which object or collection its path names, its query, its body.

use crate::error::Failure;
use crate::hub::Hub;
use crate::kinds::Resource;
use crate::store::{Object, selectors::Selector};
use axum::body::Body;
use axum::extract::Request;
use bytes::Bytes;
use http::{HeaderMap, header};
use serde_json::Value;
use std::sync::Arc;

const LIMIT: usize = 3 << 20;

/// What a path names.
#[derive(Clone)]
pub(crate) struct Target {
    pub group: String,
    pub version: String,
    pub plural: String,
    pub namespace: String,
    pub name: String,
    pub subresource: String,
    /// Absent only for the reviews, which are never stored.
    resource: Option<Arc<Resource>>,
    /// Events asked for as `events.k8s.io`; they are stored as core events.
    pub new_events: bool,
}

impl Target {
    pub(crate) fn resource(&self) -> Result<&Arc<Resource>, Failure> {
        self.resource.as_ref().ok_or_else(Failure::no_such_resource)
    }
    pub(crate) fn resource_id(&self) -> &str {
        self.resource.as_ref().map_or("", |r| &r.id)
    }
    /// `pods` or `pods/log`.
    pub(crate) fn qualified(&self) -> String {
        if self.subresource.is_empty() {
            self.plural.clone()
        } else {
            format!("{}/{}", self.plural, self.subresource)
        }
    }
    fn stored_as_asked(&self) -> bool {
        !self.new_events && self.resource.as_ref().is_none_or(|r| r.storage_version().name == self.version)
    }
    /// An object in the version that was asked for.
    pub(crate) fn present(&self, object: &Object) -> Bytes {
        if self.stored_as_asked() {
            object.json()
        } else {
            Bytes::from(self.present_value(&object.value).to_string())
        }
    }
    pub(crate) fn present_value(&self, value: &Value) -> Value {
        if self.stored_as_asked() {
            return value.clone();
        }
        let mut v = if self.new_events { events_to_new(value) } else { value.clone() };
        if let (Some(r), false) = (&self.resource, self.new_events) {
            v["apiVersion"] = r.api_version(&self.version).into();
        }
        v
    }
    pub(crate) fn selector(&self, query: &Query) -> Result<Selector, Failure> {
        let resource = self.resource()?;
        let mut selector = Selector::parse(
            &resource.id,
            query.get("labelSelector").unwrap_or(""),
            &query.get("fieldSelector").unwrap_or("").replace("regarding.", "involvedObject."),
            &resource.selectable,
        )?;
        if !self.name.is_empty() {
            let by_name = Selector::parse(&resource.id, "", &format!("metadata.name={}", self.name), &[])?;
            selector = selector.and(by_name);
        }
        Ok(selector)
    }
}

/// Events as `events.k8s.io` writes them, from the stored core form.
fn events_to_new(core: &Value) -> Value {
    let mut v = core.clone();
    v["apiVersion"] = "events.k8s.io/v1".into();
    for (from, to) in RENAMED {
        if let Some(x) = v.as_object_mut().and_then(|m| m.shift_remove(*from)) {
            v[*to] = x;
        }
    }
    v
}

const RENAMED: &[(&str, &str)] = &[
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// The stored core form of an event written as `events.k8s.io`.
pub(crate) fn events_to_core(mut v: Value) -> Value {
    for (core, new) in RENAMED {
        if let Some(x) = v.as_object_mut().and_then(|m| m.shift_remove(*new)) {
            v[*core] = x;
        }
    }
    v["apiVersion"] = "v1".into();
    v
}

/// Parses a path; `None` when it is outside the resources (discovery and the like).
pub(crate) fn target(hub: &Hub, path: &str) -> Result<Option<Target>, Failure> {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let (group, version, rest) = match parts.as_slice() {
        ["api", "v1", rest @ ..] => ("", "v1", rest),
        ["apis", group, version, rest @ ..] => (*group, *version, rest),
        _ => return Ok(None),
    };
    let (namespace, rest) = match rest {
        [] => return Ok(None),
        ["namespaces", _] => ("", rest),
        // not a kind in the namespace but a part of the namespace itself
        ["namespaces", _, "status" | "finalize"] if group.is_empty() => ("", rest),
        ["namespaces", ns, inside @ ..] if !inside.is_empty() => (*ns, inside),
        rest => ("", rest),
    };
    let (plural, name, subresource) = match rest {
        [plural] => (*plural, "", ""),
        [plural, name] => (*plural, *name, ""),
        [plural, name, sub] => (*plural, *name, *sub),
        _ => return Err(Failure::no_such_resource()),
    };
    let decode = |s: &str| percent_decode(s);
    let mut t = Target {
        group: group.to_owned(),
        version: version.to_owned(),
        plural: plural.to_owned(),
        namespace: decode(namespace),
        name: decode(name),
        subresource: subresource.to_owned(),
        resource: None,
        new_events: false,
    };
    if group == "authorization.k8s.io"
        && version == "v1"
        && matches!(plural, "selfsubjectaccessreviews" | "subjectaccessreviews")
    {
        return Ok(Some(t));
    }
    let mut resource = hub.kinds.find(group, version, plural).ok_or_else(Failure::no_such_resource)?;
    let has_status = resource.version(version).is_some_and(|v| v.status);
    if subresource == "status" && !has_status {
        return Err(Failure::no_such_resource());
    }
    if resource.namespaced && namespace.is_empty() && !name.is_empty()
        || !resource.namespaced && !namespace.is_empty()
    {
        return Err(Failure::no_such_resource());
    }
    if resource.id == "events.events.k8s.io" {
        resource = hub.kind("events");
        t.new_events = true;
    }
    t.resource = Some(resource);
    Ok(Some(t))
}

fn percent_decode(s: &str) -> String {
    let bytes = s.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        let hex = (bytes[i] == b'%').then(|| s.get(i + 1..i + 3)).flatten();
        match hex.and_then(|h| u8::from_str_radix(h, 16).ok()) {
            Some(b) => {
                out.push(b);
                i += 3;
            }
            None => {
                out.push(bytes[i]);
                i += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The query string; keys may repeat.
#[derive(Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(text: &str) -> Result<Self, Failure> {
        let pairs = text.split('&').filter(|p| !p.is_empty()).map(|pair| {
            let (k, v) = pair.split_once('=').unwrap_or((pair, ""));
            (percent_decode(&k.replace('+', " ")), percent_decode(&v.replace('+', " ")))
        });
        Ok(Self(pairs.collect()))
    }
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }
    pub(crate) fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(k, _)| k == key).map(|(_, v)| v.as_str())
    }
    pub(crate) fn flag(&self, key: &str) -> bool {
        self.get(key).is_some_and(|v| matches!(v, "true" | "1" | ""))
    }
    pub(crate) fn number(&self, key: &str) -> Result<Option<i64>, Failure> {
        match self.get(key) {
            None | Some("") => Ok(None),
            Some(v) => v
                .parse()
                .map(Some)
                .map_err(|_| Failure::bad_request(format!("{key} must be a number, not {v:?}"))),
        }
    }
    pub(crate) fn dry_run(&self) -> Result<bool, Failure> {
        match self.get("dryRun") {
            None => Ok(false),
            Some("All") => Ok(true),
            Some(other) => Err(Failure::bad_request(format!("invalid dryRun {other:?}: must be All"))),
        }
    }
}

pub(crate) fn content_type(headers: &HeaderMap) -> String {
    let value = headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or("application/json");
    value.split(';').next().unwrap_or("").trim().to_lowercase()
}

/// Who writes: the `fieldManager` parameter or the first word of the user agent.
pub(crate) fn manager(headers: &HeaderMap, query: &Query) -> String {
    if let Some(m) = query.get("fieldManager").filter(|m| !m.is_empty()) {
        return m.to_owned();
    }
    let agent = headers.get(header::USER_AGENT).and_then(|v| v.to_str().ok()).unwrap_or("unknown");
    agent.split('/').next().unwrap_or("unknown").to_owned()
}

pub(crate) async fn read(body: Body) -> Result<Bytes, Failure> {
    axum::body::to_bytes(body, LIMIT).await.map_err(|_| Failure::too_large())
}

pub(crate) async fn body(request: Request) -> Result<Bytes, Failure> {
    read(request.into_body()).await
}

/// A JSON or YAML body.
pub(crate) fn decode(content: &str, body: &Bytes) -> Result<Value, Failure> {
    if content.ends_with("yaml") {
        return serde_yaml_ng::from_slice(body)
            .map_err(|e| Failure::bad_request(format!("error decoding YAML: {e}")));
    }
    if !content.ends_with("json") && !content.is_empty() {
        let why = format!(
            "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml (got {content})"
        );
        return Err(Failure::unsupported_media(why));
    }
    serde_json::from_slice(body).map_err(|e| Failure::bad_request(format!("error decoding JSON: {e}")))
}

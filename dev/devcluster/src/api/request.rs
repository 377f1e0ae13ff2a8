//! The parts of a request: target, query, body.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use bytes::Bytes;
use http::{HeaderMap, header};
use objects::error::Failure;
use objects::kinds::Resource;
use objects::store::{Object, selectors::Selector};
use serde_json::Value;

use crate::hub::Hub;

const LIMIT: usize = 3 << 20;

/// The collection or object of a request.
#[derive(Clone)]
pub(crate) struct Target {
    pub group: String,
    pub version: String,
    pub plural: String,
    pub namespace: String,
    pub name: String,
    pub subresource: String,
    pub resource: Arc<Resource>,
    /// A request for events of `events.k8s.io`, which are stored as core events.
    pub new_events: bool,
}

impl Target {
    /// `pods` or `pods/log`.
    pub(crate) fn qualified(&self) -> String {
        if self.subresource.is_empty() {
            self.plural.clone()
        } else {
            format!("{}/{}", self.plural, self.subresource)
        }
    }
    /// The group and version of the request.
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }
    /// An object as JSON.
    pub(crate) fn present(&self, object: &Object) -> Bytes {
        if self.new_events { Bytes::from(events_to_new(&object.value).to_string()) } else { object.json() }
    }
    pub(crate) fn selector(&self, query: &Query) -> Result<Selector, Failure> {
        let resource = &self.resource;
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

/// Converts a core event to `events.k8s.io`.
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

/// Converts an event of `events.k8s.io` to a core event.
pub(crate) fn events_to_core(mut v: Value) -> Value {
    for (core, new) in RENAMED {
        if let Some(x) = v.as_object_mut().and_then(|m| m.shift_remove(*new)) {
            v[*core] = x;
        }
    }
    v["apiVersion"] = "v1".into();
    v
}

/// Parses a path. Returns `None` for paths outside the resources, such as discovery.
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
        // a subresource of the namespace, not a kind inside it
        ["namespaces", _, "status"] if group.is_empty() => ("", rest),
        ["namespaces", ns, inside @ ..] if !inside.is_empty() => (*ns, inside),
        rest => ("", rest),
    };
    let (plural, name, subresource) = match rest {
        [plural] => (*plural, "", ""),
        [plural, name] => (*plural, *name, ""),
        [plural, name, sub] => (*plural, *name, *sub),
        // the rest is a path of the kubelet's
        ["nodes", name, "proxy", ..] if group.is_empty() => ("nodes", *name, "proxy"),
        _ => return Err(Failure::no_such_resource()),
    };
    let decode = |s: &str| percent_encoding::percent_decode_str(s).decode_utf8_lossy().into_owned();
    let mut resource = hub.kinds.find(group, version, plural).ok_or_else(Failure::no_such_resource)?;
    if subresource == "status" && !resource.status
        || resource.namespaced && namespace.is_empty() && !name.is_empty()
        || !resource.namespaced && !namespace.is_empty()
    {
        return Err(Failure::no_such_resource());
    }
    let new_events = resource.id == "events.events.k8s.io";
    if new_events {
        resource = hub.kind("events");
    }
    Ok(Some(Target {
        group: group.to_owned(),
        version: version.to_owned(),
        plural: plural.to_owned(),
        namespace: decode(namespace),
        name: decode(name),
        subresource: subresource.to_owned(),
        resource,
        new_events,
    }))
}

/// The query string; keys may repeat.
#[derive(Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(text: &str) -> Self {
        Self(url::form_urlencoded::parse(text.as_bytes()).into_owned().collect())
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

/// The field manager: the `fieldManager` parameter, or the first word of the user agent.
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
        // JSON is YAML, and most clients send it: its parser is much faster
        if let Ok(value) = serde_json::from_slice(body) {
            return Ok(value);
        }
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

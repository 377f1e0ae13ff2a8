//! Discovery: `/api`, `/apis`, resource lists, `/version`, and the part of OpenAPI that kubectl needs.

use std::collections::BTreeMap;

use axum::response::Response;
use http::StatusCode;
use objects::error::Failure;
use objects::kinds::Resource;
use serde_json::{Value, json};

use super::json_response;
use crate::hub::Hub;

/// The Kubernetes version that this cluster imitates.
pub(crate) const VERSION: (&str, &str) = ("1", "34");

pub(crate) fn serve(hub: &Hub, path: &str) -> Result<Response, Failure> {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let value = match parts.as_slice() {
        ["version"] => version(),
        ["api"] => json!({ "kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [] }),
        ["apis"] => {
            let groups: Vec<Value> = groups(hub).iter().map(|(g, v)| group(g, v)).collect();
            json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups })
        }
        ["apis", name] => {
            let groups = groups(hub);
            let versions = groups.get(*name).ok_or_else(Failure::no_such_resource)?;
            let mut g = group(name, versions);
            g["kind"] = "APIGroup".into();
            g["apiVersion"] = "v1".into();
            g
        }
        ["api", "v1"] => resources(hub, "", "v1").ok_or_else(Failure::no_such_resource)?,
        ["apis", group, version] => resources(hub, group, version).ok_or_else(Failure::no_such_resource)?,
        ["openapi", "v3"] => openapi_index(hub),
        ["openapi", "v3", "api", "v1"] => openapi(hub, "", "v1"),
        ["openapi", "v3", "apis", group, version] => openapi(hub, group, version),
        _ => return Err(Failure::no_such_resource()),
    };
    Ok(json_response(StatusCode::OK, &value))
}

fn version() -> Value {
    json!({
        "major": VERSION.0, "minor": VERSION.1, "gitVersion": format!("v{}.{}.0-devcluster", VERSION.0, VERSION.1),
        "gitCommit": "", "gitTreeState": "clean", "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    })
}

/// Groups (without the core group) and their versions.
fn groups(hub: &Hub) -> BTreeMap<String, Vec<String>> {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for r in hub.kinds.all().iter().filter(|r| !r.group.is_empty()) {
        let versions = all.entry(r.group.clone()).or_default();
        if !versions.contains(&r.version) {
            versions.push(r.version.clone());
        }
    }
    all
}

fn group(name: &str, versions: &[String]) -> Value {
    let entry = |v: &String| json!({ "groupVersion": format!("{name}/{v}"), "version": v });
    let list: Vec<Value> = versions.iter().map(entry).collect();
    json!({ "name": name, "versions": list, "preferredVersion": list.first() })
}

fn resources(hub: &Hub, group: &str, version: &str) -> Option<Value> {
    let mut list = Vec::new();
    for r in hub.kinds.all().iter().filter(|r| r.group == group && r.version == version) {
        list.push(entry(r));
        let mut sub = |name: &str, kind: &str, verbs: &[&str]| {
            list.push(json!({ "name": format!("{}/{name}", r.plural), "singularName": "", "namespaced": r.namespaced, "kind": kind, "verbs": verbs }));
        };
        if r.status {
            sub("status", &r.kind, &["get", "patch", "update"]);
        }
        match r.id.as_str() {
            "pods" => {
                sub("log", "Pod", &["get"]);
                sub("exec", "PodExecOptions", &["create", "get"]);
                sub("binding", "Binding", &["create"]);
            }
            "serviceaccounts" => sub("token", "TokenRequest", &["create"]),
            _ => {}
        }
    }
    let group_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    (!list.is_empty()).then(|| json!({ "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": list }))
}

fn entry(r: &Resource) -> Value {
    let verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
    let mut v = json!({ "name": r.plural, "singularName": r.singular, "namespaced": r.namespaced, "kind": r.kind, "verbs": verbs });
    if !r.short.is_empty() {
        v["shortNames"] = json!(r.short);
    }
    v
}

fn openapi_index(hub: &Hub) -> Value {
    let mut paths = serde_json::Map::new();
    paths.insert("api/v1".into(), json!({ "serverRelativeURL": "/openapi/v3/api/v1" }));
    for (group, versions) in groups(hub) {
        for v in versions {
            paths.insert(
                format!("apis/{group}/{v}"),
                json!({ "serverRelativeURL": format!("/openapi/v3/apis/{group}/{v}") }),
            );
        }
    }
    json!({ "paths": paths })
}

/// Paths with the parameters that kubectl checks (`fieldValidation`, `dryRun`), and the schemas of custom
/// kinds.
fn openapi(hub: &Hub, group: &str, version: &str) -> Value {
    let (mut paths, mut schemas) = (serde_json::Map::new(), serde_json::Map::new());
    let base = if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
    for r in hub.kinds.all().iter().filter(|r| r.group == group && r.version == version) {
        let gvk = json!([{ "group": group, "version": version, "kind": r.kind }]);
        let parameter = |name: &str| json!({ "name": name, "in": "query", "schema": { "type": "string" } });
        let operation = |action: &str| json!({ "x-kubernetes-action": action, "x-kubernetes-group-version-kind": gvk[0], "parameters": [parameter("dryRun"), parameter("fieldManager"), parameter("fieldValidation")], "responses": { "200": { "description": "OK" } } });
        let scope = if r.namespaced {
            format!("{base}/namespaces/{{namespace}}/{}", r.plural)
        } else {
            format!("{base}/{}", r.plural)
        };
        paths.insert(scope.clone(), json!({ "post": operation("post") }));
        paths.insert(
            format!("{scope}/{{name}}"),
            json!({ "put": operation("put"), "patch": operation("patch") }),
        );
        let mut schema = r.schema.as_ref().map_or_else(|| json!({ "type": "object" }), |s| s.raw.clone());
        schema["x-kubernetes-group-version-kind"] = gvk.clone();
        schemas.insert(
            format!("{}.{version}.{}", group.split('.').rev().collect::<Vec<_>>().join("."), r.kind),
            schema,
        );
    }
    json!({ "openapi": "3.0.0", "info": { "title": "Kubernetes", "version": format!("v{}.{}", VERSION.0, VERSION.1) }, "paths": paths, "components": { "schemas": schemas } })
}

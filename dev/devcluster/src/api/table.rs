//! Tables, as `kubectl get` requests them.

use std::sync::Arc;

use http::{HeaderMap, header};
use objects::json::{items, text};
use objects::kinds::Column;
use objects::store::Object;
use serde_json::{Value, json};

use super::request::Target;

/// Whether the client requests a table.
pub(crate) fn wanted(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|v| v.to_str().ok()).unwrap_or("");
    accept.split(',').next().is_some_and(|first| first.contains("as=Table"))
}

/// Objects as a table of their kind.
pub(crate) fn of(target: &Target, objects: &[Arc<Object>], meta: &Value) -> Value {
    let columns = columns(target);
    let definitions: Vec<Value> = columns
        .iter()
        .map(|c| json!({ "name": c.name, "type": if c.r#type == "date" { "string" } else { &c.r#type }, "format": if c.name == "Name" { "name" } else { "" }, "description": c.description, "priority": c.priority }))
        .collect();
    let rows: Vec<Value> = objects
        .iter()
        .map(|o| {
            let cells: Vec<Value> = columns.iter().map(|c| cell(c, &o.value)).collect();
            let m = &o.value["metadata"];
            let partial =
                json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": m });
            json!({ "cells": cells, "object": partial })
        })
        .collect();
    json!({ "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": meta, "columnDefinitions": definitions, "rows": rows })
}

fn column(name: &str, kind: &str, path: &str) -> Column {
    Column {
        name: name.into(),
        r#type: kind.into(),
        path: path.into(),
        priority: 0,
        description: String::new(),
    }
}

fn columns(target: &Target) -> Vec<Column> {
    let mut all = vec![column("Name", "string", ".metadata.name")];
    let builtin: &[(&str, &str)] = match target.resource.id.as_str() {
        "pods" => &[
            ("Ready", "!ready"),
            ("Status", "!podStatus"),
            ("Restarts", "!restarts"),
            ("Age", "!age"),
            ("IP", ".status.podIP"),
            ("Node", ".spec.nodeName"),
        ],
        "nodes" => {
            &[("Status", "!nodeStatus"), ("Age", "!age"), ("Version", ".status.nodeInfo.kubeletVersion")]
        }
        "namespaces" => &[("Status", ".status.phase"), ("Age", "!age")],
        "events" => &[
            ("Last Seen", "!seen"),
            ("Type", ".type"),
            ("Reason", ".reason"),
            ("Object", "!object"),
            ("Message", ".message"),
        ],
        "persistentvolumeclaims" => &[
            ("Status", ".status.phase"),
            ("Volume", ".spec.volumeName"),
            ("Capacity", ".status.capacity.storage"),
            ("StorageClass", ".spec.storageClassName"),
            ("Age", "!age"),
        ],
        "persistentvolumes" => &[
            ("Capacity", ".spec.capacity.storage"),
            ("Status", ".status.phase"),
            ("Claim", ".spec.claimRef.name"),
            ("Age", "!age"),
        ],
        "priorityclasses.scheduling.k8s.io" => {
            &[("Value", ".value"), ("Age", "!age"), ("PreemptionPolicy", ".preemptionPolicy")]
        }
        "leases.coordination.k8s.io" => &[("Holder", ".spec.holderIdentity"), ("Age", "!age")],
        "customresourcedefinitions.apiextensions.k8s.io" => &[("Created At", ".metadata.creationTimestamp")],
        "secrets" => &[("Type", ".type"), ("Age", "!age")],
        _ => &[],
    };
    let custom = target.resource.columns.clone();
    if !custom.is_empty() {
        all.extend(custom);
    } else if builtin.is_empty() {
        all.push(column("Age", "string", "!age"));
    } else {
        all.extend(builtin.iter().map(|(name, path)| column(name, "string", path)));
    }
    for c in &mut all {
        if matches!((target.resource.id.as_str(), c.name.as_str()), ("pods", "IP" | "Node")) {
            c.priority = 1;
        }
    }
    all
}

fn cell(column: &Column, object: &Value) -> Value {
    match column.path.as_str() {
        "!age" => age(&object["metadata"]["creationTimestamp"]),
        "!seen" => age(if object["lastTimestamp"].is_string() {
            &object["lastTimestamp"]
        } else {
            &object["eventTime"]
        }),
        "!object" => {
            let o = &object["involvedObject"];
            format!("{}/{}", text(&o["kind"]).to_lowercase(), text(&o["name"])).into()
        }
        "!ready" => {
            let all = items(&object["status"]["containerStatuses"]);
            let total = object["spec"]["containers"].as_array().map_or(0, Vec::len);
            format!("{}/{total}", all.iter().filter(|c| c["ready"] == true).count()).into()
        }
        "!restarts" => {
            let all = items(&object["status"]["containerStatuses"]);
            all.iter().filter_map(|c| c["restartCount"].as_i64()).sum::<i64>().into()
        }
        "!podStatus" => pod_status(object).into(),
        "!nodeStatus" => {
            let ready = items(&object["status"]["conditions"])
                .iter()
                .any(|c| c["type"] == "Ready" && c["status"] == "True");
            let text = if ready { "Ready" } else { "NotReady" };
            if object["spec"]["unschedulable"] == true {
                format!("{text},SchedulingDisabled").into()
            } else {
                text.into()
            }
        }
        path => {
            let found = json_path(object, path);
            match (column.r#type.as_str(), found) {
                ("date", Some(v)) => age(v),
                (_, Some(v)) => v.clone(),
                (_, None) => {
                    if column.r#type == "string" {
                        "".into()
                    } else {
                        Value::Null
                    }
                }
            }
        }
    }
}

fn pod_status(pod: &Value) -> String {
    if pod["metadata"]["deletionTimestamp"].is_string() {
        return "Terminating".into();
    }
    let state = &pod["status"]["containerStatuses"][0]["state"];
    for kind in ["waiting", "terminated"] {
        if let Some(reason) = state[kind]["reason"].as_str() {
            return reason.to_owned();
        }
    }
    pod["status"]["reason"].as_str().or_else(|| pod["status"]["phase"].as_str()).unwrap_or("").to_owned()
}

fn age(time: &Value) -> Value {
    let Some(then) = time.as_str().and_then(|t| t.parse::<jiff::Timestamp>().ok()) else {
        return "<unknown>".into();
    };
    let s = jiff::Timestamp::now().as_second() - then.as_second();
    match s {
        ..120 => format!("{s}s"),
        120..7200 => format!("{}m", s / 60),
        7200..172_800 => format!("{}h", s / 3600),
        _ => format!("{}d", s / 86400),
    }
    .into()
}

/// Evaluates the JSONPath of a printer column: fields, indexes and `[?(@.a=="b")]`.
pub(crate) fn json_path<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    let mut at = value;
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(tail) = rest.strip_prefix("[?(@.") {
            let (filter, after) = tail.split_once(")]")?;
            let (field, wanted) = filter.split_once("==")?;
            let wanted = wanted.trim().trim_matches(['"', '\'']);
            at = at.as_array()?.iter().find(|i| i[field.trim()] == wanted)?;
            rest = after;
        } else if let Some(tail) = rest.strip_prefix('[') {
            let (index, after) = tail.split_once(']')?;
            at = match index.trim_matches(['"', '\'']).parse::<usize>() {
                Ok(i) => at.get(i)?,
                Err(_) => at.get(index.trim_matches(['"', '\'']))?,
            };
            rest = after;
        } else {
            let tail = rest.strip_prefix('.').unwrap_or(rest);
            let mut end = tail.len();
            let mut escaped = false;
            for (i, c) in tail.char_indices() {
                if !escaped && matches!(c, '.' | '[') {
                    end = i;
                    break;
                }
                escaped = c == '\\';
            }
            at = at.get(tail[..end].replace('\\', ""))?;
            rest = &tail[end..];
        }
    }
    Some(at).filter(|v| !v.is_null())
}

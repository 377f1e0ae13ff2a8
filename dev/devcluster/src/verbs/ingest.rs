//! From a client's body to stored form: identity, unknown fields, types, names, validation.

use objects::admission;
use objects::error::{Cause, Failure};
use objects::json::{entries, items, text};
use objects::kinds::builtin;
use objects::write::{Unknown, Write};
use serde_json::{Map, Value};

/// Brings a client's object into stored form: identity checked, unknown fields dealt with, types right.
pub(super) fn ingest(w: &Write<'_>, value: &mut Value, defaults: bool) -> Result<Vec<String>, Failure> {
    let (res, kind) = (w.resource, &w.resource.kind);
    let api_version = res.api_version();
    let Some(map) = value.as_object_mut() else {
        return Err(Failure::bad_request("the body must be an object"));
    };
    for (field, want) in [("kind", kind), ("apiVersion", &api_version)] {
        match map.get(field) {
            None => drop(map.insert(field.into(), want.clone().into())),
            Some(Value::String(s)) if s.is_empty() || s == want => {
                drop(map.insert(field.into(), want.clone().into()));
            }
            Some(other) => {
                return Err(Failure::bad_request(format!(
                    "{field} in the data ({other}) does not match the expected {field} ({want})"
                )));
            }
        }
    }
    let meta = map.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    if meta.is_null() {
        *meta = Value::Object(Map::new());
    }
    type Meta = k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
    let known = <Meta as serde::Deserialize>::deserialize(&*meta)
        .and_then(serde_json::to_value)
        .map_err(|e| Failure::bad_request(format!("metadata: {e}")))?;
    let mut dropped = Vec::new();
    builtin::keep_known(meta, &known, "metadata", &mut dropped);
    for field in ["labels", "annotations"] {
        if meta[field].is_null() {
            meta.as_object_mut().map(|m| m.shift_remove(field));
        }
    }
    match (&res.schema, res.check) {
        (Some(schema), _) => {
            dropped.extend(schema.prune(value));
            if defaults {
                schema.default(value);
            }
        }
        (None, Some(check)) => {
            builtin::quantities_as_text(value);
            let known = check(value).map_err(|e| {
                Failure::bad_request(format!(
                    "{kind} in version {:?} cannot be handled as a {kind}: {e}",
                    res.version
                ))
            })?;
            builtin::keep_known(value, &known, "", &mut dropped);
        }
        (None, None) => {}
    }
    dropped.sort();
    dropped.dedup();
    let messages: Vec<String> = dropped.iter().map(|p| format!("unknown field \"{p}\"")).collect();
    match w.unknown {
        Unknown::Strict if !messages.is_empty() => Err(Failure::bad_request(format!(
            "{kind} in version {:?} cannot be handled as a {kind}: strict decoding error: {}",
            res.version,
            messages.join(", ")
        ))),
        Unknown::Warn => Ok(messages),
        _ => Ok(Vec::new()),
    }
}

fn check_names(w: &Write<'_>, value: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let name = text(&value["metadata"]["name"]);
    let rbac = w.resource.group == "rbac.authorization.k8s.io";
    let ok_char = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    let ends = |s: &str| {
        s.starts_with(|c: char| c.is_ascii_alphanumeric()) && s.ends_with(|c: char| c.is_ascii_alphanumeric())
    };
    let bad = if rbac {
        name.contains(['/', '%'])
    } else {
        name.len() > 253 || !name.chars().all(ok_char) || !ends(name)
    };
    if bad || name.is_empty() {
        let why = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
        causes.push(Cause::invalid("metadata.name", &value["metadata"]["name"], why));
    }
    if matches!(w.resource.id.as_str(), "namespaces" | "services") && (name.len() > 63 || name.contains('.'))
    {
        causes.push(Cause::invalid(
            "metadata.name",
            &name.into(),
            "must be no more than 63 characters and contain no '.'",
        ));
    }
    for (key, v) in entries(&value["metadata"]["labels"]) {
        let text = text(v);
        let part = |s: &str| {
            s.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')) && s.len() <= 63
        };
        if !(text.is_empty() || part(text) && ends(text)) {
            causes.push(Cause::invalid("metadata.labels", v, "a valid label value must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"));
        }
        let last = key.rsplit('/').next().unwrap_or("");
        if last.is_empty() || !part(last) || !ends(last) {
            causes.push(Cause::invalid(
                "metadata.labels",
                &key.as_str().into(),
                "name part must consist of alphanumeric characters, '-', '_' or '.'",
            ));
        }
    }
    for (i, owner) in items(&value["metadata"]["ownerReferences"]).iter().enumerate() {
        for field in ["apiVersion", "kind", "name", "uid"] {
            if text(&owner[field]).is_empty() {
                causes.push(Cause::required(
                    format!("metadata.ownerReferences[{i}].{field}"),
                    "must not be empty",
                ));
            }
        }
    }
    causes
}

pub(super) fn validate(w: &Write<'_>, value: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = if old.is_none() { check_names(w, value) } else { Vec::new() };
    match &w.resource.schema {
        Some(schema) => causes.extend(schema.validate(value, old)),
        None => causes.extend(admission::validate(&w.resource.id, w.subresource, value, old)),
    }
    causes
}

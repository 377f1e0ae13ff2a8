//! The environment variables of a container.

use std::collections::BTreeMap;

use objects::json::{items, text};
use objects::pod::container;
use objects::store::Object;

use super::volumes::{Blocked, config, source};
use crate::hub::Hub;

/// The environment of a container: `env` (of the image), extended by `envFrom` and then by the pod's `env`.
pub(super) fn environment(
    hub: &Hub,
    pod: &Object,
    address: &str,
    mut env: BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, Blocked> {
    let container = container(&pod.value);
    let string = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
    for from in items(&container["envFrom"]) {
        let prefix = text(&from["prefix"]);
        for (field, kind) in [("secretRef", "secrets"), ("configMapRef", "configmaps")] {
            let Some(name) = from[field]["name"].as_str() else { continue };
            match source(hub, kind, pod.namespace(), name) {
                Some(files) => env.extend(files.iter().map(|(k, v)| (format!("{prefix}{k}"), string(v)))),
                None if from[field]["optional"] == true => {}
                None => return Err(config(format!("{kind} \"{name}\" not found"))),
            }
        }
    }
    let mut own: BTreeMap<String, String> = BTreeMap::new();
    for e in items(&container["env"]) {
        let name = text(&e["name"]).to_owned();
        let from = &e["valueFrom"];
        let value = if let Some(path) = from["fieldRef"]["fieldPath"].as_str() {
            Some(field(pod, path, address).ok_or_else(|| config(format!("unsupported fieldPath {path}")))?)
        } else if from.is_object() {
            let mut found = None;
            for (field, kind) in [("secretKeyRef", "secrets"), ("configMapKeyRef", "configmaps")] {
                let r = &from[field];
                if !r.is_object() {
                    continue;
                }
                let (object, key) = (text(&r["name"]), text(&r["key"]));
                let value = source(hub, kind, pod.namespace(), object).and_then(|f| f.get(key).map(string));
                if value.is_none() && r["optional"] != true {
                    return Err(config(format!(
                        "couldn't find key {key} in {kind} {}/{object}",
                        pod.namespace()
                    )));
                }
                found = Some(value);
            }
            found.ok_or_else(|| config(format!("env {name}: this source is not served by this cluster")))?
        } else {
            Some(expand(text(&e["value"]), &own))
        };
        if let Some(value) = value {
            own.insert(name, value);
        }
    }
    env.extend(own);
    Ok(env)
}

/// A field of the downward API.
fn field(pod: &Object, path: &str, address: &str) -> Option<String> {
    match path {
        "metadata.name" => Some(pod.name().to_owned()),
        "metadata.namespace" => Some(pod.namespace().to_owned()),
        "metadata.uid" => Some(pod.uid().to_owned()),
        "status.podIP" | "status.podIPs" => Some(address.to_owned()),
        "status.hostIP" => Some("127.0.0.1".into()),
        "spec.nodeName" => pod.value["spec"]["nodeName"].as_str().map(str::to_owned),
        "spec.serviceAccountName" => pod.value["spec"]["serviceAccountName"].as_str().map(str::to_owned),
        _ => None,
    }
}

/// Replaces `$(NAME)` by the variables defined so far. Unknown names stay; `$$` is an escaped `$`.
pub(super) fn expand(text: &str, env: &BTreeMap<String, String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(tail) = rest.strip_prefix("$$") {
            out.push('$');
            rest = tail;
        } else if let Some((name, tail)) = rest.strip_prefix("$(").and_then(|t| t.split_once(')')) {
            match env.get(name) {
                Some(value) => out.push_str(value),
                None => out.push_str(&rest[..name.len() + 3]),
            }
            rest = tail;
        } else {
            out.push('$');
            rest = &rest[1..];
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_expand() {
        let env = BTreeMap::from([("A".to_owned(), "1".to_owned())]);
        assert_eq!(expand("x$(A)y $(B) $$(A) $", &env), "x1y $(B) $(A) $");
    }
}

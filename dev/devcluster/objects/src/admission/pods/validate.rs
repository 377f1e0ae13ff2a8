//! Validation of pods. Features of Kubernetes that are not supported here are refused.

use crate::error::Cause;
use crate::json::{entries, items, quantity, remove, text};
use serde_json::Value;

/// Fields of `spec` that this cluster does not serve, and why.
const NOT_SERVED: [(&str, &str); 3] = [
    ("initContainers", "init containers are not run by this cluster"),
    ("ephemeralContainers", "cannot be set on create"),
    ("schedulingGates", "scheduling gates are not served by this cluster"),
];

pub(crate) fn validate(subresource: &str, pod: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    if subresource == "status" {
        if let Some(old) = old {
            validate_nomination(pod, old, causes);
        }
        return;
    }
    if let Some(old) = old {
        validate_change(pod, old, causes);
        return;
    }
    let spec = &pod["spec"];
    for (field, why) in NOT_SERVED {
        let empty = match &spec[field] {
            Value::Array(list) => list.is_empty(),
            other => other.is_null(),
        };
        if !empty {
            causes.push(Cause::forbidden(format!("spec.{field}"), why));
        }
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        let required = &spec["affinity"][kind]["requiredDuringSchedulingIgnoredDuringExecution"];
        if !items(required).is_empty() {
            let why = "pod affinity is not served by this cluster";
            causes.push(Cause::forbidden(format!("spec.affinity.{kind}"), why));
        }
    }
    // without a selector, a constraint counts no pods and requires only a label of the node
    if items(&spec["topologySpreadConstraints"]).iter().any(|c| !c["labelSelector"].is_null()) {
        let why = "topology spread of selected pods is not served by this cluster";
        causes.push(Cause::forbidden("spec.topologySpreadConstraints", why));
    }
    if items(&spec["resourceClaims"]).iter().any(|c| !c["resourceClaimTemplateName"].is_null()) {
        let why = "claim templates are not served by this cluster";
        causes.push(Cause::forbidden("spec.resourceClaims", why));
    }
    let policy = &spec["restartPolicy"];
    if !matches!(text(policy), "Always" | "OnFailure" | "Never") {
        causes.push(Cause::invalid("spec.restartPolicy", policy, "must be Always, OnFailure or Never"));
    }
    let volumes: Vec<&str> = items(&spec["volumes"]).iter().map(|v| text(&v["name"])).collect();
    for (i, name) in volumes.iter().enumerate() {
        if volumes[..i].contains(name) {
            causes.push(Cause::duplicate(format!("spec.volumes[{i}].name"), &Value::from(*name)));
        }
    }
    match items(&spec["containers"]) {
        [] => causes.push(Cause::required("spec.containers", "")),
        [container] => validate_container(container, &volumes, causes),
        _ => causes.push(Cause::forbidden("spec.containers", "this cluster runs one container per pod")),
    }
}

fn validate_container(c: &Value, volumes: &[&str], causes: &mut Vec<Cause>) {
    let at = "spec.containers[0]";
    for field in ["name", "image"] {
        if text(&c[field]).is_empty() {
            causes.push(Cause::required(format!("{at}.{field}"), ""));
        }
    }
    let mounts = items(&c["volumeMounts"]);
    for (i, m) in mounts.iter().enumerate() {
        let at = format!("{at}.volumeMounts[{i}]");
        if !volumes.contains(&text(&m["name"])) {
            causes.push(Cause::not_found(format!("{at}.name"), &m["name"]));
        }
        let path = &m["mountPath"];
        if text(path).is_empty() {
            causes.push(Cause::required(format!("{at}.mountPath"), ""));
        }
        if mounts[..i].iter().any(|other| other["mountPath"] == *path) {
            causes.push(Cause::invalid(format!("{at}.mountPath"), path, "must be unique"));
        }
    }
    validate_resources(&c["resources"], at, causes);
    for probe in ["startupProbe", "readinessProbe", "livenessProbe"] {
        let p = &c[probe];
        if p.is_object() && !["httpGet", "tcpSocket", "exec"].iter().any(|k| p[k].is_object()) {
            let why =
                "must specify a handler: httpGet, tcpSocket or exec (grpc is not served by this cluster)";
            causes.push(Cause::required(format!("{at}.{probe}"), why));
        }
        if p["httpGet"]["scheme"] == "HTTPS" {
            let field = format!("{at}.{probe}.httpGet.scheme");
            causes.push(Cause::forbidden(field, "HTTPS probes are not served by this cluster"));
        }
    }
}

fn validate_resources(resources: &Value, at: &str, causes: &mut Vec<Cause>) {
    for which in ["limits", "requests"] {
        for (name, v) in entries(&resources[which]) {
            let limit = &resources["limits"][name];
            let plain = !matches!(name.as_str(), "cpu" | "memory" | "ephemeral-storage")
                && !name.starts_with("hugepages-");
            let why = match quantity(v) {
                None => "must be a quantity".to_owned(),
                Some(n) if n < 0 => "must be greater than or equal to 0".to_owned(),
                Some(_) if plain && !name.contains('/') => {
                    "must be a standard resource type or fully qualified".to_owned()
                }
                Some(n) if plain && n % 1000 != 0 => "must be an integer".to_owned(),
                Some(_) if plain && *limit != resources["requests"][name] => {
                    format!("must be equal to {name} limit")
                }
                Some(n) if quantity(limit).is_some_and(|limit| n > limit) => {
                    format!("must be less than or equal to {name} limit")
                }
                Some(_) => continue,
            };
            causes.push(Cause::invalid(format!("{at}.resources.{which}[{name}]"), v, why));
        }
    }
}

fn validate_nomination(pod: &Value, old: &Value, causes: &mut Vec<Cause>) {
    let nominated = |pod: &Value| text(&pod["status"]["nominatedNodeName"]).to_owned();
    let bound = !text(&old["spec"]["nodeName"]).is_empty();
    if bound && !nominated(pod).is_empty() && nominated(pod) != nominated(old) {
        let why = "may not be set on pods that are already bound to a node";
        causes.push(Cause::forbidden("status.nominatedNodeName", why));
    }
}

fn validate_change(pod: &Value, old: &Value, causes: &mut Vec<Cause>) {
    let frozen = |v: &Value| {
        let mut spec = v["spec"].clone();
        for field in ["tolerations", "activeDeadlineSeconds", "terminationGracePeriodSeconds"] {
            remove(&mut spec, field);
        }
        for c in spec["containers"].as_array_mut().into_iter().flatten() {
            remove(c, "image");
        }
        spec
    };
    if frozen(pod) != frozen(old) {
        let why = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
        causes.push(Cause::forbidden("spec", why));
    }
    let kept = items(&pod["spec"]["tolerations"]);
    if items(&old["spec"]["tolerations"]).iter().any(|t| !kept.contains(t)) {
        let why = "existing toleration can not be modified except its tolerationSeconds";
        causes.push(Cause::forbidden("spec.tolerations", why));
    }
}

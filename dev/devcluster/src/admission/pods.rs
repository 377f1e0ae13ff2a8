//! Pods: defaults, validation, priority and service account.

use crate::error::{Cause, Failure};
use crate::kinds::Resource;
use crate::quantity;
use crate::store::Inner;
use crate::verbs::Write;
use serde_json::{Value, json};

fn set_default(value: &mut Value, field: &str, default: impl Into<Value>) {
    if value[field].is_null() {
        value[field] = default.into();
    }
}

pub(crate) fn default(pod: &mut Value) {
    let spec = &mut pod["spec"];
    if !spec.is_object() {
        return;
    }
    set_default(spec, "restartPolicy", "Always");
    set_default(spec, "dnsPolicy", "ClusterFirst");
    set_default(spec, "schedulerName", "default-scheduler");
    set_default(spec, "terminationGracePeriodSeconds", 30);
    set_default(spec, "enableServiceLinks", true);
    set_default(spec, "securityContext", json!({}));
    for volume in spec["volumes"].as_array_mut().into_iter().flatten() {
        for (kind, mode) in [("secret", 420), ("configMap", 420)] {
            if volume[kind].is_object() {
                set_default(&mut volume[kind], "defaultMode", mode);
            }
        }
        let only_name = volume.as_object().is_some_and(|m| m.len() == 1 && m.contains_key("name"));
        if only_name {
            volume["emptyDir"] = json!({});
        }
    }
    for list in ["containers", "initContainers"] {
        for container in spec[list].as_array_mut().into_iter().flatten() {
            default_container(container);
        }
    }
    if pod["status"]["phase"].is_null() {
        pod["status"] = json!({ "phase": "Pending", "qosClass": qos(&pod["spec"]) });
    }
}

fn default_container(c: &mut Value) {
    let latest = c["image"]
        .as_str()
        .is_some_and(|i| i.ends_with(":latest") || !i.rsplit('/').next().unwrap_or("").contains(':'));
    set_default(c, "imagePullPolicy", if latest { "Always" } else { "IfNotPresent" });
    set_default(c, "terminationMessagePath", "/dev/termination-log");
    set_default(c, "terminationMessagePolicy", "File");
    set_default(c, "resources", json!({}));
    for port in c["ports"].as_array_mut().into_iter().flatten() {
        set_default(port, "protocol", "TCP");
    }
    for e in c["env"].as_array_mut().into_iter().flatten() {
        if e["valueFrom"]["fieldRef"].is_object() {
            set_default(&mut e["valueFrom"]["fieldRef"], "apiVersion", "v1");
        }
    }
    for probe in ["startupProbe", "readinessProbe", "livenessProbe"] {
        let p = &mut c[probe];
        if p.is_object() {
            for (field, n) in [
                ("timeoutSeconds", 1),
                ("periodSeconds", 10),
                ("successThreshold", 1),
                ("failureThreshold", 3),
            ] {
                set_default(p, field, n);
            }
            if p["httpGet"].is_object() {
                set_default(&mut p["httpGet"], "path", "/");
                set_default(&mut p["httpGet"], "scheme", "HTTP");
            }
        }
    }
    after_limits_of(c);
}

fn after_limits_of(c: &mut Value) {
    let limits = c["resources"]["limits"].as_object().cloned().unwrap_or_default();
    for (name, limit) in limits {
        if c["resources"]["requests"][&name].is_null() {
            c["resources"]["requests"][&name] = limit;
        }
    }
}

/// Requests follow limits that a limit range has filled in.
pub(crate) fn after_limits(pod: &mut Value) {
    for c in pod["spec"]["containers"].as_array_mut().into_iter().flatten() {
        after_limits_of(c);
    }
    pod["status"]["qosClass"] = qos(&pod["spec"]).into();
}

fn qos(spec: &Value) -> &'static str {
    let containers = spec["containers"].as_array().map(Vec::as_slice).unwrap_or_default();
    let has = |c: &Value, which: &str, name: &str| c["resources"][which][name].is_string();
    let any = containers
        .iter()
        .any(|c| ["cpu", "memory"].iter().any(|r| has(c, "limits", r) || has(c, "requests", r)));
    let all = containers.iter().all(|c| {
        ["cpu", "memory"]
            .iter()
            .all(|r| has(c, "limits", r) && c["resources"]["limits"][r] == c["resources"]["requests"][r])
    });
    match (any, all) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        _ => "Burstable",
    }
}

pub(crate) fn validate(subresource: &str, pod: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    if subresource == "status" {
        return;
    }
    if let Some(old) = old {
        validate_change(pod, old, causes);
        return;
    }
    let spec = &pod["spec"];
    let containers = spec["containers"].as_array().map(Vec::as_slice).unwrap_or_default();
    if containers.is_empty() {
        causes.push(Cause::required("spec.containers", ""));
    }
    for (list, why) in [
        ("initContainers", "init containers are not run by this cluster"),
        ("ephemeralContainers", "cannot be set on create"),
    ] {
        if spec[list].as_array().is_some_and(|l| !l.is_empty()) {
            causes.push(Cause::forbidden(format!("spec.{list}"), why));
        }
    }
    if containers.len() > 1 {
        causes.push(Cause::forbidden("spec.containers", "this cluster runs one container per pod"));
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        let required = &spec["affinity"][kind]["requiredDuringSchedulingIgnoredDuringExecution"];
        if required.as_array().is_some_and(|l| !l.is_empty()) {
            causes.push(Cause::forbidden(
                format!("spec.affinity.{kind}"),
                "pod affinity is not served by this cluster",
            ));
        }
    }
    let spread = spec["topologySpreadConstraints"].as_array().into_iter().flatten();
    if spread.clone().any(|c| c["whenUnsatisfiable"] != "ScheduleAnyway") {
        causes.push(Cause::forbidden(
            "spec.topologySpreadConstraints",
            "DoNotSchedule is not served by this cluster",
        ));
    }
    if !matches!(spec["restartPolicy"].as_str(), Some("Always" | "OnFailure" | "Never")) {
        causes.push(Cause::invalid(
            "spec.restartPolicy",
            &spec["restartPolicy"],
            "must be Always, OnFailure or Never",
        ));
    }
    let volumes: Vec<&str> =
        spec["volumes"].as_array().into_iter().flatten().filter_map(|v| v["name"].as_str()).collect();
    for (i, v) in volumes.iter().enumerate() {
        if volumes[..i].contains(v) {
            causes.push(Cause {
                field: format!("spec.volumes[{i}].name"),
                reason: "FieldValueDuplicate",
                message: format!("Duplicate value: \"{v}\""),
            });
        }
    }
    for (i, c) in containers.iter().enumerate() {
        let at = format!("spec.containers[{i}]");
        for field in ["name", "image"] {
            if c[field].as_str().unwrap_or("").is_empty() {
                causes.push(Cause::required(format!("{at}.{field}"), ""));
            }
        }
        for (j, m) in c["volumeMounts"].as_array().into_iter().flatten().enumerate() {
            if !m["name"].as_str().is_some_and(|n| volumes.contains(&n)) {
                let field = format!("{at}.volumeMounts[{j}].name");
                causes.push(Cause {
                    field,
                    reason: "FieldValueNotFound",
                    message: format!("Not found: {}", m["name"]),
                });
            }
            if m["mountPath"].as_str().unwrap_or("").is_empty() {
                causes.push(Cause::required(format!("{at}.volumeMounts[{j}].mountPath"), ""));
            }
            let earlier = c["volumeMounts"].as_array().into_iter().flatten().take(j);
            if earlier.into_iter().any(|other| other["mountPath"] == m["mountPath"]) {
                let field = format!("{at}.volumeMounts[{j}].mountPath");
                causes.push(Cause::invalid(field, &m["mountPath"], "must be unique"));
            }
        }
        validate_resources(&c["resources"], &at, causes);
        for probe in ["startupProbe", "readinessProbe", "livenessProbe"] {
            let p = &c[probe];
            if p.is_object() && !["httpGet", "tcpSocket", "exec"].iter().any(|k| p[k].is_object()) {
                let why = "must specify a handler: httpGet, tcpSocket or exec (grpc is not served here)";
                causes.push(Cause::required(format!("{at}.{probe}"), why));
            }
            if p["httpGet"]["scheme"] == "HTTPS" {
                causes.push(Cause::forbidden(
                    format!("{at}.{probe}.httpGet.scheme"),
                    "HTTPS probes are not served here",
                ));
            }
        }
    }
}

fn validate_resources(resources: &Value, at: &str, causes: &mut Vec<Cause>) {
    for which in ["limits", "requests"] {
        for (name, v) in resources[which].as_object().into_iter().flatten() {
            let field = format!("{at}.resources.{which}[{name}]");
            let amount = v.as_str().and_then(quantity::parse_milli);
            match amount {
                None => causes.push(Cause::invalid(field, v, "must be a quantity")),
                Some(n) if n < 0 => {
                    causes.push(Cause::invalid(field, v, "must be greater than or equal to 0"));
                }
                Some(n) => {
                    let plain = !matches!(name.as_str(), "cpu" | "memory" | "ephemeral-storage")
                        && !name.starts_with("hugepages-");
                    if plain && !name.contains('/') {
                        causes.push(Cause::invalid(
                            field,
                            &name.as_str().into(),
                            "must be a standard resource type or fully qualified",
                        ));
                    } else if plain && n % 1000 != 0 {
                        causes.push(Cause::invalid(field, v, "must be an integer"));
                    } else if plain && resources["limits"][name] != resources["requests"][name] {
                        causes.push(Cause::invalid(field, v, format!("must be equal to {name} limit")));
                    } else if which == "requests" {
                        let limit = resources["limits"][name].as_str().and_then(quantity::parse_milli);
                        if limit.is_some_and(|l| n > l) {
                            causes.push(Cause::invalid(
                                field,
                                v,
                                format!("must be less than or equal to {name} limit"),
                            ));
                        }
                    }
                }
            }
        }
    }
}

fn validate_change(pod: &Value, old: &Value, causes: &mut Vec<Cause>) {
    let frozen = |v: &Value| {
        let mut spec = v["spec"].clone();
        if let Some(map) = spec.as_object_mut() {
            for field in
                ["tolerations", "activeDeadlineSeconds", "terminationGracePeriodSeconds", "schedulingGates"]
            {
                map.shift_remove(field);
            }
        }
        for c in spec["containers"].as_array_mut().into_iter().flatten() {
            c.as_object_mut().map(|m| m.shift_remove("image"));
        }
        spec
    };
    if frozen(pod) != frozen(old) {
        let why = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
        causes.push(Cause::forbidden("spec", why));
    }
    let gates = |v: &Value| v["spec"]["schedulingGates"].as_array().cloned().unwrap_or_default();
    if gates(pod).iter().any(|g| !gates(old).contains(g)) {
        causes.push(Cause::forbidden("spec.schedulingGates", "only deletion is allowed"));
    }
    let tolerations = |v: &Value| v["spec"]["tolerations"].as_array().cloned().unwrap_or_default();
    let kept = tolerations(pod);
    if tolerations(old).iter().any(|t| !kept.contains(t)) {
        causes.push(Cause::forbidden(
            "spec.tolerations",
            "existing toleration can not be modified except its tolerationSeconds",
        ));
    }
}

/// Turns `priorityClassName` into `priority` and `preemptionPolicy`.
pub(crate) fn resolve_priority(tx: &Inner, res: &Resource, pod: &mut Value) -> Result<(), Failure> {
    let name = pod["metadata"]["name"].as_str().unwrap_or("").to_owned();
    let class = pod["spec"]["priorityClassName"].as_str().unwrap_or("").to_owned();
    let found = if class.is_empty() {
        tx.list("priorityclasses.scheduling.k8s.io", "").find(|c| c.value["globalDefault"] == true).cloned()
    } else {
        let class = tx
            .get("priorityclasses.scheduling.k8s.io", "", &class)
            .ok_or_else(|| res.forbidden(&name, &format!("no PriorityClass with name {class} was found")))?;
        Some(class)
    };
    let (priority, policy) = match &found {
        Some(c) => (
            c.value["value"].as_i64().unwrap_or(0),
            c.value["preemptionPolicy"].as_str().unwrap_or("PreemptLowerPriority").to_owned(),
        ),
        None => (0, "PreemptLowerPriority".to_owned()),
    };
    if let Some(given) = pod["spec"]["priority"].as_i64()
        && given != priority
    {
        let why = format!(
            "the integer value of priority ({given}) must not be provided in pod spec; priority admission controller computed {priority} from the given PriorityClass name"
        );
        return Err(res.forbidden(&name, &why));
    }
    if let Some(c) = found
        && class.is_empty()
    {
        pod["spec"]["priorityClassName"] = c.name().into();
    }
    pod["spec"]["priority"] = priority.into();
    set_default(&mut pod["spec"], "preemptionPolicy", policy);
    Ok(())
}

/// The pod's service account must exist; `default` is meant when none is named.
pub(crate) fn service_account(tx: &Inner, w: &Write<'_>, name: &str, pod: &mut Value) -> Result<(), Failure> {
    set_default(&mut pod["spec"], "serviceAccountName", "default");
    let account = pod["spec"]["serviceAccountName"].as_str().unwrap_or("default").to_owned();
    pod["spec"]["serviceAccount"] = account.clone().into();
    if tx.get("serviceaccounts", w.namespace, &account).is_none() {
        let why = format!(
            "error looking up service account {}/{account}: serviceaccount \"{account}\" not found",
            w.namespace
        );
        return Err(w.resource.forbidden(name, &why));
    }
    Ok(())
}

/// A claim without a class gets the default class.
pub(crate) fn default_storage_class(tx: &Inner, claim: &mut Value) {
    if claim["spec"]["storageClassName"].is_null() {
        let default = tx.list("storageclasses.storage.k8s.io", "").find(|c| {
            c.value["metadata"]["annotations"]["storageclass.kubernetes.io/is-default-class"] == "true"
        });
        if let Some(class) = default {
            claim["spec"]["storageClassName"] = class.name().into();
        }
    }
}

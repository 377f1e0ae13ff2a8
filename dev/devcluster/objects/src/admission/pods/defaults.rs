//! Defaults of pods.

use crate::json::{entries, items, set_default, text};
use serde_json::{Value, json};

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
        for kind in ["secret", "configMap"] {
            if volume[kind].is_object() {
                set_default(&mut volume[kind], "defaultMode", 0o644);
            }
        }
        if volume.as_object().is_some_and(|m| m.values().filter(|v| !v.is_null()).count() == 1) {
            volume["emptyDir"] = json!({});
        }
    }
    for container in spec["containers"].as_array_mut().into_iter().flatten() {
        default_container(container);
    }
    if pod["status"]["phase"].is_null() {
        pod["status"] = json!({ "phase": "Pending", "qosClass": qos(&pod["spec"]) });
    }
}

fn default_container(c: &mut Value) {
    let tag = text(&c["image"]).rsplit('/').next().and_then(|last| last.split_once(':')).map(|(_, tag)| tag);
    let policy = if matches!(tag, None | Some("latest")) { "Always" } else { "IfNotPresent" };
    set_default(c, "imagePullPolicy", policy);
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
        if !p.is_object() {
            continue;
        }
        set_default(p, "timeoutSeconds", 1);
        set_default(p, "periodSeconds", 10);
        set_default(p, "successThreshold", 1);
        set_default(p, "failureThreshold", 3);
        if p["httpGet"].is_object() {
            set_default(&mut p["httpGet"], "path", "/");
            set_default(&mut p["httpGet"], "scheme", "HTTP");
        }
    }
    let limits = c["resources"]["limits"].clone();
    for (name, limit) in entries(&limits) {
        set_default(&mut c["resources"]["requests"], name, limit.clone());
    }
}

fn qos(spec: &Value) -> &'static str {
    let containers = items(&spec["containers"]);
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

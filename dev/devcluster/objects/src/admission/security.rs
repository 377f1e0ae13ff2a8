//! Pod Security: the levels `baseline` and `restricted`, enforced by the label of the namespace.

use crate::error::Failure;
use crate::json::{contains, entries, items, texts};
use crate::store::Inner;
use crate::write::Write;
use serde_json::Value;

#[rustfmt::skip]
const ADDABLE: [&str; 13] = [
    "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP", "SETGID",
    "SETPCAP", "SETUID", "SYS_CHROOT",
];
#[rustfmt::skip]
const VOLUMES: [&str; 8] = [
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret",
];

/// Refuses a pod that violates the `pod-security.kubernetes.io/enforce` level of its namespace.
pub(super) fn check(tx: &Inner, w: &Write<'_>, name: &str, pod: &Value) -> Result<(), Failure> {
    let Some(namespace) = tx.get("namespaces", "", w.namespace) else { return Ok(()) };
    let level = namespace.value["metadata"]["labels"]["pod-security.kubernetes.io/enforce"]
        .as_str()
        .unwrap_or("privileged");
    let version = namespace.value["metadata"]["labels"]["pod-security.kubernetes.io/enforce-version"]
        .as_str()
        .unwrap_or("latest");
    let violations = match level {
        "baseline" => baseline(&pod["spec"]),
        "restricted" => {
            let mut all = baseline(&pod["spec"]);
            all.extend(restricted(&pod["spec"]));
            all
        }
        _ => Vec::new(),
    };
    if violations.is_empty() {
        return Ok(());
    }
    let why = format!("violates PodSecurity \"{level}:{version}\": {}", violations.join(", "));
    Err(w.resource.forbidden(name, &why))
}

fn containers(spec: &Value) -> impl Iterator<Item = &Value> {
    items(&spec["containers"]).iter()
}

fn baseline(spec: &Value) -> Vec<String> {
    let mut all = Vec::new();
    for field in ["hostNetwork", "hostPID", "hostIPC"] {
        if spec[field] == true {
            all.push(format!("host namespaces ({field}=true)"));
        }
    }
    for v in items(&spec["volumes"]).iter().filter(|v| v["hostPath"].is_object()) {
        all.push(format!("hostPath volumes (volume {})", v["name"]));
    }
    for c in containers(spec) {
        let (name, security) = (&c["name"], &c["securityContext"]);
        if security["privileged"] == true {
            all.push(format!("privileged (container {name} must not set securityContext.privileged=true)"));
        }
        for cap in texts(&security["capabilities"]["add"]).filter(|c| !ADDABLE.contains(c)) {
            all.push(format!("non-default capabilities (container {name} must not include \"{cap}\" in securityContext.capabilities.add)"));
        }
        if items(&c["ports"]).iter().any(|p| p["hostPort"].as_i64().unwrap_or(0) != 0) {
            all.push(format!("hostPort (container {name} uses hostPorts)"));
        }
        if !matches!(security["procMount"].as_str(), None | Some("Default")) {
            all.push(format!("procMount (container {name})"));
        }
        if security["seccompProfile"]["type"] == "Unconfined" {
            all.push(format!("seccompProfile (container {name} must not set securityContext.seccompProfile.type to \"Unconfined\")"));
        }
    }
    if spec["securityContext"]["seccompProfile"]["type"] == "Unconfined" {
        all.push(
            "seccompProfile (pod must not set securityContext.seccompProfile.type to \"Unconfined\")".into(),
        );
    }
    if !items(&spec["securityContext"]["sysctls"]).is_empty() {
        all.push("forbidden sysctls (this cluster allows none)".into());
    }
    all
}

fn restricted(spec: &Value) -> Vec<String> {
    let mut all = Vec::new();
    let pod = &spec["securityContext"];
    // a pod in its own user namespace may run as root inside
    let user_namespace = spec["hostUsers"] == false;
    for v in items(&spec["volumes"]) {
        for kind in entries(v).map(|(k, _)| k.as_str()) {
            if kind != "name" && kind != "hostPath" && !VOLUMES.contains(&kind) {
                all.push(format!(
                    "restricted volume types (volume {} uses restricted volume type \"{kind}\")",
                    v["name"]
                ));
            }
        }
    }
    for c in containers(spec) {
        let (name, security) = (&c["name"], &c["securityContext"]);
        if security["allowPrivilegeEscalation"] != false {
            all.push(format!("allowPrivilegeEscalation != false (container {name} must set securityContext.allowPrivilegeEscalation=false)"));
        }
        if !contains(&security["capabilities"]["drop"], "ALL") {
            all.push(format!("unrestricted capabilities (container {name} must set securityContext.capabilities.drop=[\"ALL\"])"));
        }
        if texts(&security["capabilities"]["add"]).any(|c| c != "NET_BIND_SERVICE") {
            all.push(format!("unrestricted capabilities (container {name} may only add NET_BIND_SERVICE)"));
        }
        let non_root =
            if security["runAsNonRoot"].is_null() { &pod["runAsNonRoot"] } else { &security["runAsNonRoot"] };
        if *non_root != true && !user_namespace {
            all.push(format!(
                "runAsNonRoot != true (pod or container {name} must set securityContext.runAsNonRoot=true)"
            ));
        }
        let user = if security["runAsUser"].is_null() { &pod["runAsUser"] } else { &security["runAsUser"] };
        if *user == 0 && !user_namespace {
            all.push(format!("runAsUser=0 (container {name} must not set runAsUser=0)"));
        }
        let profile = if security["seccompProfile"]["type"].is_null() {
            &pod["seccompProfile"]["type"]
        } else {
            &security["seccompProfile"]["type"]
        };
        if !matches!(profile.as_str(), Some("RuntimeDefault" | "Localhost")) {
            all.push(format!("seccompProfile (pod or container {name} must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\")"));
        }
    }
    all
}

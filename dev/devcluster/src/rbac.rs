//! Who asks, and whether they may: role-based access control over the stored roles and bindings.

use crate::error::Failure;
use crate::store::Inner;
use crate::verbs::Write;
use serde_json::Value;

/// An authenticated caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct User {
    pub name: String,
    pub groups: Vec<String>,
}

impl User {
    pub(crate) fn admin() -> Self {
        Self { name: "admin".into(), groups: vec!["system:masters".into(), "system:authenticated".into()] }
    }
    pub(crate) fn service_account(namespace: &str, name: &str) -> Self {
        Self {
            name: format!("system:serviceaccount:{namespace}:{name}"),
            groups: vec![
                "system:serviceaccounts".into(),
                format!("system:serviceaccounts:{namespace}"),
                "system:authenticated".into(),
            ],
        }
    }
    fn is_master(&self) -> bool {
        self.groups.iter().any(|g| g == "system:masters")
    }
}

/// What is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Access<'a> {
    pub verb: &'a str,
    pub group: &'a str,
    /// `pods`, `pods/log`; empty for a path outside the resources.
    pub resource: &'a str,
    pub namespace: &'a str,
    pub name: &'a str,
    pub path: &'a str,
}

fn has(list: &Value, wanted: &str) -> bool {
    list.as_array().into_iter().flatten().any(|v| v == wanted || v == "*")
}

fn allows(rule: &Value, a: &Access<'_>) -> bool {
    if !has(&rule["verbs"], a.verb) {
        return false;
    }
    if a.resource.is_empty() {
        return rule["nonResourceURLs"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .any(|u| u == a.path || u.strip_suffix('*').is_some_and(|p| a.path.starts_with(p)));
    }
    let sub = a.resource.split_once('/').map(|(_, s)| format!("*/{s}"));
    let resource = has(&rule["resources"], a.resource) || sub.is_some_and(|s| has(&rule["resources"], &s));
    let names =
        rule["resourceNames"].as_array().is_none_or(|n| n.is_empty() || n.iter().any(|x| x == a.name));
    has(&rule["apiGroups"], a.group) && resource && names
}

fn is_subject(binding: &Value, user: &User, namespace: &str) -> bool {
    binding["subjects"].as_array().into_iter().flatten().any(|s| {
        let name = s["name"].as_str().unwrap_or("");
        match s["kind"].as_str() {
            Some("User") => name == user.name,
            Some("Group") => user.groups.iter().any(|g| g == name),
            Some("ServiceAccount") => {
                let ns = s["namespace"].as_str().unwrap_or(namespace);
                user.name == format!("system:serviceaccount:{ns}:{name}")
            }
            _ => false,
        }
    })
}

const RBAC: &str = "rbac.authorization.k8s.io";

fn role_rules(tx: &Inner, binding: &Value, namespace: &str) -> Vec<Value> {
    let name = binding["roleRef"]["name"].as_str().unwrap_or("");
    let role = match binding["roleRef"]["kind"].as_str() {
        Some("ClusterRole") => tx.get(&format!("clusterroles.{RBAC}"), "", name),
        Some("Role") => tx.get(&format!("roles.{RBAC}"), namespace, name),
        _ => None,
    };
    let Some(role) = role else { return Vec::new() };
    let mut rules = role.value["rules"].as_array().cloned().unwrap_or_default();
    for selector in role.value["aggregationRule"]["clusterRoleSelectors"].as_array().into_iter().flatten() {
        for other in tx.list(&format!("clusterroles.{RBAC}"), "") {
            if crate::store::selectors::label_selector_matches(selector, &other.value["metadata"]["labels"]) {
                rules.extend(other.value["rules"].as_array().cloned().unwrap_or_default());
            }
        }
    }
    rules
}

/// Whether a user may do something.
pub(crate) fn allowed(tx: &Inner, user: &User, a: &Access<'_>) -> bool {
    if user.is_master() {
        return true;
    }
    // discovery is for everybody who is known
    if a.resource.is_empty() && a.verb == "get" {
        let open = ["/api", "/apis", "/openapi", "/version", "/healthz", "/livez", "/readyz"];
        if open.iter().any(|p| a.path == *p || a.path.starts_with(&format!("{p}/"))) {
            return true;
        }
    }
    if a.group == "authorization.k8s.io" && a.resource == "selfsubjectaccessreviews" && a.verb == "create" {
        return true;
    }
    let cluster = tx
        .list(&format!("clusterrolebindings.{RBAC}"), "")
        .filter(|b| is_subject(&b.value, user, ""))
        .any(|b| role_rules(tx, &b.value, "").iter().any(|r| allows(r, a)));
    if cluster || a.namespace.is_empty() {
        return cluster;
    }
    tx.list(&format!("rolebindings.{RBAC}"), a.namespace)
        .filter(|b| is_subject(&b.value, user, a.namespace))
        .any(|b| role_rules(tx, &b.value, a.namespace).iter().any(|r| allows(r, a)))
}

/// The 403 for what was asked.
pub(crate) fn refusal(user: &User, a: &Access<'_>) -> Failure {
    if a.resource.is_empty() {
        let why = format!("User \"{}\" cannot {} path \"{}\"", user.name, a.verb, a.path);
        let mut f = Failure::forbidden("", "", "", &why);
        f.message = format!("forbidden: {why}");
        return f;
    }
    let place = if a.namespace.is_empty() {
        "at the cluster scope".to_owned()
    } else {
        format!("in the namespace \"{}\"", a.namespace)
    };
    let why = format!(
        "User \"{}\" cannot {} resource \"{}\" in API group \"{}\" {place}",
        user.name, a.verb, a.resource, a.group
    );
    let plural = a.resource.split('/').next().unwrap_or(a.resource);
    Failure::forbidden(a.group, plural, a.name, &why)
}

/// Nobody may grant what they do not have (`escalate` and `bind` lift this).
pub(crate) fn no_escalation(tx: &Inner, w: &Write<'_>, value: &Value) -> Result<(), Failure> {
    let Some(user) = w.user.filter(|u| !u.is_master()) else { return Ok(()) };
    let binding = w.resource.plural.ends_with("bindings");
    let verb = if binding { "bind" } else { "escalate" };
    let lifted = Access {
        verb,
        group: RBAC,
        resource: &w.resource.plural,
        namespace: w.namespace,
        name: w.name,
        path: "",
    };
    if allowed(tx, user, &lifted) {
        return Ok(());
    }
    let rules = if binding {
        role_rules(tx, value, w.namespace)
    } else {
        value["rules"].as_array().cloned().unwrap_or_default()
    };
    let list = |v: &Value| -> Vec<String> {
        v.as_array().into_iter().flatten().filter_map(|s| s.as_str().map(str::to_owned)).collect()
    };
    for rule in &rules {
        let names = list(&rule["resourceNames"]);
        let names = if names.is_empty() { vec![String::new()] } else { names };
        for verb in list(&rule["verbs"]) {
            for group in list(&rule["apiGroups"]) {
                for resource in list(&rule["resources"]) {
                    for name in &names {
                        let a = Access {
                            verb: &verb,
                            group: &group,
                            resource: &resource,
                            namespace: w.namespace,
                            name,
                            path: "",
                        };
                        if !allowed(tx, user, &a) {
                            let why = format!(
                                "user \"{}\" is attempting to grant RBAC permissions not currently held: {verb} {resource}.{group}",
                                user.name
                            );
                            return Err(w
                                .resource
                                .forbidden(value["metadata"]["name"].as_str().unwrap_or(""), &why));
                        }
                    }
                }
            }
        }
    }
    Ok(())
}

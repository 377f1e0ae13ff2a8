//! Role-based access control with the stored roles and bindings.

use crate::error::Failure;
use crate::json::{contains, items, text};
use crate::store::Inner;
use serde_json::Value;

/// An authenticated caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    pub name: String,
    pub groups: Vec<String>,
}

impl User {
    pub fn admin() -> Self {
        Self { name: "admin".into(), groups: vec!["system:masters".into(), "system:authenticated".into()] }
    }
    pub fn service_account(namespace: &str, name: &str) -> Self {
        Self {
            name: format!("system:serviceaccount:{namespace}:{name}"),
            groups: vec![
                "system:serviceaccounts".into(),
                format!("system:serviceaccounts:{namespace}"),
                "system:authenticated".into(),
            ],
        }
    }
    pub fn is_admin(&self) -> bool {
        self.groups.iter().any(|g| g == "system:masters")
    }
}

/// A request for access to a resource.
#[derive(Clone, Debug)]
pub struct Access<'a> {
    pub verb: &'a str,
    pub group: &'a str,
    /// `pods`, `pods/log`.
    pub resource: &'a str,
    pub namespace: &'a str,
    pub name: &'a str,
}

fn has(list: &Value, wanted: &str) -> bool {
    items(list).iter().any(|v| v == wanted || v == "*")
}

fn allows(rule: &Value, a: &Access<'_>) -> bool {
    let names = &rule["resourceNames"];
    has(&rule["verbs"], a.verb)
        && has(&rule["apiGroups"], a.group)
        && has(&rule["resources"], a.resource)
        && (items(names).is_empty() || contains(names, a.name))
}

fn is_subject(binding: &Value, user: &User, namespace: &str) -> bool {
    items(&binding["subjects"]).iter().any(|s| {
        let name = text(&s["name"]);
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

pub const RBAC: &str = "rbac.authorization.k8s.io";

/// The rules of the role that a binding refers to.
pub fn role_rules(tx: &Inner, binding: &Value, namespace: &str) -> Vec<Value> {
    let name = text(&binding["roleRef"]["name"]);
    let role = match text(&binding["roleRef"]["kind"]) {
        "ClusterRole" => tx.get(&format!("clusterroles.{RBAC}"), "", name),
        _ => tx.get(&format!("roles.{RBAC}"), namespace, name),
    };
    role.map(|role| items(&role.value["rules"]).to_vec()).unwrap_or_default()
}

/// Whether a user has access.
pub fn allowed(tx: &Inner, user: &User, a: &Access<'_>) -> bool {
    if user.is_admin() {
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

/// The error of a refused request.
pub fn refusal(user: &User, a: &Access<'_>) -> Failure {
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

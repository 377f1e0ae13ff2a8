//! Nobody may grant rights that they do not have, unless the verbs `escalate` and `bind` allow it.

use crate::error::Failure;
use crate::json::{items, text, texts};
use crate::rbac::{Access, RBAC, allowed, role_rules};
use crate::store::Inner;
use crate::write::Write;
use serde_json::Value;

/// Checks a role or binding that is written.
pub(super) fn check(tx: &Inner, w: &Write<'_>, value: &Value) -> Result<(), Failure> {
    let Some(user) = w.user.filter(|u| !u.is_admin()) else { return Ok(()) };
    let binding = w.resource.plural.ends_with("bindings");
    let access = |verb, group, resource, name| {
        allowed(tx, user, &Access { verb, group, resource, namespace: w.namespace, name })
    };
    if access(if binding { "bind" } else { "escalate" }, RBAC, &w.resource.plural, w.name) {
        return Ok(());
    }
    let rules = if binding { role_rules(tx, value, w.namespace) } else { items(&value["rules"]).to_vec() };
    for rule in &rules {
        let mut names: Vec<&str> = texts(&rule["resourceNames"]).collect();
        if names.is_empty() {
            names.push("");
        }
        for verb in texts(&rule["verbs"]) {
            for group in texts(&rule["apiGroups"]) {
                for resource in texts(&rule["resources"]) {
                    if !names.iter().all(|name| access(verb, group, resource, name)) {
                        let why = format!(
                            "user \"{}\" is attempting to grant RBAC permissions not currently held: {verb} {resource}.{group}",
                            user.name
                        );
                        return Err(w.resource.forbidden(text(&value["metadata"]["name"]), &why));
                    }
                }
            }
        }
    }
    Ok(())
}

//! Pods: defaults, validation, priority, runtime class and service account.

mod defaults;
mod runtime;
mod validate;

pub(super) use defaults::default;
pub(super) use runtime::set_runtime;
pub(super) use validate::validate;

use crate::error::Failure;
use crate::json::{set_default, text};
use crate::kinds::Resource;
use crate::store::Inner;
use crate::write::Write;
use serde_json::Value;

const CLASSES: &str = "priorityclasses.scheduling.k8s.io";

/// Sets `priority` and `preemptionPolicy` from `priorityClassName`.
pub(super) fn set_priority(tx: &Inner, res: &Resource, pod: &mut Value) -> Result<(), Failure> {
    let name = text(&pod["metadata"]["name"]).to_owned();
    let class = text(&pod["spec"]["priorityClassName"]).to_owned();
    let found = if class.is_empty() {
        tx.list(CLASSES, "").find(|c| c.value["globalDefault"] == true).cloned()
    } else {
        let missing = || res.forbidden(&name, &format!("no PriorityClass with name {class} was found"));
        Some(tx.get(CLASSES, "", &class).ok_or_else(missing)?)
    };
    let priority = found.as_ref().and_then(|c| c.value["value"].as_i64()).unwrap_or(0);
    let policy = found.as_ref().and_then(|c| c.value["preemptionPolicy"].as_str());
    if let Some(given) = pod["spec"]["priority"].as_i64().filter(|given| *given != priority) {
        let why = format!(
            "the integer value of priority ({given}) must not be provided in pod spec; priority admission controller computed {priority} from the given PriorityClass name"
        );
        return Err(res.forbidden(&name, &why));
    }
    if let Some(class) = &found {
        pod["spec"]["priorityClassName"] = class.name().into();
    }
    pod["spec"]["priority"] = priority.into();
    set_default(&mut pod["spec"], "preemptionPolicy", policy.unwrap_or("PreemptLowerPriority"));
    Ok(())
}

/// Sets the default service account and checks that the account exists.
pub(super) fn set_service_account(
    tx: &Inner,
    w: &Write<'_>,
    name: &str,
    pod: &mut Value,
) -> Result<(), Failure> {
    set_default(&mut pod["spec"], "serviceAccountName", "default");
    let account = text(&pod["spec"]["serviceAccountName"]).to_owned();
    if tx.get("serviceaccounts", w.namespace, &account).is_none() {
        let why = format!(
            "error looking up service account {}/{account}: serviceaccount \"{account}\" not found",
            w.namespace
        );
        return Err(w.resource.forbidden(name, &why));
    }
    pod["spec"]["serviceAccount"] = account.into();
    Ok(())
}

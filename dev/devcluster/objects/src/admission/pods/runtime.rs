//! Runtime classes: a pod takes over the overhead, the node selector and the tolerations of its class.

use crate::error::Failure;
use crate::json::{entries, items, quantity, text};
use crate::kinds::Resource;
use crate::store::Inner;
use serde_json::{Value, json};

const CLASSES: &str = "runtimeclasses.node.k8s.io";

pub(crate) fn set_runtime(tx: &Inner, res: &Resource, name: &str, pod: &mut Value) -> Result<(), Failure> {
    let spec = &mut pod["spec"];
    let class = text(&spec["runtimeClassName"]).to_owned();
    let class = match class.as_str() {
        "" => Value::Null,
        class => match tx.get(CLASSES, "", class) {
            Some(found) => found.value.clone(),
            None => {
                return Err(res.forbidden(name, &format!("pod rejected: RuntimeClass \"{class}\" not found")));
            }
        },
    };
    let defined = &class["overhead"]["podFixed"];
    let given = spec["overhead"].as_object().is_some_and(|given| !given.is_empty());
    match (defined.is_object(), given) {
        (false, true) => {
            let why = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";
            return Err(res.forbidden(name, why));
        }
        (true, true) if amounts(&spec["overhead"]) != amounts(defined) => {
            let why = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";
            return Err(res.forbidden(name, why));
        }
        (true, _) => spec["overhead"] = defined.clone(),
        (false, false) => {}
    }
    let scheduling = &class["scheduling"];
    for (key, value) in entries(&scheduling["nodeSelector"]) {
        let own = &spec["nodeSelector"][key];
        if !own.is_null() && own != value {
            let why = format!(
                "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {}; pod.spec.nodeSelector[{key}] = {}",
                text(value),
                text(own)
            );
            return Err(res.forbidden(name, &why));
        }
        spec["nodeSelector"][key] = value.clone();
    }
    let new: Vec<Value> = items(&scheduling["tolerations"])
        .iter()
        .filter(|toleration| !items(&spec["tolerations"]).contains(toleration))
        .cloned()
        .collect();
    if !new.is_empty() {
        let all: Vec<Value> = items(&spec["tolerations"]).iter().cloned().chain(new).collect();
        spec["tolerations"] = json!(all);
    }
    Ok(())
}

fn amounts(quantities: &Value) -> Vec<(&String, Option<i128>)> {
    let mut amounts: Vec<_> = entries(quantities).map(|(name, amount)| (name, quantity(amount))).collect();
    amounts.sort();
    amounts
}

//! Custom kinds, from CustomResourceDefinitions.

use super::{Column, Resource};
use crate::error::Cause;
use crate::json::{items, set_default, text, texts};
use crate::schema::Schema;
use serde_json::{Value, json};

fn owned(value: &Value) -> String {
    text(value).to_owned()
}

/// Sets the names that have defaults.
pub fn default_names(crd: &mut Value) {
    let names = &mut crd["spec"]["names"];
    let kind = owned(&names["kind"]);
    set_default(names, "singular", kind.to_lowercase());
    set_default(names, "listKind", format!("{kind}List"));
    set_default(&mut crd["spec"], "conversion", json!({ "strategy": "None" }));
}

/// The kind that a definition describes.
///
/// # Errors
/// Everything that is invalid or not supported.
pub fn resource_of(crd: &Value) -> Result<Resource, Vec<Cause>> {
    let spec = &crd["spec"];
    let names = &spec["names"];
    let (group, plural, kind) = (owned(&spec["group"]), owned(&names["plural"]), owned(&names["kind"]));
    let mut causes = Vec::new();
    if !group.contains('.') {
        causes.push(Cause::invalid("spec.group", &spec["group"], "should be a domain with at least one dot"));
    }
    if kind.is_empty() {
        causes.push(Cause::required("spec.names.kind", ""));
    }
    if text(&crd["metadata"]["name"]) != format!("{plural}.{group}") {
        let why = "must be spec.names.plural+\".\"+spec.group";
        causes.push(Cause::invalid("metadata.name", &crd["metadata"]["name"], why));
    }
    if !matches!(spec["scope"].as_str(), Some("Cluster" | "Namespaced")) {
        causes.push(Cause::invalid("spec.scope", &spec["scope"], "must be Cluster or Namespaced"));
    }
    let [version] = items(&spec["versions"]) else {
        causes.push(Cause::forbidden("spec.versions", "this cluster serves one version of each kind"));
        return Err(causes);
    };
    if version["storage"] != true || version["served"] == false {
        let why = "must have exactly one version marked as storage version";
        causes.push(Cause::invalid("spec.versions", &spec["versions"], why));
    }
    if !version["subresources"]["scale"].is_null() {
        causes.push(Cause::forbidden("spec.versions[0].subresources.scale", "not served by this cluster"));
    }
    let at = "spec.versions[0].schema.openAPIV3Schema";
    let schema = &version["schema"]["openAPIV3Schema"];
    let schema = if schema.is_null() {
        Err(vec![Cause::required(at, "schemas are required")])
    } else {
        Schema::compile(schema, at)
    };
    let schema = match (schema, causes.is_empty()) {
        (Ok(schema), true) => schema,
        (Ok(_), false) => return Err(causes),
        (Err(more), _) => {
            causes.extend(more);
            return Err(causes);
        }
    };
    let selectable = items(&version["selectableFields"]).iter().filter_map(|f| f["jsonPath"].as_str());
    Ok(Resource {
        id: format!("{plural}.{group}"),
        group,
        version: owned(&version["name"]),
        kind,
        plural,
        singular: owned(&names["singular"]),
        short: texts(&names["shortNames"]).map(str::to_owned).collect(),
        namespaced: spec["scope"] == "Namespaced",
        generation: true,
        status: version["subresources"]["status"].is_object(),
        selectable: selectable.map(|path| path.trim_start_matches('.').to_owned()).collect(),
        check: None,
        schema: Some(schema),
        columns: items(&version["additionalPrinterColumns"]).iter().map(column).collect(),
    })
}

fn column(declared: &Value) -> Column {
    Column {
        name: owned(&declared["name"]),
        r#type: owned(&declared["type"]),
        path: owned(&declared["jsonPath"]),
        priority: declared["priority"].as_i64().unwrap_or(0),
        description: owned(&declared["description"]),
    }
}

/// The status of a served definition.
pub fn established(crd: &Value, now: &str) -> Value {
    let condition = |kind: &str, reason: &str, message: &str| json!({ "type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": now });
    json!({
        "conditions": [
            condition("NamesAccepted", "NoConflicts", "no conflicts found"),
            condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        ],
        "acceptedNames": crd["spec"]["names"],
        "storedVersions": [crd["spec"]["versions"][0]["name"]],
    })
}

//! A CustomResourceDefinition object becomes a served kind, or is refused with what is wrong in it.

use super::{Column, Resource, Source, Version};
use crate::error::Cause;
use crate::schema::Schema;
use serde_json::{Value, json};

fn text(v: &Value) -> String {
    v.as_str().unwrap_or_default().to_owned()
}

fn texts(v: &Value) -> Vec<String> {
    v.as_array().into_iter().flatten().filter_map(|s| s.as_str().map(str::to_owned)).collect()
}

/// Fills the names that have defaults.
pub(crate) fn default_names(crd: &mut Value) {
    let names = &mut crd["spec"]["names"];
    let kind = text(&names["kind"]);
    if names["singular"].is_null() {
        names["singular"] = kind.to_lowercase().into();
    }
    if names["listKind"].is_null() {
        names["listKind"] = format!("{kind}List").into();
    }
    if crd["spec"]["conversion"].is_null() {
        crd["spec"]["conversion"] = json!({ "strategy": "None" });
    }
}

/// The kind a definition describes.
pub(crate) fn resource_of(crd: &Value) -> Result<Resource, Vec<Cause>> {
    let spec = &crd["spec"];
    let names = &spec["names"];
    let (group, plural, kind) = (text(&spec["group"]), text(&names["plural"]), text(&names["kind"]));
    let mut causes = Vec::new();
    if group.is_empty() || !group.contains('.') {
        causes.push(Cause::invalid("spec.group", &spec["group"], "should be a domain with at least one dot"));
    }
    if kind.is_empty() {
        causes.push(Cause::required("spec.names.kind", ""));
    }
    if text(&crd["metadata"]["name"]) != format!("{plural}.{group}") {
        causes.push(Cause::invalid(
            "metadata.name",
            &crd["metadata"]["name"],
            "must be spec.names.plural+\".\"+spec.group",
        ));
    }
    if !matches!(spec["scope"].as_str(), Some("Cluster" | "Namespaced")) {
        causes.push(Cause::invalid("spec.scope", &spec["scope"], "must be Cluster or Namespaced"));
    }
    if spec["conversion"]["strategy"] == "Webhook" {
        causes.push(Cause::forbidden("spec.conversion.strategy", "conversion webhooks are not served here"));
    }
    let mut versions = Vec::new();
    let declared = spec["versions"].as_array().map(Vec::as_slice).unwrap_or_default();
    for (i, v) in declared.iter().enumerate() {
        let at = format!("spec.versions[{i}]");
        let schema = &v["schema"]["openAPIV3Schema"];
        if schema.is_null() {
            causes.push(Cause::required(format!("{at}.schema.openAPIV3Schema"), "schemas are required"));
            continue;
        }
        if !v["subresources"]["scale"].is_null() {
            causes.push(Cause::forbidden(format!("{at}.subresources.scale"), "scale is not served here"));
        }
        let schema = match Schema::compile(schema, &format!("{at}.schema.openAPIV3Schema")) {
            Ok(schema) => schema,
            Err(mut found) => {
                causes.append(&mut found);
                continue;
            }
        };
        if v["served"] == false && v["storage"] != true {
            continue;
        }
        versions.push(Version {
            name: text(&v["name"]),
            storage: v["storage"] == true,
            status: v["subresources"]["status"].is_object(),
            schema: Some(schema),
            columns: columns(&v["additionalPrinterColumns"]),
        });
    }
    if causes.is_empty() && declared.iter().filter(|v| v["storage"] == true).count() != 1 {
        causes.push(Cause::invalid(
            "spec.versions",
            &spec["versions"],
            "must have exactly one version marked as storage version",
        ));
    }
    if !causes.is_empty() {
        return Err(causes);
    }
    let selectable = declared
        .iter()
        .flat_map(|v| v["selectableFields"].as_array().into_iter().flatten())
        .filter_map(|f| f["jsonPath"].as_str().map(|p| p.trim_start_matches('.').to_owned()))
        .collect();
    Ok(Resource {
        id: format!("{plural}.{group}"),
        group,
        kind,
        plural,
        singular: text(&names["singular"]),
        short: texts(&names["shortNames"]),
        categories: texts(&names["categories"]),
        namespaced: spec["scope"] == "Namespaced",
        generation: true,
        selectable,
        versions,
        source: Source::Custom,
    })
}

fn columns(declared: &Value) -> Vec<Column> {
    declared
        .as_array()
        .into_iter()
        .flatten()
        .map(|c| Column {
            name: text(&c["name"]),
            r#type: text(&c["type"]),
            path: text(&c["jsonPath"]),
            priority: c["priority"].as_i64().unwrap_or(0),
            description: text(&c["description"]),
        })
        .collect()
}

/// The status a definition gets once it is served.
pub(crate) fn established(crd: &Value, now: &str) -> Value {
    let condition = |kind: &str, reason: &str, message: &str| json!({ "type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": now });
    let stored: Vec<&Value> = crd["spec"]["versions"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|v| v["storage"] == true)
        .map(|v| &v["name"])
        .collect();
    json!({
        "conditions": [
            condition("NamesAccepted", "NoConflicts", "no conflicts found"),
            condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        ],
        "acceptedNames": crd["spec"]["names"],
        "storedVersions": stored,
    })
}

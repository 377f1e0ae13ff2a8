//! A CustomResourceDefinition that is written becomes a served kind in the same step, or is refused.

use objects::error::{Cause, Failure};
use objects::json::text;
use objects::kinds::{DEFINITIONS, Resource, custom};
use objects::write::Write;
use serde_json::Value;

use crate::hub::Hub;

/// The kind that a definition describes, with the definition's status set; `None` for other objects.
pub(super) fn resource(
    hub: &Hub,
    w: &Write<'_>,
    value: &mut Value,
    time: &str,
) -> Result<Option<Resource>, Failure> {
    if w.resource.id != DEFINITIONS {
        return Ok(None);
    }
    let name = text(&value["metadata"]["name"]).to_owned();
    let resource = custom::resource_of(value).map_err(|causes| w.invalid(&name, &causes))?;
    let taken = hub
        .kinds
        .all()
        .iter()
        .any(|r| r.group == resource.group && r.kind == resource.kind && r.id != resource.id);
    if taken || hub.kinds.get(&resource.id).is_some_and(|r| !r.is_custom()) {
        let cause = Cause::invalid("spec.names.kind", &resource.kind.as_str().into(), "is already in use");
        return Err(w.invalid(&name, &[cause]));
    }
    if value["status"]["conditions"].is_null() || value["status"]["acceptedNames"] != value["spec"]["names"] {
        value["status"] = custom::established(value, time);
    }
    Ok(Some(resource))
}

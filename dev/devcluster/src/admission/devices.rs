//! Claims on devices: which part of them is served, how their status may change, and who may change it.

use crate::error::{Cause, Failure};
use crate::rbac::{self, Access};
use crate::store::Inner;
use crate::verbs::Write;
use serde_json::Value;

/// The part of structured parameters that is served: one request, a class, an exact count, selectors.
pub(super) fn validate_spec(spec: &Value, at: &str, causes: &mut Vec<Cause>) {
    let requests = spec["devices"]["requests"].as_array().map(Vec::as_slice).unwrap_or_default();
    let [request] = requests else {
        causes.push(Cause::forbidden(
            format!("{at}.devices.requests"),
            "this cluster serves claims of exactly one request",
        ));
        return;
    };
    let exact = &request["exactly"];
    let at = format!("{at}.devices.requests[0]");
    if exact["deviceClassName"].as_str().unwrap_or("").is_empty() {
        causes.push(Cause::required(
            format!("{at}.exactly.deviceClassName"),
            "firstAvailable is not served here",
        ));
    }
    if !matches!(exact["allocationMode"].as_str(), None | Some("ExactCount")) {
        causes
            .push(Cause::forbidden(format!("{at}.exactly.allocationMode"), "only ExactCount is served here"));
    }
    if exact["count"].as_i64().is_some_and(|n| n < 1) {
        causes.push(Cause::invalid(
            format!("{at}.exactly.count"),
            &exact["count"],
            "must be greater than zero",
        ));
    }
    for (i, selector) in exact["selectors"].as_array().into_iter().flatten().enumerate() {
        let source = &selector["cel"]["expression"];
        if let Err(why) = crate::schema::cel::Selector::compile(source.as_str().unwrap_or("")) {
            let field = format!("{at}.exactly.selectors[{i}].cel.expression");
            causes.push(Cause::invalid(field, source, format!("compilation failed: {why}")));
        }
    }
}

/// Users are of a claim with devices, none joins one that is being deleted, and devices do not change.
pub(super) fn validate_status(old: &Value, new: &Value, causes: &mut Vec<Cause>) {
    let users = |v: &Value| v["status"]["reservedFor"].as_array().cloned().unwrap_or_default();
    let (before, after) = (users(old), users(new));
    let allocation = &new["status"]["allocation"];
    if !after.is_empty() && allocation.is_null() {
        causes
            .push(Cause::forbidden("status.reservedFor", "may not be specified when `allocated` is not set"));
    } else if new["metadata"]["deletionTimestamp"].is_string() && after.iter().any(|u| !before.contains(u)) {
        causes.push(Cause::forbidden(
            "status.reservedFor",
            "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set",
        ));
    }
    let was = &old["status"]["allocation"];
    if was.is_object() && allocation.is_object() && was != allocation {
        causes.push(Cause::invalid("status.allocation", allocation, "field is immutable"));
    }
}

/// Giving and reserving devices needs a right of its own, for all claims of the cluster.
pub(crate) fn may_bind(
    tx: &Inner,
    w: &Write<'_>,
    verb: &str,
    old: &Value,
    new: &Value,
) -> Result<(), Failure> {
    let Some(user) = w.user else { return Ok(()) };
    if w.resource.id != "resourceclaims.resource.k8s.io" || w.subresource != "status" {
        return Ok(());
    }
    let same = |field: &str| old["status"][field] == new["status"][field];
    let access = Access {
        verb,
        group: &w.resource.group,
        resource: "resourceclaims/binding",
        namespace: "",
        name: "",
        path: "",
    };
    if same("allocation") && same("reservedFor") || rbac::allowed(tx, user, &access) {
        return Ok(());
    }
    let why = format!(
        "changing status.allocation or status.reservedFor requires resource=\"resourceclaims/binding\", verb=\"{verb}\" permission"
    );
    let causes = [Cause::forbidden("status.allocation", &why)];
    Err(Failure::invalid(&w.resource.group, &w.resource.kind, w.name, &causes))
}

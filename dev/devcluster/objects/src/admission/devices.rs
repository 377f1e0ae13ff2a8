//! Resource claims: which of them are served, how their status may change, and who may change it.

use crate::error::{Cause, Failure};
use crate::json::{items, text};
use crate::rbac::{self, Access};
use crate::schema::cel;
use crate::store::Inner;
use crate::write::Write;
use serde_json::Value;

/// Checks that a claim has one request, for an exact number of devices of a class.
pub(super) fn validate_spec(spec: &Value, causes: &mut Vec<Cause>) {
    let [request] = items(&spec["devices"]["requests"]) else {
        let why = "this cluster serves claims of exactly one request";
        causes.push(Cause::forbidden("spec.devices.requests", why));
        return;
    };
    let exact = &request["exactly"];
    let at = "spec.devices.requests[0].exactly";
    if text(&exact["deviceClassName"]).is_empty() {
        let why = "firstAvailable is not served by this cluster";
        causes.push(Cause::required(format!("{at}.deviceClassName"), why));
    }
    if exact["allocationMode"] != "ExactCount" {
        let why = "only ExactCount is served by this cluster";
        causes.push(Cause::forbidden(format!("{at}.allocationMode"), why));
    }
    if exact["count"].as_i64().is_some_and(|n| n < 1) {
        causes.push(Cause::invalid(format!("{at}.count"), &exact["count"], "must be greater than zero"));
    }
    for (i, selector) in items(&exact["selectors"]).iter().enumerate() {
        let source = &selector["cel"]["expression"];
        if let Err(why) = cel::Selector::compile(text(source)) {
            let field = format!("{at}.selectors[{i}].cel.expression");
            causes.push(Cause::invalid(field, source, format!("compilation failed: {why}")));
        }
    }
}

/// Checks a status change: only an allocated claim has users, a claim that is being deleted gets no new ones, and
/// allocated devices do not change.
pub(super) fn validate_status(old: &Value, new: &Value, causes: &mut Vec<Cause>) {
    let (before, after) = (items(&old["status"]["reservedFor"]), items(&new["status"]["reservedFor"]));
    let allocation = &new["status"]["allocation"];
    if !after.is_empty() && allocation.is_null() {
        let why = "may not be specified when `allocated` is not set";
        causes.push(Cause::forbidden("status.reservedFor", why));
    } else if new["metadata"]["deletionTimestamp"].is_string() && after.iter().any(|u| !before.contains(u)) {
        let why = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set";
        causes.push(Cause::forbidden("status.reservedFor", why));
    }
    let was = &old["status"]["allocation"];
    if was.is_object() && allocation.is_object() && was != allocation {
        causes.push(Cause::invalid("status.allocation", allocation, "field is immutable"));
    }
}

/// Checks the right to change the allocation or the users of a claim: the verb on `resourceclaims/binding`, for all
/// claims of the cluster.
pub fn check_binding(tx: &Inner, w: &Write<'_>, verb: &str, old: &Value, new: &Value) -> Result<(), Failure> {
    let Some(user) = w.user else { return Ok(()) };
    if w.resource.id != "resourceclaims.resource.k8s.io" || w.subresource != "status" {
        return Ok(());
    }
    let same = |field: &str| old["status"][field] == new["status"][field];
    let resource = "resourceclaims/binding";
    let access = Access { verb, group: &w.resource.group, resource, namespace: "", name: "" };
    if same("allocation") && same("reservedFor") || rbac::allowed(tx, user, &access) {
        return Ok(());
    }
    let why = format!(
        "changing status.allocation or status.reservedFor requires resource=\"resourceclaims/binding\", verb=\"{verb}\" permission"
    );
    Err(w.invalid(w.name, &[Cause::forbidden("status.allocation", &why)]))
}

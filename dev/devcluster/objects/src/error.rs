//! Errors as Kubernetes returns them: `Status` objects. Every error of a request is a [`Failure`], which decides the
//! HTTP status.

use serde_json::{Value, json};

/// A refused request. `code` is the HTTP status, `reason` the machine-readable code.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    pub code: u16,
    pub reason: &'static str,
    pub message: String,
    pub details: Option<Box<Value>>,
}

/// One invalid field of a refused object.
#[derive(Debug, Clone)]
pub struct Cause {
    pub field: String,
    pub reason: &'static str,
    pub message: String,
}

impl Cause {
    /// A field with an invalid value.
    pub fn invalid(field: impl Into<String>, value: &Value, why: impl AsRef<str>) -> Self {
        let shown = match value {
            Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Null => value.to_string(),
            Value::Array(_) => "array".into(),
            Value::Object(_) => "object".into(),
        };
        Self {
            field: field.into(),
            reason: "FieldValueInvalid",
            message: format!("Invalid value: {shown}: {}", why.as_ref()),
        }
    }
    /// A missing field.
    pub fn required(field: impl Into<String>, why: &str) -> Self {
        let message = if why.is_empty() { "Required value".into() } else { format!("Required value: {why}") };
        Self { field: field.into(), reason: "FieldValueRequired", message }
    }
    /// A second entry of a list that allows one.
    pub fn duplicate(field: impl Into<String>, value: &Value) -> Self {
        let message = format!("Duplicate value: {value}");
        Self { field: field.into(), reason: "FieldValueDuplicate", message }
    }
    /// A reference to something that does not exist.
    pub fn not_found(field: impl Into<String>, value: &Value) -> Self {
        Self { field: field.into(), reason: "FieldValueNotFound", message: format!("Not found: {value}") }
    }
    /// A field that must not be set or changed.
    pub fn forbidden(field: impl Into<String>, why: &str) -> Self {
        Self { field: field.into(), reason: "FieldValueForbidden", message: format!("Forbidden: {why}") }
    }
}

impl Failure {
    fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: None }
    }
    fn about(mut self, group: &str, plural: &str, name: &str) -> Self {
        let mut details = json!({ "name": name, "kind": plural });
        if !group.is_empty() {
            details["group"] = group.into();
        }
        self.details = Some(Box::new(details));
        self
    }
    fn qualified(group: &str, plural: &str) -> String {
        if group.is_empty() { plural.to_owned() } else { format!("{plural}.{group}") }
    }

    pub fn not_found(group: &str, plural: &str, name: &str) -> Self {
        Self::new(404, "NotFound", format!("{} \"{name}\" not found", Self::qualified(group, plural)))
            .about(group, plural, name)
    }
    /// The path names no served resource.
    pub fn no_such_resource() -> Self {
        let mut f = Self::new(404, "NotFound", "the server could not find the requested resource");
        f.details = Some(Box::new(json!({})));
        f
    }
    pub fn already_exists(group: &str, plural: &str, name: &str) -> Self {
        let what = Self::qualified(group, plural);
        Self::new(409, "AlreadyExists", format!("{what} \"{name}\" already exists"))
            .about(group, plural, name)
    }
    pub fn conflict(group: &str, plural: &str, name: &str, why: &str) -> Self {
        let what = Self::qualified(group, plural);
        let message = format!("Operation cannot be fulfilled on {what} \"{name}\": {why}");
        Self::new(409, "Conflict", message).about(group, plural, name)
    }
    /// A precondition names another incarnation of the object.
    pub fn wrong_uid(group: &str, plural: &str, name: &str, asked: &str, found: &str) -> Self {
        let why = format!("Precondition failed: UID in precondition: {asked}, UID in object meta: {found}");
        Self::conflict(group, plural, name, &why)
    }
    /// A patch that cannot be applied to the object.
    pub fn unprocessable(message: impl Into<String>) -> Self {
        Self::new(422, "Invalid", message)
    }
    /// Optimistic concurrency: the object has changed.
    pub fn stale(group: &str, plural: &str, name: &str) -> Self {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(group, plural, name, why)
    }
    pub fn invalid(group: &str, kind: &str, name: &str, causes: &[Cause]) -> Self {
        let what = Self::qualified(group, kind);
        let all: Vec<String> = causes.iter().map(|c| format!("{}: {}", c.field, c.message)).collect();
        let text = if all.len() == 1 { all.concat() } else { format!("[{}]", all.join(", ")) };
        let mut f = Self::new(422, "Invalid", format!("{what} \"{name}\" is invalid: {text}"));
        let causes: Vec<Value> = causes
            .iter()
            .map(|c| json!({ "reason": c.reason, "message": c.message, "field": c.field }))
            .collect();
        let mut details = json!({ "name": name, "kind": kind, "causes": causes });
        if !group.is_empty() {
            details["group"] = group.into();
        }
        f.details = Some(Box::new(details));
        f
    }
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }
    pub fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }
    pub fn forbidden(group: &str, plural: &str, name: &str, why: &str) -> Self {
        let what = Self::qualified(group, plural);
        let message = if name.is_empty() {
            format!("{what} is forbidden: {why}")
        } else {
            format!("{what} \"{name}\" is forbidden: {why}")
        };
        Self::new(403, "Forbidden", message).about(group, plural, name)
    }
    pub fn expired(asked: u64, oldest: u64) -> Self {
        Self::new(410, "Expired", format!("too old resource version: {asked} ({oldest})"))
    }
    pub fn method_not_allowed() -> Self {
        Self::new(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
    }
    pub fn unsupported_media(message: impl Into<String>) -> Self {
        Self::new(415, "UnsupportedMediaType", message)
    }
    pub fn too_large() -> Self {
        Self::new(413, "RequestEntityTooLarge", "the request body is larger than 3 MiB")
    }
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(503, "ServiceUnavailable", message)
    }
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(500, "InternalError", message)
    }
    /// Server-side apply conflicts with fields of other managers; `(manager, path)` each.
    pub fn apply_conflict(conflicts: &[(String, String)]) -> Self {
        let n = conflicts.len();
        let list: Vec<String> =
            conflicts
                .iter()
                .map(|(m, p)| {
                    if n == 1 {
                        format!("conflict with {m}: {p}")
                    } else {
                        format!("conflict with {m}: {p}\n")
                    }
                })
                .collect();
        let head = if n == 1 { "conflict" } else { "conflicts" };
        let mut f =
            Self::new(409, "Conflict", format!("Apply failed with {n} {head}: {}", list.join("").trim_end()));
        let causes: Vec<Value> = conflicts
            .iter()
            .map(|(m, p)| json!({ "reason": "FieldManagerConflict", "message": format!("conflict with {m}"), "field": p }))
            .collect();
        f.details = Some(Box::new(json!({ "causes": causes })));
        f
    }

    /// The `Status` object for the body (or for an ERROR event of a watch).
    pub fn status(&self) -> Value {
        let mut v = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "reason": self.reason, "code": self.code,
        });
        if let Some(d) = &self.details {
            v["details"] = (**d).clone();
        }
        v
    }
}

//! The fields of `platform.toml`, and the checks of a list.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    service: Vec<Service>,
}

/// A service.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Service {
    /// Name of its crate and program (`atelier-NAME`), folder, image, host, schema and roles: lower-case letters.
    pub name: String,
    /// Its port in `cargo xtask up`, if `atelier.toml` sets no other.
    pub port: u16,
    /// Whether it has a Postgres schema.
    #[serde(default)]
    pub schema: bool,
    /// Whether it calls the Kubernetes clusters, with the rights in `deploy/rbac/NAME.yaml`.
    #[serde(default)]
    pub clusters: bool,
    /// Its replicas share a cache, where an installation has one.
    #[serde(default)]
    pub cache: bool,
    /// Whether it encrypts secrets at rest, with its own keys.
    #[serde(default)]
    pub encrypts: bool,
    /// Whether it waits for the object store at start.
    #[serde(default)]
    pub object_store: bool,
    /// Ports besides that of the API which the compose file publishes on the machine.
    #[serde(default)]
    pub published: Vec<u16>,
    /// Services that it calls with its token; with a schema identity, to read revocations.
    #[serde(default)]
    pub calls: Vec<String>,
    /// Those for which its configuration has a section of the same name, with `url` and `token`.
    #[serde(default)]
    pub endpoints: Vec<String>,
    /// Requests that need no token, within the rate limit for signing in: `[METHOD ]PATH`, where a last `*`
    /// is the rest of the path.
    #[serde(default)]
    pub sign_in: Vec<String>,
    /// Requests that need no token, likewise.
    #[serde(default)]
    pub public: Vec<String>,
    /// Paths after `/v1/`, with everything below them, and the scopes to read and to write; a segment `*`
    /// matches any. Their first segments are the collections that the gateway forwards to the service, with
    /// an access token.
    #[serde(default)]
    pub paths: BTreeMap<String, [String; 2]>,
    /// Paths after `/internal/v1/`, likewise, with their callers.
    #[serde(default)]
    pub internal: BTreeMap<String, Internal>,
}

impl Service {
    /// The first segments of its paths.
    #[must_use]
    pub fn collections(&self) -> BTreeSet<&str> {
        self.paths.keys().filter_map(|path| path.split('/').next()).collect()
    }
}

/// The callers of internal operations.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Internal {
    /// Services; if absent, all that have a service token.
    pub callers: Option<Vec<String>>,
    /// Whether they call for a user.
    #[serde(default)]
    pub user: User,
    /// The scope that the user's token needs.
    pub scope: Option<String>,
}

/// Whether a service calls for a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum User {
    /// On its own only.
    #[default]
    None,
    /// On its own, or for a user.
    Optional,
    /// For a user only.
    Required,
}

/// Reads a list.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn parse(text: &str) -> Result<Vec<Service>, String> {
    let list: List = toml::from_str(text).map_err(|error| error.to_string())?;
    let mut seen = BTreeMap::new();
    for service in &list.service {
        let name = &service.name;
        if !is_word(name) || name.contains('-') {
            return Err(format!("the name {name:?} is not of lower-case letters only"));
        }
        if let Some(path) = service.paths.keys().chain(service.internal.keys()).find(|path| !is_path(path)) {
            return Err(format!(
                "the path {path:?} of {name} is not of lower-case words, `-` and `*` between slashes"
            ));
        }
        let collections = service.collections().into_iter().map(|one| format!("the collection {one}"));
        let requests = service.sign_in.iter().chain(&service.public).map(|one| format!("the request {one}"));
        let own = [format!("the service {name}"), format!("port {}", service.port)];
        for what in own.into_iter().chain(collections).chain(requests) {
            if let Some(first) = seen.insert(what.clone(), name) {
                return Err(format!("{what} is listed twice: {first} and {name}"));
            }
        }
    }
    list.service.iter().try_for_each(|service| check_calls(service, &list.service))?;
    Ok(list.service)
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')
}

fn is_path(text: &str) -> bool {
    text.split('/').all(|segment| segment == "*" || is_word(segment))
}

fn check_calls(service: &Service, list: &[Service]) -> Result<(), String> {
    let Service { name, calls, .. } = service;
    let is_other = |called: &str| called != name && list.iter().any(|other| other.name == called);
    if let Some(unknown) = calls.iter().find(|called| !is_other(called)) {
        return Err(format!("{name} calls {unknown:?}, which is no other service of the list"));
    }
    let revocations = (service.schema && is_other("identity")).then(|| "identity".to_owned());
    if let Some(missing) = service.endpoints.iter().chain(&revocations).find(|called| !calls.contains(called))
    {
        return Err(format!("{name} needs {missing:?} in its `calls`"));
    }
    for (path, internal) in &service.internal {
        let calls =
            |caller: &str| list.iter().any(|other| other.name == caller && other.calls.contains(name));
        if let Some(caller) = internal.callers.iter().flatten().find(|caller| !calls(caller)) {
            return Err(format!("{caller:?} may call {path} of {name}, but {name} is not in its `calls`"));
        }
        if (internal.user == User::None) != internal.scope.is_none() {
            return Err(format!("{path} of {name}: `user` and `scope` belong together"));
        }
        if list.iter().filter_map(|other| other.internal.get(path)).any(|other| other != internal) {
            return Err(format!("{path} of {name} has another rule than that of another service"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = include_str!("../../../platform.toml");

    #[test]
    fn a_list_that_contradicts_itself_is_refused() {
        for (from, to, expected) in [
            ("port = 8081", "port = 8082", "port 8082 is listed twice: stock and gpu"),
            ("port = 8081", "prt = 8081", "unknown field `prt`"),
            (
                "name = \"stock\"",
                "name = \"stock-2\"",
                "the name \"stock-2\" is not of lower-case letters only",
            ),
            ("name = \"stock\"", "name = \"gpu\"", "the service gpu is listed twice: gpu and gpu"),
            ("gpu-specs = [", "jobs = [", "the collection jobs is listed twice: stock and jobs"),
            (
                "gpu-specs = [",
                "\"gpu//specs\" = [",
                "the path \"gpu//specs\" of stock is not of lower-case words",
            ),
            (
                "calls = [\"identity\"]",
                "calls = [\"identiy\"]",
                "stock calls \"identiy\", which is no other service",
            ),
            ("endpoints = [\"gpu\"]", "endpoints = [\"jobs\"]", "storage needs \"jobs\" in its `calls`"),
            (
                "calls = [\"identity\"]\npublic",
                "calls = [\"gpu\"]\npublic",
                "stock needs \"identity\" in its `calls`",
            ),
            (
                "spare-units = { callers = [\"jobs\"]",
                "spare-units = { callers = [\"storage\"]",
                "\"storage\" may call spare-units of stock, but stock is not in its `calls`",
            ),
            ("spare-units = {", "spare-units = { user = \"optional\",", "belong together"),
            ("buckets = {", "usage = {", "usage of gpu has another rule than that of another service"),
        ] {
            let text = LIST.replacen(from, to, 1);
            assert_ne!(text, LIST, "{from}");
            let error = parse(&text).unwrap_err();
            assert!(error.contains(expected), "{to}: {error}");
        }
        let _ = parse(LIST).unwrap();
    }
}

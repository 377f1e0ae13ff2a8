//! The chart and the compose file as the services see them: what both of them configure, each service accepts.

pub(crate) mod chart;
pub(crate) mod program;

use std::{collections::BTreeMap, path::PathBuf};

use serde_json::Value;

/// The repository's root folder.
#[must_use]
pub(crate) fn root() -> PathBuf {
    let mut path = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    path.pop();
    path.pop();
    path
}

/// Checks that whoever calls a service is among its callers, with the same token. `configurations` are complete, by the
/// names of the services; `host` is the host name of a service.
pub(crate) fn callers_are_known(configurations: &BTreeMap<String, Value>, host: impl Fn(&str) -> String) {
    let mut calls = 0;
    for (caller, configuration) in configurations {
        for (url, token) in endpoints(configuration) {
            let found = configurations.iter().find(|(name, _)| url == format!("http://{}:8080", host(name)));
            let Some((name, called)) = found else { continue };
            assert_eq!(
                called["callers"][caller], token,
                "{caller} calls {name} with a token that it does not know"
            );
            calls += 1;
        }
    }
    let (gateway, gpu) = (&configurations["gateway"], &configurations["gpu"]);
    assert_eq!(gpu["callers"]["gateway"], gateway["gpu_token"]);
    assert!(calls >= 9, "the services call each other in more than {calls} places");
}

/// Every URL with a token in a configuration.
fn endpoints(configuration: &Value) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    if let (Some(url), token @ Value::String(_)) = (configuration["url"].as_str(), &configuration["token"]) {
        found.push((url.trim_end_matches('/').to_owned(), token.clone()));
    }
    let parts: Vec<&Value> = match configuration {
        Value::Object(fields) => fields.values().collect(),
        Value::Array(items) => items.iter().collect(),
        _ => Vec::new(),
    };
    found.extend(parts.into_iter().flat_map(endpoints));
    found
}

//! Names of routes in logs and metrics: the templates of the API's paths, such as `/v1/instances/{id}`. Their
//! number is that of the API's paths, regardless of what clients send.

use std::sync::LazyLock;

use tracing::Span;

use crate::{live, platform_health, platform_logs};

/// The operations of the merged document: service, method, and template of the path.
pub(crate) const OPERATIONS: &[(&str, &str, &str)] = include!(concat!(env!("OUT_DIR"), "/operations.rs"));
/// The templates of the gateway's own paths.
const OWN: [&str; 10] = [
    "/",
    "/api",
    "/api/{file}",
    "/openapi.json",
    "/share",
    "/healthz",
    "/readyz",
    live::PATH,
    platform_health::PATH,
    platform_logs::PATH,
];

static PATHS: LazyLock<matchit::Router<&'static str>> = LazyLock::new(|| {
    let mut paths = matchit::Router::new();
    let mut templates: Vec<_> = OPERATIONS.iter().map(|(_, _, template)| *template).chain(OWN).collect();
    templates.sort_unstable();
    templates.dedup();
    for template in templates {
        // paths that differ in the names of parameters would not be merged
        let unnamed = template.split('/').map(|part| if part.starts_with('{') { "{p}" } else { part });
        let numbered: Vec<_> =
            unnamed.enumerate().map(|(n, part)| part.replace("{p}", &format!("{{p{n}}}"))).collect();
        if let Err(error) = paths.insert(numbered.join("/"), template) {
            tracing::warn!(%error, template, "a route has no name in logs and metrics");
        }
    }
    paths
});

/// Returns the template of a path, if the API has one.
pub(crate) fn of(path: &str) -> Option<&'static str> {
    PATHS.at(path).ok().map(|found| *found.value)
}

/// Names the running request in logs.
pub(crate) fn record(name: &'static str) {
    Span::current().record("http.route", name);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_path_has_its_template() {
        for template in OPERATIONS.iter().map(|(_, _, template)| *template).chain(OWN) {
            let path = template.replace('{', "a").replace('}', "z");
            assert_eq!(of(&path), Some(template), "{path}");
        }
        assert!(OPERATIONS.contains(&("gpu", "GET", "/v1/instances/{id}")), "{OPERATIONS:?}");
        for unknown in ["/v1", "/v1/instances/a/b/c/d", "/v2/instances", "/internal/v1/claims", ""] {
            assert_eq!(of(unknown), None, "{unknown}");
        }
    }
}

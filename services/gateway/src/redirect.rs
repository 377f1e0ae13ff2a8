//! The plain listener in addition to TLS: redirects every request to the same address with `https`.

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderValue, StatusCode, header, uri::PathAndQuery},
    response::{IntoResponse, Response},
};

use crate::{connection_info::ConnectionInfo, host_names::HostNames, refusal::Refusal};

pub(crate) fn router(names: HostNames) -> Router {
    Router::new().fallback(redirect).with_state(names)
}

async fn redirect(State(names): State<HostNames>, request: Request) -> Result<Response, Refusal> {
    let connection = ConnectionInfo::of(&request, "http").ok_or_else(Refusal::no_host)?;
    let path = request.uri().path_and_query().map_or("/", PathAndQuery::as_str);
    let location =
        HeaderValue::from_str(&location(&names, &connection.host, path)).map_err(|_| Refusal::no_host())?;
    Ok((StatusCode::PERMANENT_REDIRECT, [(header::LOCATION, location)]).into_response())
}

/// Hosts that are not the platform's are redirected to the platform.
fn location(names: &HostNames, host: &str, path: &str) -> String {
    let own = names.public_url.host_str().unwrap_or_default();
    let host = if names.instance_label(host).is_some() { host } else { own };
    let port = names.public_url.port().map_or_else(String::new, |port| format!(":{port}"));
    let path = if path.starts_with('/') { path } else { "/" };
    format!("https://{host}{port}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hosts_of_the_platform_are_kept() {
        let hosts =
            |url: &str| HostNames { public_url: url.parse().unwrap(), apps_domain: "apps.test".to_owned() };
        let (plain, port) = (hosts("https://atelier.test/"), hosts("https://atelier.test:8443/"));
        assert_eq!(location(&plain, "atelier.test", "/v1/me?a=b"), "https://atelier.test/v1/me?a=b");
        assert_eq!(location(&port, "inst-1.apps.test", "/x"), "https://inst-1.apps.test:8443/x");
        assert_eq!(location(&plain, "evil.test", "//x"), "https://atelier.test//x");
        assert_eq!(location(&plain, "evilapps.test", "*"), "https://atelier.test/");
    }
}

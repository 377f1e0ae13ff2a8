//! The plain listener beside TLS: redirects every request to the same address with `https`.

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderValue, StatusCode, header, uri::PathAndQuery},
    response::{IntoResponse, Response},
};
use url::Url;

use crate::{config::Config, connection_info::ConnectionInfo, error::Error};

/// The parts of the configuration that addresses are made of.
#[derive(Clone)]
struct Hosts {
    public_url: Url,
    apps_domain: String,
}

pub(crate) fn router(config: &Config) -> Router {
    let hosts = Hosts { public_url: config.public_url.clone(), apps_domain: config.apps.domain.clone() };
    Router::new().fallback(redirect).with_state(hosts)
}

async fn redirect(State(hosts): State<Hosts>, request: Request) -> Result<Response, Error> {
    let connection = ConnectionInfo::of(&request, "http").ok_or(Error::NoHost)?;
    let path = request.uri().path_and_query().map_or("/", PathAndQuery::as_str);
    let location =
        HeaderValue::from_str(&hosts.location(&connection.host, path)).map_err(|_| Error::NoHost)?;
    Ok((StatusCode::PERMANENT_REDIRECT, [(header::LOCATION, location)]).into_response())
}

impl Hosts {
    /// Hosts that are not the platform's are redirected to the platform.
    fn location(&self, host: &str, path: &str) -> String {
        let own = self.public_url.host_str().unwrap_or_default();
        let below = host.strip_suffix(&self.apps_domain).is_some_and(|label| label.ends_with('.'));
        let host = if below { host } else { own };
        let port = self.public_url.port().map_or_else(String::new, |port| format!(":{port}"));
        let path = if path.starts_with('/') { path } else { "/" };
        format!("https://{host}{port}{path}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hosts_of_the_platform_are_kept() {
        let hosts =
            |url: &str| Hosts { public_url: url.parse().unwrap(), apps_domain: "apps.test".to_owned() };
        let (plain, port) = (hosts("https://atelier.test/"), hosts("https://atelier.test:8443/"));
        assert_eq!(plain.location("atelier.test", "/v1/me?a=b"), "https://atelier.test/v1/me?a=b");
        assert_eq!(port.location("inst-1.apps.test", "/x"), "https://inst-1.apps.test:8443/x");
        assert_eq!(plain.location("evil.test", "//x"), "https://atelier.test//x");
        assert_eq!(plain.location("evilapps.test", "*"), "https://atelier.test/");
    }
}

//! The service of each path, and the paths that need no access token.

use std::{collections::BTreeMap, sync::LazyLock};

use axum::http::Method;
use url::Url;

use crate::services::Services;

static ROUTES: LazyLock<Routes> = LazyLock::new(Routes::of_the_list);

/// A service that requests are forwarded to, by its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Service(usize);

impl Service {
    pub(super) fn all() -> impl Iterator<Item = Self> {
        (0..ROUTES.names.len()).map(Self)
    }

    pub(super) fn name(self) -> &'static str {
        ROUTES.names[self.0]
    }
}

/// The address of a service.
pub(super) struct Address {
    host: String,
    port: u16,
    /// `host:port`.
    authority: String,
}

impl Address {
    fn of(url: &Url) -> Self {
        let host = url.host_str().unwrap_or_default().to_owned();
        let port = url.port_or_known_default().unwrap_or(80);
        Self { authority: format!("{host}:{port}"), host, port }
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// `host:port`.
    pub(super) fn authority(&self) -> &str {
        &self.authority
    }
}

/// A value for each service.
#[derive(Debug, Clone)]
pub(super) struct PerService<T>(Vec<T>);

impl<T> PerService<T> {
    pub(super) fn new(value: impl FnMut(Service) -> T) -> Self {
        Self(Service::all().map(value).collect())
    }

    pub(super) fn of(&self, service: Service) -> &T {
        &self.0[service.0]
    }
}

/// The addresses of the services.
pub(super) fn addresses(services: &Services) -> PerService<Address> {
    PerService::new(|service| Address::of(&services[service.name()]))
}

/// Who may send a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Callers with a valid access token.
    SignedIn,
    /// Anyone, within the rate limit for signing in.
    SignIn,
    /// Anyone.
    Public,
}

/// The service of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Route {
    pub(super) service: Service,
    pub(super) access: Access,
}

/// The routes of the list of services.
struct Routes {
    names: Vec<&'static str>,
    /// Requests without an access token.
    open: Vec<(OpenPath, Route)>,
    /// First segments after `/v1/`.
    collections: BTreeMap<&'static str, Service>,
}

/// `[METHOD ]PATH`, where a last `*` is the rest of the path.
struct OpenPath {
    method: Option<&'static str>,
    path: &'static str,
    is_prefix: bool,
}

impl OpenPath {
    fn new(text: &'static str) -> Self {
        let (method, path) = text.split_once(' ').map_or((None, text), |(method, path)| (Some(method), path));
        let prefix = path.strip_suffix('*');
        Self { method, path: prefix.unwrap_or(path), is_prefix: prefix.is_some() }
    }

    fn fits(&self, method: &Method, path: &str) -> bool {
        self.method.is_none_or(|wanted| method == wanted)
            && if self.is_prefix { path.starts_with(self.path) } else { path == self.path }
    }
}

impl Routes {
    fn of_the_list() -> Self {
        let mut routes = Self { names: Vec::new(), open: Vec::new(), collections: BTreeMap::new() };
        for (n, listed) in platform::routed().enumerate() {
            let service = Service(n);
            routes.names.push(&listed.name);
            routes.collections.extend(listed.collections().into_iter().map(|name| (name, service)));
            for (paths, access) in [(&listed.sign_in, Access::SignIn), (&listed.public, Access::Public)] {
                let route = Route { service, access };
                routes.open.extend(paths.iter().map(|path| (OpenPath::new(path), route)));
            }
        }
        routes
    }
}

/// Returns the route of a request. The path must be unambiguous.
pub(super) fn find(method: &Method, path: &str) -> Option<Route> {
    if let Some((_, route)) = ROUTES.open.iter().find(|(open, _)| open.fits(method, path)) {
        return Some(*route);
    }
    let collection = path.strip_prefix("/v1/")?.split('/').next()?;
    let service = *ROUTES.collections.get(collection)?;
    Some(Route { service, access: Access::SignedIn })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_collections_exist() {
        let to = |path| find(&Method::GET, path).map(|route| route.service.name());
        assert_eq!(to("/v1/stock"), Some("stock"));
        assert_eq!(to("/v1/stock/additions"), Some("stock"));
        assert_eq!(to("/v1/instances/inst_x/terminal"), Some("gpu"));
        assert_eq!(to("/v1/storages"), Some("storage"));
        for path in [
            "/",
            "/v1",
            "/v1/",
            "/internal/v1/claims",
            "/v1/internal",
            "/v1/stockpile",
            "/V1/stock",
            "/metrics",
        ] {
            assert_eq!(to(path), None, "{path}");
        }
        let access = |method, path| find(&method, path).unwrap().access;
        assert_eq!(access(Method::GET, "/v1/offers"), Access::Public);
        assert_eq!(access(Method::GET, "/v1/storage-offers"), Access::Public);
        assert_eq!(access(Method::POST, "/v1/sessions"), Access::SignIn);
        assert_eq!(access(Method::POST, "/v1/sessions/passkey"), Access::SignIn);
        assert_eq!(access(Method::POST, "/v1/sessions/passkey-challenges"), Access::SignIn);
        assert_eq!(access(Method::DELETE, "/v1/sessions/current"), Access::SignedIn);
        assert_eq!(access(Method::GET, "/v1/sessions"), Access::SignedIn);
        assert_eq!(access(Method::GET, "/v1/sign-in/company/callback"), Access::SignIn);
    }
}

//! Which service serves which paths, and which need no access token.

use axum::http::Method;
use url::Url;

use crate::config::Services;

/// A service of the platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Service {
    Identity,
    Stock,
    Gpu,
    Storage,
    Jobs,
}

impl Service {
    pub(super) const ALL: [Self; 5] = [Self::Identity, Self::Stock, Self::Gpu, Self::Storage, Self::Jobs];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Stock => "stock",
            Self::Gpu => "gpu",
            Self::Storage => "storage",
            Self::Jobs => "jobs",
        }
    }

    fn url(self, services: &Services) -> &Url {
        match self {
            Self::Identity => &services.identity,
            Self::Stock => &services.stock,
            Self::Gpu => &services.gpu,
            Self::Storage => &services.storage,
            Self::Jobs => &services.jobs,
        }
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

/// The addresses of the services.
pub(super) struct Addresses([Address; 5]);

impl Addresses {
    pub(super) fn new(services: &Services) -> Self {
        Self(Service::ALL.map(|service| Address::of(service.url(services))))
    }

    pub(super) fn of(&self, service: Service) -> &Address {
        &self.0[service as usize]
    }
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

/// The collections under `/v1/` and their services. No other collection exists.
const COLLECTIONS: [(&str, Service); 61] = [
    ("sessions", Service::Identity),
    ("me", Service::Identity),
    ("tenants", Service::Identity),
    ("tenant-operations", Service::Identity),
    ("users", Service::Identity),
    ("signing-keys", Service::Identity),
    ("api-keys", Service::Identity),
    ("audit", Service::Identity),
    ("platform-audit", Service::Identity),
    ("datacenters", Service::Stock),
    ("gpu-specs", Service::Stock),
    ("stock", Service::Stock),
    ("stock-operations", Service::Stock),
    ("stock-events", Service::Stock),
    ("stock-units", Service::Stock),
    ("stock-repairs", Service::Stock),
    ("stock-capacity", Service::Stock),
    ("platform-stock-audit", Service::Stock),
    ("services", Service::Gpu),
    ("instance-audit", Service::Gpu),
    ("platform-instance-audit", Service::Gpu),
    ("instances", Service::Gpu),
    ("instance-operations", Service::Gpu),
    ("events", Service::Gpu),
    ("platform-instances", Service::Gpu),
    ("platform-isolation", Service::Gpu),
    ("registry-credentials", Service::Gpu),
    ("quota", Service::Gpu),
    ("platform-quotas", Service::Gpu),
    ("budget", Service::Gpu),
    ("platform-budgets", Service::Gpu),
    ("usage", Service::Gpu),
    ("platform-usage", Service::Gpu),
    ("ssh", Service::Gpu),
    ("ssh-keys", Service::Gpu),
    ("ssh-sessions", Service::Gpu),
    ("platform-ssh-sessions", Service::Gpu),
    ("storage-specs", Service::Storage),
    ("storages", Service::Storage),
    ("storage-operations", Service::Storage),
    ("storage-events", Service::Storage),
    ("platform-storages", Service::Storage),
    ("storage-audit", Service::Storage),
    ("platform-storage-audit", Service::Storage),
    ("storage-quota", Service::Storage),
    ("platform-storage-quotas", Service::Storage),
    ("jobs", Service::Jobs),
    ("job-batches", Service::Jobs),
    ("uploads", Service::Jobs),
    ("models", Service::Jobs),
    ("base-models", Service::Jobs),
    ("mq-credentials", Service::Jobs),
    ("mq-dead", Service::Jobs),
    ("job-events", Service::Jobs),
    ("webhooks", Service::Jobs),
    ("job-usage", Service::Jobs),
    ("platform-job-usage", Service::Jobs),
    ("job-audit", Service::Jobs),
    ("platform-job-audit", Service::Jobs),
    ("pools", Service::Jobs),
    ("platform-pools", Service::Jobs),
];

/// Returns the route of a request. The path must be unambiguous.
pub(super) fn find(method: &Method, path: &str) -> Option<Route> {
    let identity = |access| Some(Route { service: Service::Identity, access });
    match path {
        "/v1/sessions"
        | "/v1/sessions/refresh"
        | "/v1/sessions/passkey"
        | "/v1/sessions/passkey-challenges"
            if method == Method::POST =>
        {
            return identity(Access::SignIn);
        }
        "/v1/sign-in-providers" => return identity(Access::Public),
        "/v1/offers" => return Some(Route { service: Service::Stock, access: Access::Public }),
        "/v1/storage-offers" => return Some(Route { service: Service::Storage, access: Access::Public }),
        _ if path.starts_with("/v1/sign-in/") => return identity(Access::SignIn),
        "/.well-known/jwks.json" | "/.well-known/openid-configuration" => return identity(Access::Public),
        _ => {}
    }
    let collection = path.strip_prefix("/v1/")?.split('/').next()?;
    let (_, service) = COLLECTIONS.iter().find(|(name, _)| *name == collection)?;
    Some(Route { service: *service, access: Access::SignedIn })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_collections_exist() {
        let to = |path| find(&Method::GET, path).map(|route| route.service);
        assert_eq!(to("/v1/stock"), Some(Service::Stock));
        assert_eq!(to("/v1/stock/additions"), Some(Service::Stock));
        assert_eq!(to("/v1/instances/inst_x/terminal"), Some(Service::Gpu));
        assert_eq!(to("/v1/storages"), Some(Service::Storage));
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
    }
}

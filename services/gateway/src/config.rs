//! The configuration.

use std::{collections::BTreeMap, net::SocketAddr};

use auth::AuthConfig;
use cache::CacheConfig;
use secrecy::SecretString;
use serde::Deserialize;
use service::TelemetryConfig;
use url::Url;

use crate::{
    cors::Cors, limits::SharedLimits, proxy_protocol::ProxyProtocolConfig, site::ConsoleConfig,
    tls::TlsConfig,
};

/// The gateway's configuration.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The public listener.
    pub listen: SocketAddr,
    /// Internal listener for `/metrics` and health checks.
    pub metrics_listen: SocketAddr,
    /// TLS of the public listener. Without it TLS may end in front of the gateway.
    #[serde(default)]
    pub tls: Option<TlsConfig>,
    /// The PROXY protocol of load balancers, on the public listener and on that which redirects. What ends TLS in front of
    /// the gateway must keep the client's address, or use this: rate limits and the throttle of sign-ins count by it.
    #[serde(default)]
    pub proxy_protocol: Option<ProxyProtocolConfig>,
    /// Pages of other origins that may call the API.
    #[serde(default)]
    pub cors: Cors,
    /// The built console. Without it, `/` is a start page.
    #[serde(default)]
    pub console: Option<ConsoleConfig>,
    /// Where spans are exported to.
    #[serde(default)]
    pub telemetry: Option<TelemetryConfig>,
    /// With `https`: seconds for which browsers use nothing else for the platform's hosts (default a year; 0 tells them to
    /// forget it).
    #[serde(default = "default_hsts_seconds")]
    pub hsts_seconds: u32,
    /// How browsers reach the gateway. With `https` the instances' cookies are `Secure` and bound to their host.
    pub public_url: Url,
    /// Instances' host names.
    #[serde(default)]
    pub apps: Apps,
    /// Issuer and audience of accepted tokens.
    pub auth: AuthConfig,
    /// Addresses of the services.
    pub services: Services,
    /// Where the replicas of each module answer `/statusz` and `/logz`, for `GET /v1/platform/health` and `…/logs`: `http://host:port` by module, and
    /// several if a module has several. A host name with several addresses is that of several replicas, so name headless
    /// Services in Kubernetes. Without an entry, the services are asked at their addresses in `services`, and of the gateways
    /// this one alone. Operators are modules of their own: `operator-<datacenter>`.
    #[serde(default)]
    pub modules: BTreeMap<String, Vec<Url>>,
    /// Service token for the gpu service's internal operations.
    pub gpu_token: SecretString,
    /// Keys that sign the instances' cookies. The first signs, all verify. To rotate, insert the new key first and
    /// remove the old one after eight hours.
    pub cookie_keys: Vec<CookieKey>,
    /// Limits for callers.
    #[serde(default)]
    pub limits: Limits,
    /// The Valkey or Redis in which gateways share tokens that they exchanged for credentials. Without it, each remembers its own.
    #[serde(default)]
    pub cache: Option<CacheConfig>,
    /// Seconds between two reports of the instances in use to the gpu service (default 30). A third of the gpu service's
    /// `[idle] unknown_seconds` at most.
    #[serde(default = "default_activity_seconds")]
    pub activity_seconds: u32,
    /// Seconds after SIGTERM for which the gateway goes on serving while `/readyz` says 503 (default 10): time for what is
    /// in front of it to see that and to send new requests elsewhere. Responses then end their connections.
    #[serde(default = "default_drain_seconds")]
    pub drain_seconds: u32,
}

fn default_hsts_seconds() -> u32 {
    365 * 24 * 3600
}

fn default_drain_seconds() -> u32 {
    10
}

fn default_activity_seconds() -> u32 {
    30
}

/// Instances' host names.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Apps {
    /// The domain below which instances have their names, `inst-….<domain>` (default `localhost`). It must serve
    /// nothing else. Make it a public suffix of its own, or at least not the console's domain: instances serve pages
    /// that their users control.
    pub domain: String,
}

impl Default for Apps {
    fn default() -> Self {
        Self { domain: "localhost".to_owned() }
    }
}

/// Addresses of the services, `http://host:port` each.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Services {
    /// The identity service.
    pub identity: Url,
    /// The stock service.
    pub stock: Url,
    /// The gpu service.
    pub gpu: Url,
    /// The storage service.
    pub storage: Url,
    /// The jobs service.
    pub jobs: Url,
}

impl Services {
    /// All of them, by name.
    pub(crate) fn all(&self) -> [(&'static str, &Url); 5] {
        let Self { identity, stock, gpu, storage, jobs } = self;
        [("identity", identity), ("stock", stock), ("gpu", gpu), ("storage", storage), ("jobs", jobs)]
    }
}

/// A key that signs cookies.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CookieKey {
    /// Name of the key, stored in the cookie.
    pub id: String,
    /// At least 32 random bytes in base64.
    pub key: SecretString,
}

/// Limits for callers. Each gateway process counts by itself, unless there is a shared store.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Requests per user and second (default 100).
    pub requests_per_second: u32,
    /// Burst of requests per user (default 200).
    pub request_burst: u32,
    /// Requests per tenant and second (default 500).
    pub tenant_requests_per_second: u32,
    /// Burst of requests per tenant (default 1,000).
    pub tenant_request_burst: u32,
    /// Requests per client address and second (default 1,000): an office may have one address.
    pub address_requests_per_second: u32,
    /// Burst of requests per client address (default 2,000).
    pub address_request_burst: u32,
    /// Requests of a tenant to the API at a time (default 500), until their response begins. Each gateway counts by itself.
    pub tenant_requests_at_a_time: usize,
    /// Requests and WebSockets to the instances of a tenant at a time (default 1,000), until they have ended. Each gateway counts by
    /// itself.
    pub instance_requests_at_a_time: usize,
    /// Where all gateways count together.
    pub shared: Option<SharedLimits>,
    /// Sign-ins, refreshes and ticket redemptions per client address and minute (default 120).
    pub sign_ins_per_minute: u32,
    /// Burst of sign-ins, refreshes and ticket redemptions per client address (default 60).
    pub sign_in_burst: u32,
    /// Open connections (default 10,000). Further connections wait to be accepted.
    pub connections: usize,
    /// Open connections of one client address (default 1,000). Further connections are closed.
    pub connections_per_address: usize,
    /// Size of a request's head, in bytes (default 65,536).
    pub head_bytes: usize,
    /// Time to send a request's head, in seconds (default 15).
    pub head_seconds: u32,
    /// Size of the body of a request to the API, in bytes (default 262,144). Instances have no such limit.
    pub body_bytes: usize,
    /// Time to send the body of a request to the API, in seconds (default 30).
    pub body_seconds: u32,
    /// Time for a service to begin its response, in seconds (default 60). Instances have no such limit.
    pub answer_seconds: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            requests_per_second: 100,
            request_burst: 200,
            tenant_requests_per_second: 500,
            tenant_request_burst: 1000,
            tenant_requests_at_a_time: 500,
            instance_requests_at_a_time: 1000,
            address_requests_per_second: 1000,
            address_request_burst: 2000,
            shared: None,
            sign_ins_per_minute: 120,
            sign_in_burst: 60,
            connections: 10_000,
            connections_per_address: 1000,
            head_bytes: 64 * 1024,
            head_seconds: 15,
            body_bytes: 256 * 1024,
            body_seconds: 30,
            answer_seconds: 60,
        }
    }
}

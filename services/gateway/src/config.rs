//! The configuration, composed of that of the slices.

use std::{collections::BTreeMap, net::SocketAddr};

use auth::AuthConfig;
use cache::CacheConfig;
use secrecy::SecretString;
use serde::Deserialize;
use service::TelemetryConfig;
use url::Url;

use crate::{
    cors::Cors, host_names::Apps, instance::CookieKey, limits::Limits, proxy_protocol::ProxyProtocolConfig,
    services::Services, site::ConsoleConfig, tls::TlsConfig,
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
    /// The PROXY protocol of load balancers, on the public listener and on the one that redirects. A TLS proxy in front
    /// of the gateway must keep the client's address, or use this protocol: rate limits and the throttle of sign-ins
    /// count by address.
    #[serde(default)]
    pub proxy_protocol: Option<ProxyProtocolConfig>,
    /// Pages of other origins that may call the API.
    #[serde(default)]
    pub cors: Cors,
    /// The built console. Without it, `/` shows a start page.
    #[serde(default)]
    pub console: Option<ConsoleConfig>,
    /// Where spans are exported to.
    #[serde(default)]
    pub telemetry: Option<TelemetryConfig>,
    /// With `https`: seconds for which browsers use only `https` for the platform's hosts (HSTS; default a year; 0 ends
    /// it).
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
    /// Addresses at which the replicas of each module answer `/statusz` and `/logz`, for `GET /v1/platform/health` and
    /// `…/logs`: one or several `http://host:port` by module. A host name with several addresses stands for several
    /// replicas, so name headless Services in Kubernetes. Without an entry, services are asked at their addresses in
    /// `services`, and this gateway is the only one. Operators are separate modules: `operator-<datacenter>`.
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
    /// The Valkey or Redis in which gateways share tokens that they exchanged for credentials. Without it, each gateway
    /// keeps its own.
    #[serde(default)]
    pub cache: Option<CacheConfig>,
    /// Seconds between two reports of the instances in use to the gpu service (default 30). At most a third of the gpu
    /// service's `[idle] unknown_seconds`.
    #[serde(default = "default_activity_seconds")]
    pub activity_seconds: u32,
    /// Seconds after SIGTERM for which the gateway continues to serve while `/readyz` returns 503 (default 10): time
    /// for load balancers to notice and to send new requests elsewhere. Responses then close their connections.
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

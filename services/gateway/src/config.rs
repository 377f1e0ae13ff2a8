//! What an administrator sets.

use std::net::SocketAddr;

use auth::AuthConfig;
use secrecy::SecretString;
use serde::Deserialize;
use url::Url;

/// The gateway's configuration.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The public listener.
    pub listen: SocketAddr,
    /// `/metrics` and health, for inside only.
    pub metrics_listen: SocketAddr,
    /// How browsers reach the gateway. With `https` (TLS ends in front of the gateway) the instances'
    /// cookies are `Secure` and bound to their host by name.
    pub public_url: Url,
    /// Instances' host names.
    #[serde(default)]
    pub apps: Apps,
    /// Whose tokens are accepted.
    pub auth: AuthConfig,
    /// Where the services are.
    pub services: Services,
    /// Service token for the gpu service's internal operations.
    pub gpu_token: SecretString,
    /// Keys that sign the instances' cookies. The first signs, all verify: to replace one, put the new
    /// one before it, and remove the old one after eight hours.
    pub cookie_keys: Vec<CookieKey>,
    /// Bounds on what callers may use.
    #[serde(default)]
    pub limits: Limits,
}

/// Instances' host names.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Apps {
    /// What follows `inst-….` (default `localhost`). Nothing else may be served under it, and it should
    /// be a public suffix of its own, or at least not the domain of the console: pages of instances are
    /// their users' own.
    pub domain: String,
}

impl Default for Apps {
    fn default() -> Self {
        Self { domain: "localhost".to_owned() }
    }
}

/// Where the services are: `http://host:port` each.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Services {
    /// Users, tenants, sign-in.
    pub identity: Url,
    /// Specifications and units.
    pub stock: Url,
    /// Instances.
    pub gpu: Url,
    /// Storages.
    pub storage: Url,
}

/// A key that signs cookies.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CookieKey {
    /// Its name, in the cookie.
    pub id: String,
    /// At least 32 random bytes in base64.
    pub key: SecretString,
}

/// Bounds on what callers may use. Rates are counted in each gateway process.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Requests of a user in a second (default 100).
    pub requests_per_second: u32,
    /// Requests of a user at once, after a pause (default 200).
    pub request_burst: u32,
    /// Sign-ins, refreshes and ticket redemptions from an address in a minute (default 120).
    pub sign_ins_per_minute: u32,
    /// The same at once, after a pause (default 60).
    pub sign_in_burst: u32,
    /// Open connections (default 10,000). Further ones wait to be accepted.
    pub connections: usize,
    /// Size of a request's head, in bytes (default 65,536).
    pub head_bytes: usize,
    /// Time to send a request's head, in seconds (default 15).
    pub head_seconds: u32,
    /// Time for a service to begin its answer, in seconds (default 60). Instances have no such limit.
    pub answer_seconds: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            requests_per_second: 100,
            request_burst: 200,
            sign_ins_per_minute: 120,
            sign_in_burst: 60,
            connections: 10_000,
            head_bytes: 64 * 1024,
            head_seconds: 15,
            answer_seconds: 60,
        }
    }
}

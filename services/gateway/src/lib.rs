//! The public entry point of the platform:
//! - the REST API: verifies the access token, limits rates, forwards to the service of the path;
//! - instance traffic (`inst-….<apps domain>`): checks that the browser's cookie is for this instance, asks the gpu
//!   service for its address, forwards HTTP and WebSockets.
//!
//! The gateway has no state of its own; any number of replicas can run side by side.
//!
//! [`App`] is the wiring. Requests pass `listener` (connections; `transport` has TLS and the PROXY protocol) and `router` (REST API or instance, by host name)
//! into the slices `rest` and `instance`. What the gateway answers itself is in `live`, which joins the events of the services, and in `platform_health` and `platform_logs` (`own`), which ask the replicas of all `modules`. All use `limits`, `proxy` and `headers`, and know nothing of each other.

mod admission;
mod app;
mod concurrency;
mod config;
mod connection_info;
mod cors;
mod error;
mod headers;
mod html;
mod instance;
mod limits;
mod listener;
mod live;
mod modules;
mod own;
mod platform_health;
mod platform_logs;
mod proxy;
mod proxy_protocol;
mod readiness;
mod redirect;
mod rest;
mod route_names;
mod router;
mod security_headers;
mod site;
mod state;
mod tls;
mod transport;
mod upstream;

pub use app::{App, metrics, openapi};
pub use config::{Apps, Config, CookieKey, Limits, Services};
pub use cors::Cors;
pub use limits::SharedLimits;
pub use proxy_protocol::ProxyProtocolConfig;
pub use site::ConsoleConfig;
pub use tls::{CertificateFiles, TlsConfig};

/// Name of the service, in its workers' names and its logs.
pub const NAME: &str = "gateway";

//! The public entry point of the platform:
//! - the REST API: verifies the access token, limits rates, forwards to the service of the path;
//! - instance traffic (`inst-….<apps domain>`): checks that the browser's cookie is for this instance, asks the gpu
//!   service for its address, forwards HTTP and WebSockets.
//!
//! The gateway has no state of its own; any number of replicas can run side by side.
//!
//! Slices, each of which uses only those before it:
//! - `oneshot`: requests to a router that is called as a function;
//! - `concurrency`: concurrency limits by owner;
//! - `connection_info`: how a request reached the gateway;
//! - `host_names`: the platform's host name, and those of instances;
//! - `services`: addresses of the services;
//! - `refusal`: an answer of the gateway itself;
//! - `limits`: rate limits of callers;
//! - `admission`: concurrent requests to a service, and their order;
//! - `headers`: which headers are forwarded;
//! - `cors`, `security_headers`: headers for browsers;
//! - `html`: the template of the gateway's pages;
//! - `proxy_protocol`, `tls`, `transport`: the layers of a client's connection below HTTP;
//! - `listener`: connections of clients;
//! - `redirect`: the plain listener beside TLS;
//! - `upstream`: connections to services and instances;
//! - `proxy`: requests on them;
//! - `readiness`: whether the gateway can serve;
//! - `credentials`: API keys and cookies, which are exchanged for access tokens;
//! - `modules`: the replicas of all modules;
//! - `live`: the events of all services, joined;
//! - `platform_health`: the health of each module;
//! - `platform_logs`: log lines of all replicas;
//! - `own`: the operations of these three, which the gateway answers itself;
//! - `route_names`: the names of routes in logs and metrics;
//! - `rest`: the REST API;
//! - `site`: the platform's pages;
//! - `instance`: instance traffic, which knows nothing of `rest`;
//! - `router`: the choice between the platform and an instance, by host name;
//! - `config`: the configuration, composed of that of the slices;
//! - `app`: the wiring. Only it knows the configuration and all slices.

mod admission;
mod app;
mod concurrency;
mod config;
mod connection_info;
mod cors;
mod credentials;
mod headers;
mod host_names;
mod html;
mod instance;
mod limits;
mod listener;
mod live;
mod modules;
mod oneshot;
mod own;
mod platform_health;
mod platform_logs;
mod proxy;
mod proxy_protocol;
mod readiness;
mod redirect;
mod refusal;
mod rest;
mod route_names;
mod router;
mod security_headers;
mod services;
mod site;
mod tls;
mod transport;
mod upstream;

pub use app::{App, metrics, openapi};
pub use config::Config;
pub use cors::Cors;
pub use host_names::Apps;
pub use instance::CookieKey;
pub use limits::{Limits, SharedLimits};
pub use proxy_protocol::ProxyProtocolConfig;
pub use services::Services;
pub use site::ConsoleConfig;
pub use tls::{CertificateFiles, TlsConfig};

/// Name of the service, in its workers' names and its logs.
pub const NAME: &str = "gateway";

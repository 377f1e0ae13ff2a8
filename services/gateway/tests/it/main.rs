//! The gateway over real sockets, in front of small upstreams that stand for the services and an instance.

#![expect(clippy::unwrap_used, reason = "a failed assertion is the point of a test")]

mod activity;
mod admission;
mod console;
mod cors;
mod credentials;
mod instances;
mod limits;
mod listener;
mod live;
mod observability;
mod pages;
mod parsing;
mod personal_links;
mod platform;
mod platform_health;
mod platform_logs;
mod ports;
mod proxy_protocol;
mod rest;
mod routes;
mod share_links;
mod shared_credentials;
mod shared_limits;
mod streams;
mod tls;
mod tls_traffic;
mod websockets;
mod workers;

//! The gateway over real sockets, in front of small upstreams that stand for the services and an instance.

#![expect(clippy::unwrap_used, reason = "a failed assertion is the point of a test")]

mod activity;
mod credentials;
mod instances;
mod limits;
mod listener;
mod platform;
mod ports;
mod rest;
mod streams;
mod websockets;
mod workers;

//! The gateway over real sockets, before small upstreams that play the services and an instance.

#![expect(clippy::unwrap_used, reason = "a failed assertion is the point of a test")]

mod door;
mod instances;
mod limits;
mod platform;
mod rest;
mod streams;
mod websockets;

//! Typed clients for calls between services.
//!
//! The types are declared here, not shared with the services; `tests/contract.rs` compares each call with the
//! callee's committed `openapi/<service>.json`. Clients do not retry; that is up to the caller.

pub mod contract;
pub mod gpu;
pub mod http;
pub mod identity;
pub mod stock;
pub mod storage;
pub mod tenant;

pub use http::{Endpoint, Error};
